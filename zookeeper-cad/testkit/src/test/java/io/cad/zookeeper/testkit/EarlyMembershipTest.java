// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testkit.disk.FiDisk;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.admin.ZooKeeperAdmin;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A leader acknowledges writes that only it has logged, for its followers answer its heartbeats while their disks hang. A
 * membership that only it has logged takes no effect, nor one that is durable by the old membership alone.
 */
@Timeout(180)
class EarlyMembershipTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    /** Times that the leader is seen with its lease, that is, free to acknowledge early. */
    private static final int LOOKS = 20;

    @Test
    void aMembershipWaitsForAQuorumWhereAWriteDoesNot() throws Exception {
        try (RunDirectory run = RunDirectory.create("early-membership")) {
            Ensemble ensemble = start(run);
            ServerProcess leader = ensemble.awaitLeader(LIMIT);
            List<ServerProcess> followers = others(ensemble, leader);
            try (ZooKeeperAdmin admin = admin(leader)) {
                admin.create("/node", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
                for (ServerProcess follower : followers) {
                    follower.disk().setFrozen(true);
                }
                CompletableFuture<Code> write = new CompletableFuture<>();
                admin.setData("/node", new byte[1], -1, (rc, path, context, stat) -> write.complete(Code.get(rc)), null);
                assertEquals(Code.OK, write.get(LIMIT.toMillis(), TimeUnit.MILLISECONDS));

                CompletableFuture<Code> change = removal(admin, leader, followers.get(0), ensemble);
                look(leader, ensemble);
                // Its reply would wait for disks in any case.
                assertTrue(isMember(leader, followers.get(0)), "the membership took effect and only the leader has logged it");

                for (ServerProcess follower : followers) {
                    follower.disk().setFrozen(false);
                }
                assertEquals(Code.OK, change.get(LIMIT.toMillis(), TimeUnit.MILLISECONDS));
                assertFalse(isMember(leader, followers.get(0)));
            }
            run.closeAndDelete();
        }
    }

    /** The leader and the server that leaves are a majority of those that were, and not of those that will be. */
    @Test
    void aMembershipIsNotDurableByTheOldOneAlone() throws Exception {
        try (RunDirectory run = RunDirectory.create("durable-membership")) {
            Ensemble ensemble = start(run);
            ServerProcess leader = ensemble.awaitLeader(LIMIT);
            List<ServerProcess> followers = others(ensemble, leader);
            try (ZooKeeperAdmin admin = admin(leader)) {
                admin.create("/node", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
                followers.get(1).disk().setFrozen(true);
                CompletableFuture<Code> change = removal(admin, leader, followers.get(0), ensemble);
                String membership = leader.cad().get("last_logged_index");
                String persisted = ".*\\b" + followers.get(0).id() + "=" + membership + "\\b.*";
                Await.until("the leaving server to have it on its disk", LIMIT,
                        () -> leader.cad().get("persisted_by_server").matches(persisted), ensemble::toString);
                look(leader, ensemble);
                assertNotEquals(membership, leader.cad().get("quorum_persisted_index"));
                assertNotEquals(membership, leader.cad().get("durable_index"));
                assertTrue(isMember(leader, followers.get(0)));

                followers.get(1).disk().setFrozen(false);
                assertEquals(Code.OK, change.get(LIMIT.toMillis(), TimeUnit.MILLISECONDS));
                Await.until("it to be durable", LIMIT, () -> membership.equals(leader.cad().get("durable_index")),
                        ensemble::toString);
            }
            run.closeAndDelete();
        }
    }

    private static Ensemble start(RunDirectory run) throws Exception {
        return Ensemble.start(run, new EnsembleConfig(ServerBuild.product(), 3)
                .cfg("reconfigEnabled", "true").cfg("skipACL", "yes")
                .cfg("cad.durability", "cad").cfg("cad.replication", "async")
                // Nothing else shall unseat the leader, nor close the session.
                .cfg("cad.stuck", "3600000").cfg("cad.window.ms", "60000").cfg("cad.hold.ms", "3600000")
                .cfg("syncLimit", "120")
                .disks(FiDisk.provider(null, false, 1)));
    }

    private static List<ServerProcess> others(Ensemble ensemble, ServerProcess leader) {
        return ensemble.servers().stream().filter(server -> server != leader).collect(Collectors.toList());
    }

    private static ZooKeeperAdmin admin(ServerProcess leader) throws IOException {
        return new ZooKeeperAdmin(leader.connectString(), (int) LIMIT.toMillis(), event -> { });
    }

    /** Asks the leader to remove a server; it has logged the new membership. */
    private static CompletableFuture<Code> removal(ZooKeeperAdmin admin, ServerProcess leader, ServerProcess leaving,
            Ensemble ensemble) throws Exception {
        String logged = leader.cad().get("last_logged_index");
        CompletableFuture<Code> change = new CompletableFuture<>();
        admin.reconfigure((String) null, Integer.toString(leaving.id()), null, -1,
                (rc, path, context, data, stat) -> change.complete(Code.get(rc)), null);
        Await.until("the leader to log the membership", LIMIT,
                () -> !logged.equals(leader.cad().get("last_logged_index")), ensemble::toString);
        return change;
    }

    /** Sees the leader with its lease again and again. */
    private static void look(ServerProcess leader, Ensemble ensemble) throws Exception {
        int[] looks = new int[1];
        Await.until("the leader to go on with its lease", LIMIT, () -> {
            looks[0] += leader.cad().get("may_answer_reads").equals("true") ? 1 : 0;
            return looks[0] == LOOKS;
        }, ensemble::toString);
    }

    /** By the membership in force at the leader. */
    private static boolean isMember(ServerProcess leader, ServerProcess server) throws Exception {
        return leader.fourLetterWord("conf").contains(server.serverLine());
    }
}

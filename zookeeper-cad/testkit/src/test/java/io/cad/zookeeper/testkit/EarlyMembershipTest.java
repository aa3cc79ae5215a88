// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testkit.disk.FiDisk;
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
 * membership that only it has logged takes no effect.
 */
@Timeout(180)
class EarlyMembershipTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    /** Times that the leader is seen with its lease, that is, free to acknowledge early. */
    private static final int LOOKS = 20;

    @Test
    void aMembershipWaitsForAQuorumWhereAWriteDoesNot() throws Exception {
        try (RunDirectory run = RunDirectory.create("early-membership")) {
            Ensemble ensemble = Ensemble.start(run, new EnsembleConfig(ServerBuild.product(), 3)
                    .cfg("reconfigEnabled", "true").cfg("skipACL", "yes")
                    .cfg("cad.durability", "cad").cfg("cad.replication", "async")
                    // Nothing else shall unseat the leader, nor close the session.
                    .cfg("cad.stuck", "3600000").cfg("cad.window.ms", "60000").cfg("cad.hold.ms", "3600000")
                    .cfg("syncLimit", "120")
                    .disks(FiDisk.provider(null, false, 1)));
            ServerProcess leader = ensemble.awaitLeader(LIMIT);
            List<ServerProcess> followers =
                    ensemble.servers().stream().filter(server -> server != leader).collect(Collectors.toList());
            try (ZooKeeperAdmin admin = new ZooKeeperAdmin(leader.connectString(), (int) LIMIT.toMillis(), event -> { })) {
                admin.create("/node", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
                for (ServerProcess follower : followers) {
                    follower.disk().setFrozen(true);
                }
                CompletableFuture<Code> write = new CompletableFuture<>();
                admin.setData("/node", new byte[1], -1, (rc, path, context, stat) -> write.complete(Code.get(rc)), null);
                assertEquals(Code.OK, write.get(LIMIT.toMillis(), TimeUnit.MILLISECONDS));

                String logged = leader.cad().get("last_logged_index");
                CompletableFuture<Code> change = new CompletableFuture<>();
                admin.reconfigure((String) null, Integer.toString(followers.get(0).id()), null, -1,
                        (rc, path, context, data, stat) -> change.complete(Code.get(rc)), null);
                Await.until("the leader to log the membership", LIMIT,
                        () -> !logged.equals(leader.cad().get("last_logged_index")), ensemble::toString);
                int[] looks = new int[1];
                Await.until("the leader to go on with its lease", LIMIT, () -> {
                    looks[0] += leader.cad().get("may_answer_reads").equals("true") ? 1 : 0;
                    return looks[0] == LOOKS;
                }, ensemble::toString);
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

    /** By the membership in force at the leader. */
    private static boolean isMember(ServerProcess leader, ServerProcess server) throws Exception {
        return leader.fourLetterWord("conf").contains(server.serverLine());
    }
}

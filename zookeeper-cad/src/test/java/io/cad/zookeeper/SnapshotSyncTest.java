// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.cad.zookeeper.testing.Await;
import io.cad.zookeeper.testing.Disk;
import io.cad.zookeeper.testing.Ensemble;
import io.cad.zookeeper.testing.Ensemble.Transport;
import io.cad.zookeeper.testing.RawClient;
import io.cad.zookeeper.testing.RawClient.Packet;
import io.cad.zookeeper.testing.Settings;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.proto.CreateRequest;
import org.apache.zookeeper.proto.SetDataRequest;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.ServerMetrics;
import org.apache.zookeeper.server.quorum.Leader;
import org.apache.zookeeper.server.quorum.LearnerHandler;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A learner that is sent the leader's tree while clients write. */
class SnapshotSyncTest {

    private static final String NODE = "/node";
    private static final int WRITES = 20;

    private static CompletableFuture<Packet> create(RawClient client, String path) {
        return client.send(OpCode.create, new CreateRequest(path, new byte[1], ZooDefs.Ids.OPEN_ACL_UNSAFE, 0));
    }

    /** Two nodes by turns: a change of one that is applied again meets a newer state of the other. */
    private static CompletableFuture<Packet> set(RawClient client, int n) {
        return client.send(OpCode.setData, new SetDataRequest(NODE + n % 2, new byte[n], -1));
    }

    private static void ok(CompletableFuture<Packet> reply) {
        Packet packet = Await.get("a request", reply);
        assertEquals(Code.OK, packet.code(), packet::toString);
    }

    private static int learnersForwardedTo(Leader leader) {
        return leader.getForwardingFollowers().size() + leader.getObservingLearners().size();
    }

    private static DataTree tree(Ensemble ensemble, long id) {
        return ensemble.server(id).getZKDatabase().getDataTree();
    }

    /** The tree that is sent holds changes that are also forwarded: no digest may be compared before the last of them. */
    @ParameterizedTest
    @ValueSource(longs = {3, 4})
    void changesThatTheSnapshotHoldsAlreadyAreNoMismatch(long learner) {
        try (Disk disk = new Disk();
             Settings settings = Settings.of("cad.durability", "cad", "cad.replication", "async",
                 LearnerHandler.FORCE_SNAP_SYNC, "true");
             Ensemble ensemble = new Ensemble(Transport.NIO, 3, 1).start(1L, 2L)) {
            long leader = ensemble.leader();
            RawClient client = ensemble.client(leader);
            ok(create(client, NODE + 0));
            ok(create(client, NODE + 1));
            long before = ServerMetrics.getMetrics().DIGEST_MISMATCHES_COUNT.get();
            // The tree is sent when all that it holds is durable, and changes are forwarded from before that wait on.
            disk.stall();
            ok(set(client, 1));
            ensemble.launch(learner);
            Await.until("changes are forwarded", () -> learnersForwardedTo(ensemble.peer(leader).leader) == 2);
            for (int i = 2; i < WRITES; i++) {
                ok(set(client, i));
            }
            disk.release();
            ensemble.awaitServing(learner);
            ok(set(client, WRITES));
            Await.until("the learner has applied everything",
                () -> tree(ensemble, learner).lastProcessedZxid == tree(ensemble, leader).lastProcessedZxid);
            assertEquals(before, ServerMetrics.getMetrics().DIGEST_MISMATCHES_COUNT.get(), "mismatches");
            assertNull(tree(ensemble, learner).getDigestFromLoadedSnapshot(), "digests are compared again");
            assertEquals(tree(ensemble, leader).getTreeDigest(), tree(ensemble, learner).getTreeDigest());
            client.close();
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.cad.zookeeper.testkit.disk.FiDisk;
import java.time.Duration;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A leader whose disk hangs gets nothing done although its heartbeats go on: it steps down, and another one leads. */
@Timeout(180)
class StuckLeaderTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    /** One sync that does not return while the test runs. */
    private static final double HANGS_MILLIS = 120_000;

    @FunctionalInterface
    private interface Then {
        void with(Ensemble ensemble, ServerProcess leader, ZooKeeper atLeader) throws Exception;
    }

    private static void hang(String stuckMillis, Then then) throws Exception {
        try (RunDirectory run = RunDirectory.create("stuck-leader")) {
            Ensemble ensemble = Ensemble.start(run, new EnsembleConfig(ServerBuild.product(), 3).cfg("syncLimit", "4")
                    .cfg("cad.durability", "cad").cfg("cad.durable.acks", "none").cfg("cad.stuck", stuckMillis)
                    .disks(FiDisk.provider(null, false, 1)));
            ServerProcess leader = ensemble.awaitLeader(LIMIT);
            ZooKeeper client = Clients.connect(leader.connectString(), LIMIT, LIMIT);
            leader.disk().setSyncLatency(HANGS_MILLIS);
            client.create("/node", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            then.with(ensemble, leader, client);
            client.close(1_000);
            run.closeAndDelete();
        }
    }

    @Test
    void aLeaderWithAHangingDiskIsReplaced() throws Exception {
        hang("1000", (ensemble, leader, client) -> {
            Await.until("another leader", LIMIT, () -> ensemble.servers().stream()
                    .anyMatch(server -> server != leader && server.mode().equals("leader")), ensemble::toString);
            ServerProcess next = ensemble.servers().stream()
                    .filter(server -> server != leader && server.mode().equals("leader")).findFirst().orElseThrow();
            ZooKeeper elsewhere = Clients.connect(next.connectString(), LIMIT, LIMIT);
            elsewhere.create("/after", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            elsewhere.close(1_000);
        });
    }

    /** The control: the others persist what it proposes, so nothing else would unseat it. */
    @Test
    void withoutTheLimitItStaysInOffice() throws Exception {
        hang("3600000", (ensemble, leader, client) -> {
            long end = System.nanoTime() + Duration.ofSeconds(4).toNanos();
            while (System.nanoTime() - end < 0) {
                client.setData("/node", new byte[1], -1);
                client.getData("/node", false, null);
            }
            assertEquals("leader", leader.mode());
        });
    }
}

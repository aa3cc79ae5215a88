// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testkit.Await;
import io.cad.zookeeper.testkit.Clients;
import io.cad.zookeeper.testkit.Ensemble;
import io.cad.zookeeper.testkit.EnsembleConfig;
import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.ServerBuild;
import io.cad.zookeeper.testkit.ServerProcess;
import java.time.Duration;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(180)
class ProbeTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);

    @Test
    void whileItsServerIsDownItWaitsWithOneRequestAndOneSession() throws Exception {
        try (RunDirectory run = RunDirectory.create("probe-test")) {
            Ensemble ensemble = Ensemble.start(run, new EnsembleConfig(ServerBuild.stock(), 1));
            ServerProcess server = ensemble.server(1);
            try (ZooKeeper client = Clients.connect(server.connectString(), LIMIT, LIMIT)) {
                client.create(Probe.ROOT, new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
                client.create(Probe.item(server), new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            }
            try (Probe probe = new Probe(server, 1, true)) {
                await(probe, Probe.Kind.FRESH, System.nanoTime());
                server.kill();
                server.awaitEnd();
                Await.until("the client to miss its server", LIMIT, probe::isWaiting, probe::toString);
                long down = System.nanoTime();
                server.start();
                await(probe, Probe.Kind.WRITE, down);
                await(probe, Probe.Kind.FRESH, down);
                assertEquals(1, probe.waits().stream().filter(wait -> wait.begin() < down && wait.end() > down).count(),
                        "one request waited for the restart");
                assertEquals("1", server.metrics().get("global_sessions"), "it went on with its session");
                assertTrue(probe.waits().stream().allMatch(wait -> wait.client() == 1 && wait.kind() != Probe.Kind.OLD));
            }
            run.closeAndDelete();
        }
    }

    private static void await(Probe probe, Probe.Kind kind, long after) throws Exception {
        Await.until(kind + " to be answered", LIMIT, () -> probe.answered(kind, after), () -> probe.waits().size() + " answers");
    }
}

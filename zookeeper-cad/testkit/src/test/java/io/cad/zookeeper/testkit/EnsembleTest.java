// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The ensemble with the stock server, on plain directories. */
@Timeout(180)
class EnsembleTest {
    private static final Duration SESSION = Duration.ofSeconds(10);
    private static final Duration LIMIT = Duration.ofSeconds(60);

    private RunDirectory run;

    @BeforeEach
    void makeRun() throws Exception {
        run = RunDirectory.create("ensemble-test");
    }

    @AfterEach
    void endRun() {
        run.closeAndDelete();
        assertFalse(Files.exists(run.path()));
    }

    @Test
    void oneServerIsAnEnsembleAndKeepsItsDataOverKillAndStop() throws Exception {
        Ensemble ensemble = Ensemble.start(run, new EnsembleConfig(ServerBuild.stock(), 1));
        assertEquals("leader", ensemble.server(1).mode(), "not standalone");
        try (ZooKeeper client = Clients.connect(ensemble.connectString(), SESSION, LIMIT)) {
            client.create("/a", new byte[] {1}, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
        }
        ensemble.killAll();
        assertEquals("", ensemble.server(1).mode());
        ensemble.startAll();
        assertEquals(143, ensemble.server(1).stop(LIMIT), "ended by SIGTERM");
        ensemble.startAll();
        try (ZooKeeper client = Clients.connect(ensemble.connectString(), SESSION, LIMIT)) {
            assertArrayEquals(new byte[] {1}, client.getData("/a", false, null));
        }
    }

    @Test
    void threeServersGoOnWithoutTheirLeader() throws Exception {
        Ensemble ensemble = Ensemble.start(run, new EnsembleConfig(ServerBuild.stock(), 3).adminServer(true));
        ServerProcess first = ensemble.awaitLeader(LIMIT);
        assertTrue(first.adminPort() > 0);
        Map<String, String> metrics = first.metrics();
        assertEquals("leader", metrics.get("server_state"));
        assertEquals("2", metrics.get("synced_followers"));
        assertTrue(ensemble.sumMetrics("packets_").get("packets_received") > 0);

        first.kill();
        first.awaitEnd();
        ServerProcess second = ensemble.awaitLeader(LIMIT);
        assertNotEquals(first.id(), second.id());
        ensemble.awaitServing(LIMIT);

        second.pause();
        assertThrows(TimeoutException.class, () -> Clients.connect(second.connectString(), SESSION, Duration.ofMillis(300)));
        second.resume();
        ensemble.startAll();
        ensemble.stopAll(LIMIT);
        assertTrue(ensemble.servers().stream().noneMatch(ServerProcess::isRunning));
    }

    @Test
    void serversStartFromAClassArchive() throws Exception {
        ServerBuild build = ServerBuild.stock();
        // With -Xshare:on a JVM that cannot map its archive does not start.
        Ensemble ensemble = Ensemble.start(run, new EnsembleConfig(build, 1)
                .classArchive(ClassArchive.dump(run, build)).jvmFlags("-Xshare:on", "-Xlog:class+load:file=classes.log"));
        ensemble.stopAll(LIMIT);
        Path loaded = ensemble.server(1).logFile().resolveSibling("classes.log");
        assertTrue(Files.readString(loaded).contains("org.apache.zookeeper.server.quorum.QuorumPeer source: shared objects file (top)"));
    }

    @Test
    void aServerThatCannotStartIsReportedWithItsLogFile() throws Exception {
        Ensemble ensemble = Ensemble.create(run, new EnsembleConfig(ServerBuild.stock(), 1).cfg("tickTime", "never"));
        Await.Hopeless e = assertThrows(Await.Hopeless.class, ensemble::startAll);
        assertTrue(e.getMessage().contains(ensemble.server(1).logFile().toString()), e.toString());
        assertTrue(Files.readString(ensemble.server(1).logFile()).contains("never"));
    }
}

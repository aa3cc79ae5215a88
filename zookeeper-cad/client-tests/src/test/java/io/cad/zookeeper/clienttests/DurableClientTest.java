// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.clienttests;

import static io.cad.zookeeper.clienttests.RealClients.LIMIT;
import static io.cad.zookeeper.clienttests.RealClients.bytes;
import static io.cad.zookeeper.clienttests.RealClients.curator;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.client.DurabilityUnknownException;
import io.cad.zookeeper.client.DurableClient;
import io.cad.zookeeper.testkit.Ensemble;
import io.cad.zookeeper.testkit.EnsembleConfig;
import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.ServerProcess;
import io.cad.zookeeper.testkit.disk.FiDisk;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.CuratorEvent;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the durable client promises, where the promise matters: power loss, and a leader that dies with what it alone has. */
@Timeout(240)
class DurableClientTest {
    private static final long SEED = Long.getLong("seed", 1);

    private RunDirectory run;

    @BeforeEach
    void makeRun() throws Exception {
        run = RunDirectory.create("durable-client");
    }

    @AfterEach
    void endRun() {
        run.close();
    }

    private static <T> T get(CompletableFuture<T> future) throws Exception {
        return future.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
    }

    private static CompletableFuture<CuratorEvent> create(DurableClient client, String path) {
        return client.write((zk, ack) -> zk.create().inBackground(ack).forPath(path, bytes("x")));
    }

    private static CompletableFuture<CuratorEvent> createDurably(DurableClient client, String path) {
        return client.durable((zk, ack) -> zk.create().inBackground(ack).forPath(path, bytes("x")));
    }

    /** Nothing is flushed unless somebody asks, so what survives does so because the client asked. */
    private static EnsembleConfig flushOnlyOnDemand(Mode mode) throws Exception {
        return mode.ensemble(3).cfg("cad.flush.interval", "60000").cfg("cad.window.ms", "600000");
    }

    @Test
    void durableWritesSurviveThePowerLossOfAllServers() throws Exception {
        System.out.println("seed " + SEED);
        Ensemble ensemble = Ensemble.start(run,
                flushOnlyOnDemand(Mode.EVENTUAL_ASYNC).disks(FiDisk.provider(null, false, SEED)));
        try (CuratorFramework curator = curator(ensemble.awaitLeader(LIMIT).connectString());
                DurableClient client = new DurableClient(curator)) {
            get(create(client, "/plain-before"));
            get(createDurably(client, "/durable"));
            for (int i = 0; i < 50; i++) {
                create(client, "/many" + i);
            }
            get(client.durableUpToHere());
            get(create(client, "/plain-after"));
            System.out.println("power loss dropped " + ensemble.powerLoss());
        }
        ensemble.startAll();
        try (CuratorFramework curator = curator(ensemble.connectString())) {
            assertNotNull(curator.checkExists().forPath("/plain-before"), "a barrier covers what came before");
            assertNotNull(curator.checkExists().forPath("/durable"));
            for (int i = 0; i < 50; i++) {
                assertNotNull(curator.checkExists().forPath("/many" + i));
            }
            assertNull(curator.checkExists().forPath("/plain-after"), "the disks lost nothing: the test shows nothing");
        }
        System.out.println("seed " + SEED);
    }

    /** The session moves to a server that never heard of the write, whose sync would succeed. */
    @Test
    void aWriteThatDiesWithTheLeaderIsNeverCalledDurable() throws Exception {
        Ensemble ensemble = Ensemble.start(run, flushOnlyOnDemand(Mode.EVENTUAL_ASYNC));
        ServerProcess leader = ensemble.awaitLeader(LIMIT);
        List<ServerProcess> followers =
                ensemble.servers().stream().filter(server -> server != leader).collect(Collectors.toList());
        // The leader first, then the others.
        String servers = leader.connectString() + "," + followers.stream().map(ServerProcess::connectString)
                .collect(Collectors.joining(","));
        try (CuratorFramework curator = connectedTo(leader, servers); DurableClient client = new DurableClient(curator);
                DurableClient asksLater = new DurableClient(curator)) {
            get(createDurably(client, "/early"));
            for (ServerProcess follower : followers) {
                follower.pause();
            }
            get(create(client, "/acknowledged"));
            get(create(asksLater, "/asked-later"));
            CompletableFuture<CuratorEvent> durable = createDurably(client, "/wanted");
            CompletableFuture<Void> all = client.durableUpToHere();
            // Replies keep their order: on the same connection this one would wait behind the barrier.
            try (CuratorFramework other = curator(leader.connectString())) {
                other.create().forPath("/later");
            }
            assertFalse(durable.isDone() || all.isDone(), "no quorum has it");
            // Killed followers, too: resumed ones would find the leader's proposals in their sockets.
            ensemble.killAll();
            for (ServerProcess follower : followers) {
                follower.start();
            }
            assertInstanceOf(DurabilityUnknownException.class,
                    assertThrows(ExecutionException.class, () -> get(durable)).getCause());
            assertInstanceOf(DurabilityUnknownException.class,
                    assertThrows(ExecutionException.class, () -> get(all)).getCause());
            assertTrue(curator.blockUntilConnected((int) LIMIT.toSeconds(), TimeUnit.SECONDS));
            assertNull(curator.checkExists().forPath("/wanted"), "not lost: the test shows nothing");
            assertNull(curator.checkExists().forPath("/acknowledged"));
            assertNull(curator.checkExists().forPath("/asked-later"));
            assertNotNull(curator.checkExists().forPath("/early"));

            // No barrier of this one was in flight, and one that it sent now would succeed.
            assertInstanceOf(DurabilityUnknownException.class,
                    assertThrows(ExecutionException.class, () -> get(asksLater.durableUpToHere())).getCause());

            // The client lives on; it forgets nothing until told to.
            get(createDurably(client, "/wanted"));
            assertThrows(ExecutionException.class, () -> get(client.durableUpToHere()));
            assertEquals(2, client.forgetUnknown());
            get(client.durableUpToHere());
        }
    }

    /** A client shuffles its servers; this one begins at the one that is wanted. */
    private static CuratorFramework connectedTo(ServerProcess first, String servers) throws Exception {
        while (true) {
            CuratorFramework curator = curator(servers);
            if (first.fourLetterWord("cons").contains("sid=0x" + Long.toHexString(
                    curator.getZookeeperClient().getZooKeeper().getSessionId()))) {
                return curator;
            }
            curator.close();
        }
    }

    @Test
    @Tag("full")
    void aClosedClientSettlesWhatIsOpen() throws Exception {
        Ensemble ensemble = Ensemble.start(run, flushOnlyOnDemand(Mode.EVENTUAL_ASYNC));
        ServerProcess leader = ensemble.awaitLeader(LIMIT);
        try (CuratorFramework curator = curator(leader.connectString())) {
            DurableClient client = new DurableClient(curator);
            for (ServerProcess server : ensemble.servers()) {
                if (server != leader) {
                    server.pause();
                }
            }
            get(create(client, "/x"));
            CompletableFuture<CuratorEvent> durable = createDurably(client, "/y");
            client.close();
            assertInstanceOf(DurabilityUnknownException.class,
                    assertThrows(ExecutionException.class, () -> get(durable)).getCause());
            assertInstanceOf(IllegalStateException.class,
                    assertThrows(ExecutionException.class, () -> get(createDurably(client, "/z"))).getCause());
        }
    }

    @Test
    @Tag("full")
    void onAStockServerTheBarrierIsARoundTripMore() throws Exception {
        Ensemble ensemble = Ensemble.start(run, Mode.STOCK.ensemble(3));
        try (CuratorFramework curator = curator(ensemble.connectString());
                DurableClient client = new DurableClient(curator, 10)) {
            for (int i = 0; i < 10; i++) {
                get(createDurably(client, "/n" + i));
            }
            get(client.durableUpToHere());
            assertEquals(11, curator.getChildren().forPath("/").size(), "and /zookeeper");
        }
    }
}

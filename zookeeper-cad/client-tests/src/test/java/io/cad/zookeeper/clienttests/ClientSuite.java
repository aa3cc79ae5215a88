// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.clienttests;

import static io.cad.zookeeper.clienttests.RealClients.LIMIT;
import static io.cad.zookeeper.clienttests.RealClients.bytes;
import static io.cad.zookeeper.clienttests.RealClients.create;
import static io.cad.zookeeper.clienttests.RealClients.curator;
import static io.cad.zookeeper.clienttests.RealClients.text;
import static io.cad.zookeeper.clienttests.RealClients.zooKeeper;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.client.DurableClient;
import io.cad.zookeeper.testkit.Await;
import io.cad.zookeeper.testkit.Ensemble;
import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.ServerProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** What applications do with ZooKeeper, done by unmodified clients at three servers in one mode. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(180)
abstract class ClientSuite {
    private static final int ROUNDS = 10;

    private final Mode mode;
    private RunDirectory run;
    private Ensemble ensemble;

    ClientSuite(Mode mode) {
        this.mode = mode;
    }

    @BeforeAll
    void startServers() throws Exception {
        run = RunDirectory.create("client-tests");
        ensemble = Ensemble.start(run, mode.ensemble(3));
    }

    /** Logs stay for a look when something went wrong; the next run sweeps processes, clean removes the files. */
    @AfterAll
    void endServers() throws Exception {
        Map<String, Double> sums = ensemble == null ? Map.of() : ensemble.sumMetrics("digest_mismatches_count");
        if (run != null) {
            run.close();
        }
        sums.forEach((name, value) -> assertEquals(0.0, value, name));
    }

    private ServerProcess follower() {
        return ensemble.servers().stream().filter(server -> server.mode().equals("follower")).findFirst().orElseThrow();
    }

    @Test
    void theServersRunInTheModeThatIsTested() throws Exception {
        for (ServerProcess server : ensemble.servers()) {
            assertEquals(!mode.isStock(), server.metrics().containsKey("cad_mode"), server + " " + server.metrics());
        }
    }

    @Test
    void whatOneClientWritesTheOthersRead() throws Exception {
        List<ZooKeeper> clients = new ArrayList<>();
        try {
            for (ServerProcess server : ensemble.servers()) {
                clients.add(zooKeeper(server.connectString()));
            }
            create(clients.get(0), "/basic", "0");
            for (int round = 1; round <= ROUNDS; round++) {
                ZooKeeper writer = clients.get(round % clients.size());
                Stat written = writer.setData("/basic", bytes("v" + round), round - 1);
                create(writer, "/basic/n" + round, "");
                for (ZooKeeper reader : clients) {
                    freshen(reader, "/basic");
                    Stat stat = new Stat();
                    assertEquals("v" + round, text(reader.getData("/basic", false, stat)));
                    assertEquals(written.getMzxid(), stat.getMzxid());
                    assertEquals(round, reader.getChildren("/basic", false).size());
                    assertNotNull(reader.exists("/basic/n" + round, false));
                    assertNull(reader.exists("/basic/no", false));
                    assertEquals(1 + round, reader.getAllChildrenNumber("/basic") + 1);
                    assertEquals(Ids.OPEN_ACL_UNSAFE, reader.getACL("/basic", null));
                }
            }
            ZooKeeper last = clients.get(2);
            assertCode(Code.BADVERSION, () -> last.setData("/basic", bytes("no"), 0));
            assertCode(Code.NODEEXISTS, () -> create(last, "/basic", ""));
            assertCode(Code.NOTEMPTY, () -> last.delete("/basic", -1));
            assertCode(Code.NONODE, () -> last.getData("/basic/no", false, null));
            last.multi(List.of(Op.delete("/basic/n1", -1), Op.setData("/basic", bytes("multi"), ROUNDS)));
            assertCode(Code.BADVERSION, () -> last.multi(
                    List.of(Op.delete("/basic/n2", -1), Op.check("/basic", 0))));
            freshen(clients.get(1), "/basic");
            assertEquals("multi", text(clients.get(1).getData("/basic", false, null)));
            assertEquals(ROUNDS - 1, clients.get(1).getChildren("/basic", false).size());
        } finally {
            for (ZooKeeper client : clients) {
                client.close();
            }
        }
    }

    private void freshen(ZooKeeper reader, String path) throws Exception {
        if (!mode.readsAreFresh()) {
            CompletableFuture<Integer> synced = new CompletableFuture<>();
            reader.sync(path, (code, p, context) -> synced.complete(code), null);
            assertEquals(0, synced.get(LIMIT.toSeconds(), TimeUnit.SECONDS));
        }
    }

    private interface Attempt {
        void run() throws Exception;
    }

    private static void assertCode(Code code, Attempt attempt) {
        assertEquals(code, assertThrows(KeeperException.class, attempt::run).code());
    }

    @Test
    void watchesOfEveryKindFireInOrder() throws Exception {
        try (ZooKeeper writer = zooKeeper(ensemble.connectString()); ZooKeeper watcher = zooKeeper(follower().connectString())) {
            create(writer, "/watched", "0");
            freshen(watcher, "/watched");
            BlockingQueue<WatchedEvent> data = new LinkedBlockingQueue<>();
            BlockingQueue<WatchedEvent> absent = new LinkedBlockingQueue<>();
            BlockingQueue<WatchedEvent> all = new LinkedBlockingQueue<>();
            watcher.getData("/watched", data::add, null);
            watcher.exists("/watched/child", absent::add);
            watcher.addWatch("/watched", all::add, AddWatchMode.PERSISTENT_RECURSIVE);
            writer.setData("/watched", bytes("1"), -1);
            assertEquals(EventType.NodeDataChanged, take(data).getType());
            assertEquals("1", text(watcher.getData("/watched", false, null)), "an event comes before the new value is old");
            create(writer, "/watched/child", "");
            assertEquals(EventType.NodeCreated, take(absent).getType());
            for (int i = 0; i < ROUNDS; i++) {
                writer.setData("/watched/child", bytes("" + i), -1);
            }
            writer.delete("/watched/child", -1);
            List<EventType> types = new ArrayList<>();
            while (!types.contains(EventType.NodeDeleted)) {
                types.add(take(all).getType());
            }
            assertEquals(EventType.NodeDataChanged, types.get(0));
            assertEquals(EventType.NodeCreated, types.get(1));
            assertEquals(ROUNDS + 3, types.size());
            assertTrue(data.isEmpty() && absent.isEmpty(), "one-shot watches fire once");
        }
    }

    private static WatchedEvent take(BlockingQueue<WatchedEvent> events) throws InterruptedException {
        WatchedEvent event = events.poll(LIMIT.toSeconds(), TimeUnit.SECONDS);
        assertNotNull(event, "no event");
        return event;
    }

    @Test
    void ephemeralNodesEndWithTheirSession() throws Exception {
        try (ZooKeeper witness = zooKeeper(ensemble.connectString())) {
            RealClients.MortalClient mortal =
                    new RealClients.MortalClient(follower().connectString(), Duration.ofMillis(2_000));
            Await.until("a session", LIMIT, () -> mortal.getState().isConnected(), mortal::toString);
            mortal.create("/ephemeral", bytes(""), Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
            String numbered = mortal.create("/numbered-", bytes(""), Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL_SEQUENTIAL);
            assertEquals(2, mortal.getEphemerals().size());
            BlockingQueue<WatchedEvent> gone = new LinkedBlockingQueue<>();
            freshen(witness, "/");
            assertNotNull(witness.exists("/ephemeral", gone::add));
            assertNotNull(witness.exists(numbered, false));
            mortal.die();
            assertEquals(EventType.NodeDeleted, take(gone).getType());
            assertNull(witness.exists("/ephemeral", false));
            assertNull(witness.exists(numbered, false));
        }
    }

    /** One client at each server. */
    private List<CuratorFramework> curators() throws Exception {
        List<CuratorFramework> all = new ArrayList<>();
        for (ServerProcess server : ensemble.servers()) {
            all.add(curator(server.connectString()));
        }
        return all;
    }

    private static void closeAll(List<CuratorFramework> clients) {
        clients.forEach(CuratorFramework::close);
    }

    @Test
    void aCuratorMutexExcludes() throws Exception {
        List<CuratorFramework> clients = curators();
        try {
            clients.get(0).create().forPath("/counter", bytes("0"));
            List<CompletableFuture<Void>> workers = clients.stream().map(client -> CompletableFuture.runAsync(() -> {
                InterProcessMutex mutex = new InterProcessMutex(client, "/mutex");
                for (int i = 0; i < ROUNDS; i++) {
                    try {
                        assertTrue(mutex.acquire(LIMIT.toSeconds(), TimeUnit.SECONDS));
                        int value = Integer.parseInt(text(client.getData().forPath("/counter")));
                        client.setData().forPath("/counter", bytes("" + (value + 1)));
                        mutex.release();
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                }
            })).collect(Collectors.toList());
            for (CompletableFuture<Void> worker : workers) {
                worker.get(LIMIT.toSeconds() * 2, TimeUnit.SECONDS);
            }
            clients.get(0).sync().forPath("/counter");
            assertEquals("" + ROUNDS * clients.size(), text(clients.get(0).getData().forPath("/counter")));
        } finally {
            closeAll(clients);
        }
    }

    @Test
    void aCuratorLatchElectsOneLeaderAndThenAnother() throws Exception {
        List<CuratorFramework> clients = curators();
        List<LeaderLatch> latches = new ArrayList<>();
        try {
            for (CuratorFramework client : clients) {
                LeaderLatch latch = new LeaderLatch(client, "/latch", "candidate " + latches.size());
                latch.start();
                latches.add(latch);
            }
            while (latches.size() > 1) {
                Await.until("a leader", LIMIT, () -> latches.stream().anyMatch(LeaderLatch::hasLeadership), latches::toString);
                List<LeaderLatch> leaders = latches.stream().filter(LeaderLatch::hasLeadership).collect(Collectors.toList());
                assertEquals(1, leaders.size());
                latches.remove(leaders.get(0));
                leaders.get(0).close();
            }
            assertTrue(latches.get(0).await(LIMIT.toSeconds(), TimeUnit.SECONDS));
        } finally {
            for (LeaderLatch latch : latches) {
                latch.close();
            }
            closeAll(clients);
        }
    }

    @Test
    void aCuratorCacheFollowsATree() throws Exception {
        try (CuratorFramework writer = curator(ensemble.connectString());
                CuratorFramework reader = curator(follower().connectString());
                CuratorCache cache = CuratorCache.build(reader, "/cached")) {
            Map<String, String> events = new ConcurrentHashMap<>();
            cache.listenable().addListener(CuratorCacheListener.builder()
                    .forCreatesAndChanges((old, node) -> events.put(node.getPath(), text(node.getData())))
                    .forDeletes(node -> events.remove(node.getPath())).build());
            writer.create().forPath("/cached", bytes("root"));
            cache.start();
            for (int i = 0; i < ROUNDS; i++) {
                writer.create().creatingParentsIfNeeded().forPath("/cached/a" + i + "/b", bytes("first"));
                writer.setData().forPath("/cached/a" + i + "/b", bytes("second"));
            }
            writer.delete().deletingChildrenIfNeeded().forPath("/cached/a0");
            Await.until("the cache", LIMIT, () -> cache.size() == 1 + 2 * (ROUNDS - 1)
                    && cache.get("/cached/a9/b").map(node -> text(node.getData()).equals("second")).orElse(false)
                    && events.size() == cache.size(), () -> cache.size() + " nodes, events " + events);
            assertTrue(cache.get("/cached/a0").isEmpty());
        }
    }

    @Test
    void theDurableClientConfirmsItsWrites() throws Exception {
        for (ServerProcess server : ensemble.servers()) {
            try (CuratorFramework curator = curator(server.connectString());
                    DurableClient client = new DurableClient(curator)) {
                String root = "/durable" + server.id();
                client.durable((zk, ack) -> zk.create().inBackground(ack).forPath(root, bytes("0")))
                        .get(LIMIT.toSeconds(), TimeUnit.SECONDS);
                for (int i = 0; i < 20 * ROUNDS; i++) {
                    String path = root + "/n" + i;
                    client.write((zk, ack) -> zk.create().inBackground(ack).forPath(path));
                }
                client.durableUpToHere().get(LIMIT.toSeconds(), TimeUnit.SECONDS);
                assertEquals(20 * ROUNDS, curator.getChildren().forPath(root).size());
                ExecutionException refused = assertThrows(ExecutionException.class, () -> client.durable(
                        (zk, ack) -> zk.create().inBackground(ack).forPath(root)).get(LIMIT.toSeconds(), TimeUnit.SECONDS));
                assertEquals(Code.NODEEXISTS, ((KeeperException) refused.getCause()).code());
                client.durableUpToHere().get(LIMIT.toSeconds(), TimeUnit.SECONDS);
            }
        }
    }

    @Test
    void kazooWorks() throws Exception {
        List<String> command = new ArrayList<>(List.of(System.getProperty("client.tests.kazoo")));
        ensemble.servers().forEach(server -> command.add(server.connectString()));
        Process kazoo = new ProcessBuilder(command).redirectErrorStream(true).start();
        kazoo.getOutputStream().close();
        String output = text(kazoo.getInputStream().readAllBytes());
        assertEquals(0, kazoo.waitFor(), output);
        System.out.print(output);
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testkit.disk.FiDisk;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the admin server's snapshot and restore commands do where acknowledged changes may still be taken back. */
@Timeout(240)
class AdminSnapshotTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final int OK = 200;
    private static final int REFUSED = 500;

    private final HttpClient http = HttpClient.newHttpClient();
    private RunDirectory run;

    @BeforeEach
    void makeRun() throws Exception {
        run = RunDirectory.create("admin-snapshot");
    }

    @AfterEach
    void endRun() {
        run.close();
    }

    private static EnsembleConfig config(ServerBuild build, int servers) {
        return new EnsembleConfig(build, servers).adminServer(true).cfg("admin.rateLimiterIntervalInMS", "0");
    }

    /** Three servers on which nothing becomes durable that nobody waits for. */
    private Ensemble start() throws Exception {
        return Ensemble.start(run, config(ServerBuild.product(), 3)
                .cfg("cad.durability", "cad").cfg("cad.replication", "async").cfg("cad.reads", "leader")
                .cfg("cad.flush.interval", "60000").cfg("cad.flush.bytes", "1000000000").cfg("cad.window.ms", "60000")
                .cfg("cad.leader.lease", "3000")
                .disks(FiDisk.provider(null, false, 1)));
    }

    private static ZooKeeper client(ServerProcess server) throws Exception {
        return Clients.connect(server.connectString(), Duration.ofSeconds(30), LIMIT);
    }

    /** Creates a node; its acknowledgement waits for no disk. */
    private static long create(ZooKeeper client, String path) throws Exception {
        Stat stat = new Stat();
        client.create(path, new byte[100], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT, stat);
        return stat.getCzxid();
    }

    private static Stat exists(ServerProcess server, String path) throws Exception {
        try (ZooKeeper client = client(server)) {
            CompletableFuture<Integer> synced = new CompletableFuture<>();
            client.sync(path, (code, at, context) -> synced.complete(code), null);
            assertEquals(0, synced.get(LIMIT.toSeconds(), TimeUnit.SECONDS));
            return client.exists(path, false);
        }
    }

    private static HttpRequest.Builder command(ServerProcess server, String command) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + server.adminPort() + "/commands/" + command))
                .timeout(LIMIT).header("Authorization", "digest root:secret");
    }

    private CompletableFuture<HttpResponse<byte[]>> snapshot(ServerProcess server) {
        return http.sendAsync(command(server, "snapshot?streaming=true").build(), BodyHandlers.ofByteArray());
    }

    private int restore(ServerProcess server, byte[] snapshot) throws Exception {
        return http.send(command(server, "restore").header("Content-Type", "application/octet-stream")
                .POST(BodyPublishers.ofByteArray(snapshot)).build(), BodyHandlers.ofByteArray()).statusCode();
    }

    private static List<String> names(Path directory, String prefix) throws IOException {
        try (Stream<Path> all = Files.list(directory)) {
            return all.map(file -> file.getFileName().toString()).filter(name -> name.startsWith(prefix)).sorted().toList();
        }
    }

    @Test
    void aSnapshotIsAnsweredWhenAllInItIsDurable() throws Exception {
        Ensemble ensemble = start();
        ServerProcess leader = ensemble.awaitLeader(LIMIT);
        ZooKeeper writer = client(leader);
        long first = create(writer, "/first");
        HttpResponse<byte[]> answer = snapshot(leader).get(LIMIT.toSeconds(), TimeUnit.SECONDS);
        assertEquals(OK, answer.statusCode());
        String last = answer.headers().firstValue("last_zxid").orElseThrow();
        assertTrue(Long.decode(last) >= first, last);
        Path file = leader.disk().directory().resolve("version-2/snapshot." + last.substring(2));
        assertArrayEquals(Files.readAllBytes(file), answer.body());
        create(writer, "/second");
        // Not after the end of the session, which waits for the disks.
        ensemble.powerLoss();
        ensemble.startAll();
        for (ServerProcess server : ensemble.servers()) {
            assertNotNull(exists(server, "/first"), "lost at " + server + ", and was in the snapshot");
            assertNull(exists(server, "/second"), "everything is durable here, so that nothing is shown");
        }
        writer.close(0);
        run.closeAndDelete();
    }

    /** The followers stand still: what the leader alone holds is acknowledged, and rolled back later. */
    @Test
    void whatMayBeRolledBackIsInNoSnapshot() throws Exception {
        Ensemble ensemble = start();
        ServerProcess leader = ensemble.awaitLeader(LIMIT);
        Path data = leader.disk().directory();
        ZooKeeper writer = client(leader);
        for (ServerProcess follower : ensemble.others(leader)) {
            follower.pause();
        }
        create(writer, "/alone");
        CompletableFuture<HttpResponse<byte[]>> answer = snapshot(leader);
        Path unpublished = data.resolve("cad/v1/unpublished");
        Await.until("a snapshot that waits", LIMIT, () -> Files.isDirectory(unpublished)
                && !names(unpublished, "snapshot.").isEmpty(), ensemble::toString);
        String waiting = names(unpublished, "snapshot.").get(0);
        assertFalse(answer.isDone());
        // Followers too: resumed ones would find the leader's proposals in their sockets.
        ensemble.killAll();
        assertThrows(ExecutionException.class, () -> answer.get(LIMIT.toSeconds(), TimeUnit.SECONDS));
        for (ServerProcess follower : ensemble.others(leader)) {
            follower.start();
        }
        ensemble.awaitServing(LIMIT);
        leader.start();
        ensemble.awaitServing(LIMIT);
        assertFalse(names(data.resolve("version-2"), "snapshot.").contains(waiting), waiting);
        for (ServerProcess server : ensemble.servers()) {
            assertNull(exists(server, "/alone"), "at " + server);
        }
        assertEquals(List.of(), Trees.differences(ensemble.servers()));
        writer.close(0);
        run.closeAndDelete();
    }

    @Test
    void restoreIsRefusedAndChangesNothing() throws Exception {
        Ensemble ensemble = start();
        ServerProcess leader = ensemble.awaitLeader(LIMIT);
        try (ZooKeeper writer = client(leader)) {
            byte[] before = snapshot(leader).get(LIMIT.toSeconds(), TimeUnit.SECONDS).body();
            create(writer, "/later");
            for (ServerProcess server : ensemble.servers()) {
                assertEquals(REFUSED, restore(server, before), "at " + server);
                assertNotNull(exists(server, "/later"), "at " + server);
                assertTrue(Files.readString(server.logFile()).contains("restore is refused while cad.durability is set"));
            }
        }
        assertEquals(List.of(), Trees.differences(ensemble.servers()));
        run.closeAndDelete();
    }

    /** Control: the same request takes a stock server back. */
    @Test
    void aStockServerIsRestored() throws Exception {
        ServerProcess server = Ensemble.start(run, config(ServerBuild.stock(), 1)).awaitLeader(LIMIT);
        try (ZooKeeper writer = client(server)) {
            byte[] before = snapshot(server).get(LIMIT.toSeconds(), TimeUnit.SECONDS).body();
            create(writer, "/later");
            assertEquals(OK, restore(server, before));
        }
        assertNull(exists(server, "/later"));
        run.closeAndDelete();
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.role.Role;
import io.cad.zookeeper.testing.Await;
import io.cad.zookeeper.testing.Disk;
import io.cad.zookeeper.testing.Ensemble;
import io.cad.zookeeper.testing.Ensemble.Transport;
import io.cad.zookeeper.testing.LogFiles;
import io.cad.zookeeper.testing.RawClient;
import io.cad.zookeeper.testing.RawClient.Packet;
import io.cad.zookeeper.testing.Settings;
import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.proto.CreateRequest;
import org.apache.zookeeper.proto.GetDataRequest;
import org.apache.zookeeper.proto.GetDataResponse;
import org.apache.zookeeper.proto.SetDataRequest;
import org.apache.zookeeper.server.SyncRequestProcessor;
import org.apache.zookeeper.server.persistence.Util;
import org.apache.zookeeper.server.quorum.CadPeer;
import org.apache.zookeeper.server.quorum.QuorumPeer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a role leaves behind, and what never leaves it: acknowledged writes, snapshots, a failed disk. */
class RoleEndTest {

    private static final String NODE = "/node";

    private final Disk disk = new Disk();
    private final int snapCount = SyncRequestProcessor.getSnapCount();
    private Settings settings;
    private Ensemble ensemble;

    private void start(int servers, String... more) {
        settings = Settings.of("cad.durability", "cad", "cad.replication", "async", "cad.window.ms", "3600000",
            "cad.hold.ms", "3600000").and(more);
        ensemble = new Ensemble(Transport.NIO, servers, 0).startAll();
    }

    @AfterEach
    void stop() {
        SyncRequestProcessor.setSnapCount(snapCount);
        disk.release();
        ensemble.close();
        disk.close();
        settings.close();
    }

    private static CompletableFuture<Packet> create(RawClient client, String path) {
        return client.send(OpCode.create, new CreateRequest(path, new byte[1], ZooDefs.Ids.OPEN_ACL_UNSAFE, 0));
    }

    private static CompletableFuture<Packet> set(RawClient client) {
        return client.send(OpCode.setData, new SetDataRequest(NODE, new byte[10], -1));
    }

    private static Packet ok(CompletableFuture<Packet> reply) {
        Packet packet = Await.get("a request", reply);
        assertEquals(Code.OK, packet.code(), packet::toString);
        return packet;
    }

    /**
     * The log thread drains its queue and syncs before the role ends, and the commit processor has ended before
     * upstream replays the log into the tree: it once met a change that was being applied.
     */
    @RepeatedTest(5)
    void acknowledgedWritesSurviveTheEndOfTheRole() {
        start(1, "cad.flush.interval", "60000", "cad.flush.bytes", "1000000000");
        RawClient client = ensemble.client(1);
        ok(create(client, NODE));
        List<CompletableFuture<Packet>> writes = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            writes.add(set(client));
        }
        ok(writes.get(100));
        ensemble.stop(1);
        Await.get("the end of the connection", client.closed());
        long acknowledged = writes.stream().filter(w -> w.isDone() && !w.isCompletedExceptionally()).count();
        ensemble.start(1);
        RawClient again = ensemble.client(1);
        Packet read = ok(again.send(OpCode.getData, new GetDataRequest(NODE, false)));
        int version = read.as(new GetDataResponse()).getStat().getVersion();
        assertTrue(version >= acknowledged, version + " writes left of " + acknowledged + " acknowledged ones");
        again.close();
    }

    /**
     * A leader that acknowledges early lets a follower apply what its log thread has not come to. Upstream keeps the
     * tree for the next role, which would then ask for later changes only: a hole in the log.
     */
    @Test
    void aFollowersMemoryIsNotAheadOfItsLogWhenTheRoleHasEnded() throws Exception {
        SyncRequestProcessor.setSnapCount(4);
        start(3);
        long leader = ensemble.leader();
        long follower = leader % 3 + 1;
        RawClient client = ensemble.client(leader);
        ok(create(client, NODE));
        disk.stall(thread -> thread.equals("SyncThread:" + follower));
        // It stalls where it begins a new file.
        do {
            ok(set(client));
        } while (disk.waiting() == 0);
        ok(set(client));
        ok(set(client));
        long last = ensemble.role(leader).index.lastApplied();
        Role role = ensemble.role(follower);
        Await.until("the follower has applied it", () -> role.index.lastApplied() >= last);
        ensemble.stop(leader);
        Await.until("the role waits for its log", () -> waitsForItsLog(follower));
        disk.release();
        ensemble.stop(follower);
        assertTrue(LogFiles.indices(new File(ensemble.data(follower), "version-2"), 0).contains(last),
            "the log lacks what had been applied");
        client.close();
    }

    /**
     * A role that has lost its office waits for a disk that hangs. While it still said that it led, voters that looked
     * for a leader at different times found it again and again: a quorum followed it, each other as they had seen them.
     */
    @Test
    void aLeaderWhoseDiskHangsSaysThatItLeadsNoMore() {
        start(3, "cad.stuck", "1000");
        long leader = ensemble.leader();
        RawClient client = ensemble.client(leader);
        ok(create(client, NODE));
        disk.stall(thread -> thread.startsWith("cad-leader-"));
        ok(set(client));
        Await.until("the role waits for its log", () -> waitsForItsLog(leader));
        assertEquals(QuorumPeer.ServerState.LOOKING, ensemble.peer(leader).getPeerState());
        Await.until("another one leads", () -> LongStream.rangeClosed(1, 3).anyMatch(
            server -> ensemble.peer(server).getPeerState() == QuorumPeer.ServerState.LEADING));
        disk.release();
        client.close();
    }

    private static boolean waitsForItsLog(long server) {
        return Thread.getAllStackTraces().entrySet().stream().anyMatch(thread ->
            thread.getKey().getName().contains("myid=" + server) && Arrays.stream(thread.getValue()).anyMatch(frame ->
                frame.getClassName().endsWith("CadSyncProcessor") && frame.getMethodName().equals("shutdown")));
    }

    /** The real process is gone by then; here it must at least never acknowledge or show anything again as durable. */
    @Test
    void afterAFailedSyncNothingIsDurableAnyMore() {
        start(1);
        RawClient client = ensemble.client(1);
        RawClient other = ensemble.client(1);
        ok(create(client, NODE));
        Role role = ensemble.role(1);
        Await.until("all is durable", () -> role.durable() >= role.index.lastApplied());
        long durable = role.durable();
        disk.fail();
        ok(set(client));
        CompletableFuture<Packet> read = client.send(OpCode.getData, new GetDataRequest(NODE, false));
        Await.until("the server wants to end", () -> disk.exits() > 0);
        disk.mend();
        long syncs = disk.syncs();
        Await.until("the read is held", () -> role.gates.repliesHeld() > 0);
        ok(set(other));
        ok(other.send(OpCode.getData, new GetDataRequest("/", false)));
        assertFalse(read.isDone());
        assertEquals(durable, role.durable());
        assertEquals(syncs, disk.syncs(), "the sync was tried again");
        client.close();
        other.close();
    }

    // ---- snapshots

    private void stallFollowers(long leader) {
        disk.stall(thread -> thread.startsWith("cad-follower-")
            || thread.startsWith("SyncThread:") && !thread.equals("SyncThread:" + leader));
    }

    private long newestSnapshot(long server) {
        File[] files = new File(ensemble.data(server), "version-2").listFiles();
        return Arrays.stream(files).mapToLong(file -> Util.getZxidFromName(file.getName(), "snapshot")).max().orElse(-1);
    }

    /** Index of the snapshot that waits until it may be published, -1 if there is none. */
    private long waitingSnapshot(long server) {
        String[] names = new File(ensemble.data(server), "cad/v1/unpublished").list();
        return names == null ? -1
            : Arrays.stream(names).mapToLong(name -> Util.getZxidFromName(name, "snapshot")).max().orElse(-1);
    }

    private boolean snapshotWaits(long server) {
        return waitingSnapshot(server) >= 0;
    }

    /** By its size alone: of changes there are far fewer than snapCount. */
    @Test
    void aLogThatHasGrownEnoughMakesASnapshot() {
        start(1, "zookeeper.snapSizeLimitInKb", "8");
        RawClient client = ensemble.client(1);
        ok(create(client, NODE));
        long first = newestSnapshot(1);
        for (int i = 0; i < 300; i++) {
            ok(set(client));
        }
        Await.until("a snapshot is published", () -> newestSnapshot(1) > first);
        client.close();
    }

    /** A leader that nobody follows to disk writes a snapshot: it waits for D, or dies with the role. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void snapshotIsPublishedWhenDurableOrNever(boolean becomesDurable) {
        SyncRequestProcessor.setSnapCount(2);
        start(3);
        long leader = ensemble.leader();
        RawClient client = ensemble.client(leader);
        ok(create(client, NODE));
        Role role = ensemble.role(leader);
        Await.until("all is durable", () -> role.durable() >= role.index.lastApplied() && !snapshotWaits(leader));
        stallFollowers(leader);
        // A sync that was under way may still move D once.
        do {
            ok(set(client));
        } while (disk.waiting() < 2);
        long durable = role.durable();
        // It may have begun before the last sync: then its index is durable, and only what came in meanwhile is not.
        long waiting;
        while ((waiting = waitingSnapshot(leader)) < 0) {
            ok(set(client));
        }
        long begun = waiting;
        assertEquals(durable, role.durable());
        assertTrue(newestSnapshot(leader) <= durable, "published before it is durable");
        if (becomesDurable) {
            disk.release();
            Await.until("the snapshot is published", () -> newestSnapshot(leader) >= begun);
        } else {
            ensemble.stop(leader);
            Await.until("the snapshot is dropped", () -> !snapshotWaits(leader));
            assertTrue(newestSnapshot(leader) <= durable, "published although its role ended");
        }
        client.close();
    }

    // ---- memory is bounded

    /** More undurable items than are listed: the rest is covered by the barrier, never taken for durable. */
    @Test
    void itemsThatAreNotListedAnyMoreAreHeldToo() {
        start(1, "cad.dirty.max", "16");
        RawClient writer = ensemble.client(1);
        List<RawClient> readers = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            readers.add(ensemble.client(1));
        }
        Role role = ensemble.role(1);
        Await.until("all is durable", () -> role.durable() >= role.index.lastApplied());
        disk.stall();
        for (int i = 0; i < 100; i++) {
            ok(create(writer, NODE + i));
        }
        List<CompletableFuture<Packet>> reads = new ArrayList<>();
        for (int i = 0; i < readers.size(); i++) {
            reads.add(readers.get(i).send(OpCode.getData, new GetDataRequest(NODE + i * 20, false)));
        }
        Await.until("all are held", () -> role.gates.repliesHeld() == 5 || reads.stream().anyMatch(r -> r.isDone()));
        assertTrue(reads.stream().noneMatch(CompletableFuture::isDone));
        disk.release();
        reads.forEach(RoleEndTest::ok);
        readers.forEach(RawClient::close);
        writer.close();
    }

    // ---- planned stop

    @Test
    void drainWaitsUntilWhatWasAcknowledgedIsDurable() throws Exception {
        start(3, "cad.flush.interval", "60000", "cad.flush.bytes", "1000000000");
        long leader = ensemble.leader();
        RawClient client = ensemble.client(leader);
        ok(create(client, NODE));
        disk.stall();
        ok(set(client));
        long last = ensemble.role(leader).index.lastApplied();
        Role role = ensemble.role(leader);
        CompletableFuture<Boolean> drained = CompletableFuture.supplyAsync(() -> {
            try {
                return CadPeer.drain(ensemble.peer(leader), System.nanoTime() + TimeUnit.MINUTES.toNanos(10));
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        Await.until("the drain asks for a flush", () -> disk.waiting() > 0);
        assertFalse(drained.isDone());
        assertTrue(role.durable() < last);
        disk.release();
        assertTrue(Await.get("the drain", drained));
        assertTrue(role.durable() >= last);
        client.close();
    }

    @Test
    void drainGivesUpWhenItsTimeIsOver() throws Exception {
        start(1);
        RawClient client = ensemble.client(1);
        ok(create(client, NODE));
        disk.stall();
        ok(set(client));
        assertFalse(CadPeer.drain(ensemble.peer(1), System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(100)));
        disk.release();
        client.close();
    }
}

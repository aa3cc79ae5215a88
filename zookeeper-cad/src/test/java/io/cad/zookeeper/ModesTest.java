// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.role.LeaderRole;
import io.cad.zookeeper.role.Role;
import io.cad.zookeeper.testing.Await;
import io.cad.zookeeper.testing.Disk;
import io.cad.zookeeper.testing.Ensemble;
import io.cad.zookeeper.testing.Ensemble.Transport;
import io.cad.zookeeper.testing.RawClient;
import io.cad.zookeeper.testing.RawClient.Packet;
import io.cad.zookeeper.testing.Settings;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.proto.CreateRequest;
import org.apache.zookeeper.proto.DeleteRequest;
import org.apache.zookeeper.proto.GetDataRequest;
import org.apache.zookeeper.proto.SetDataRequest;
import org.apache.zookeeper.proto.SyncRequest;
import org.apache.zookeeper.server.ServerMetrics;
import org.apache.zookeeper.server.SyncRequestProcessor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** When a write is acknowledged, by mode and window. */
class ModesTest {

    private static final String NODE = "/node";

    private Settings settings;
    private Disk disk;
    private Ensemble ensemble;
    private long leader;
    private RawClient client;

    @BeforeEach
    void takeOverDisk() {
        disk = new Disk();
    }

    @AfterEach
    void stop() {
        disk.release();
        if (client != null) {
            client.close();
        }
        if (ensemble != null) {
            ensemble.close();
        }
        disk.close();
        settings.close();
    }

    private void start(int servers, String... pairs) {
        settings = Settings.of(pairs).and("zookeeper.extendedTypesEnabled", "true");
        ensemble = new Ensemble(Transport.NIO, servers, 0).startAll();
        leader = ensemble.leader();
        client = ensemble.client(leader);
        ok(create(NODE, 0));
        settle();
    }

    private void settle() {
        Role role = ensemble.role(leader);
        if (role.mode.acknowledgesBeforeDurable()) {
            Await.until("everything is durable", () -> role.durable() >= role.index.lastApplied());
        }
    }

    private CompletableFuture<Packet> create(String path, int flags) {
        return client.send(OpCode.create, new CreateRequest(path, new byte[1], ZooDefs.Ids.OPEN_ACL_UNSAFE, flags));
    }

    private CompletableFuture<Packet> set(int bytes) {
        return client.send(OpCode.setData, new SetDataRequest(NODE, new byte[bytes], -1));
    }

    private CompletableFuture<Packet> get() {
        return client.send(OpCode.getData, new GetDataRequest(NODE, false));
    }

    private static Packet ok(CompletableFuture<Packet> reply) {
        Packet packet = Await.get("a request", reply);
        assertEquals(Code.OK, packet.code(), packet::toString);
        return packet;
    }

    private void awaitHeld() {
        Await.until("the reply is held", () -> ensemble.role(leader).gates.repliesHeld() > 0);
    }

    @ParameterizedTest
    @CsvSource({"immediate,sync,leader", "immediate,sync,any", "eventual,sync,leader", "eventual,sync,any",
        "eventual,async,leader", "eventual,async,any", "cad,sync,leader", "cad,async,leader"})
    void everyAllowedModeServes(String durability, String replication, String reads) {
        start(1, "cad.durability", durability, "cad.replication", replication, "cad.reads", reads);
        assertEquals(durability + "+" + replication + "+" + reads, ensemble.role(leader).mode.toString());
        ok(set(10));
        assertEquals(10, ok(get()).as(new org.apache.zookeeper.proto.GetDataResponse()).getData().length);
        ensemble.stop(1);
        ensemble.start(1);
        RawClient again = ensemble.client(1);
        assertEquals(10, Await.get("the data", again.send(OpCode.getData, new GetDataRequest(NODE, false)))
            .as(new org.apache.zookeeper.proto.GetDataResponse()).getData().length);
        again.close();
    }

    /** The leader's own acknowledgements too, whoever makes them. */
    @ParameterizedTest
    @ValueSource(strings = {"immediate", "eventual", "cad"})
    void acknowledgementsAreMeasured(String durability) {
        start(1, "cad.durability", durability);
        long before = acknowledgementsMeasured();
        ok(set(10));
        Await.until("measured", () -> acknowledgementsMeasured() > before);
    }

    private static long acknowledgementsMeasured() {
        AtomicLong count = new AtomicLong();
        ServerMetrics.getMetrics().getMetricsProvider().dump((name, value) -> {
            if (name.equals("cnt_proposal_ack_creation_latency")) {
                count.set(((Number) value).longValue());
            }
        });
        return count.get();
    }

    @Test
    void immediateAcknowledgesAfterTheSync() {
        start(1, "cad.durability", "immediate");
        RawClient other = ensemble.client(leader);
        disk.stall();
        CompletableFuture<Packet> write = set(10);
        Await.until("the sync of the write waits", () -> disk.waiting() > 0);
        ok(other.send(OpCode.getData, new GetDataRequest("/", false)));
        assertFalse(write.isDone());
        disk.release();
        ok(write);
        other.close();
    }

    @ParameterizedTest
    @CsvSource({"eventual,sync,1", "eventual,async,1", "cad,sync,1", "cad,async,1", "eventual,sync,3", "cad,async,3"})
    void othersAcknowledgeBeforeIt(String durability, String replication, int servers) {
        start(servers, "cad.durability", durability, "cad.replication", replication, "cad.window.ms", "3600000",
            "cad.hold.ms", "3600000");
        disk.stall();
        ok(set(10));
        Await.until("a sync of the write waits", () -> disk.waiting() > 0);
        ok(set(11));
        CompletableFuture<Packet> read = get();
        if (durability.equals("eventual")) {
            ok(read);
        } else {
            awaitHeld();
            assertFalse(read.isDone());
            disk.release();
            ok(read);
        }
    }

    /** Followers that stand still in the middle of a roll of their logs acknowledge nothing. */
    @ParameterizedTest
    @ValueSource(strings = {"async", "sync"})
    void asyncCommitsBeforeAnyFollowerAcknowledges(String replication) {
        int before = SyncRequestProcessor.getSnapCount();
        try {
            SyncRequestProcessor.setSnapCount(2);
            start(3, "cad.durability", "eventual", "cad.replication", replication, "cad.window.ms", "3600000",
                "cad.hold.ms", "3600000");
            ok(set(1));
            RawClient other = ensemble.client(leader);
            // Each thread that syncs for a server is named after it.
            Predicate<String> followers = thread -> thread.startsWith("cad-follower-")
                || thread.startsWith("SyncThread:") && !thread.equals("SyncThread:" + leader);
            disk.stall(followers);
            // Some are acknowledged before the threads reach their rolls.
            CompletableFuture<Packet> last = set(1);
            while (disk.waiting() < 2) {
                last = set(1);
                CompletableFuture<Packet> write = last;
                Await.until("acknowledged, or both followers stand still",
                    () -> write.isDone() || disk.waiting() >= 2);
            }
            CompletableFuture<Packet> next = set(2);
            if (replication.equals("async")) {
                ok(next);
            } else {
                LeaderRole role = (LeaderRole) ensemble.role(leader);
                Await.until("the leader has logged what it may not commit",
                    () -> role.lastAppended() > role.index.lastApplied());
                ok(other.send(OpCode.getData, new GetDataRequest("/", false)));
                assertFalse(next.isDone());
            }
            other.close();
            last = next;
            disk.release();
            ok(last);
        } finally {
            SyncRequestProcessor.setSnapCount(before);
        }
    }

    // ---- the window

    @Test
    void windowOfTransactions() {
        start(1, "cad.durability", "eventual", "cad.replication", "async", "cad.window.txns", "10",
            "cad.window.ms", "3600000", "cad.hold.ms", "3600000");
        disk.stall();
        for (int i = 0; i < 10; i++) {
            ok(set(1));
        }
        waitsUntilDMoves(set(1));
        ok(set(1));
    }

    @Test
    void windowOfBytes() {
        start(1, "cad.durability", "cad", "cad.replication", "async", "cad.window.bytes", "20000",
            "cad.window.ms", "3600000", "cad.hold.ms", "3600000");
        disk.stall();
        ok(set(9_000));
        ok(set(9_000));
        waitsUntilDMoves(set(9_000));
        ok(set(9_000));
    }

    @Test
    void windowOfTime() {
        start(1, "cad.durability", "eventual", "cad.replication", "sync", "cad.window.ms", "300",
            "cad.hold.ms", "3600000");
        disk.stall();
        CompletableFuture<Packet> write;
        do {
            write = set(1);
            CompletableFuture<Packet> tried = write;
            Await.until("the write is acknowledged or held",
                () -> tried.isDone() || ensemble.role(leader).gates.repliesHeld() > 0);
        } while (write.isDone());
        waitsUntilDMoves(write);
    }

    private void waitsUntilDMoves(CompletableFuture<Packet> write) {
        awaitHeld();
        assertFalse(write.isDone());
        disk.release();
        ok(write);
        settle();
    }

    // ---- what is acknowledged durably

    @Test
    void durableKindsCanBeSwitchedOff() {
        start(1, "cad.durability", "cad", "cad.replication", "async", "cad.durable.acks", "none",
            "cad.window.ms", "3600000");
        disk.stall();
        ok(create("/e", 1));
        ok(create("/s", 2));
        ensemble.client(leader).close();
    }

    @Test
    void eventualHasNoDurableKinds() {
        start(1, "cad.durability", "eventual", "cad.replication", "async", "cad.window.ms", "3600000");
        disk.stall();
        ok(create("/e", 1));
        ok(client.send(OpCode.delete, new DeleteRequest("/e", -1)));
        assertEquals(Code.NONODE, Await.get("delete", client.send(OpCode.delete, new DeleteRequest("/e", -1))).code());
    }

    @Test
    void eventualTakesDurableKindsWhenTold() {
        start(1, "cad.durability", "eventual", "cad.replication", "async", "cad.durable.acks", "ephemeral",
            "cad.window.ms", "3600000", "cad.hold.ms", "3600000");
        disk.stall();
        waitsUntilDMoves(create("/e", 1));
    }

    @Test
    void syncIsNoBarrierWhenSwitchedOff() {
        start(1, "cad.durability", "cad", "cad.replication", "async", "cad.sync.persists", "false",
            "cad.window.ms", "3600000");
        disk.stall();
        ok(set(1));
        ok(client.send(OpCode.sync, new SyncRequest(NODE)));
    }

    @Test
    void statOfAWriteMayBeDurable() {
        start(1, "cad.durability", "cad", "cad.replication", "async", "cad.write.stat", "durable",
            "cad.window.ms", "3600000", "cad.hold.ms", "3600000");
        disk.stall();
        waitsUntilDMoves(set(1));
    }

    // ---- a full disk

    @Test
    void belowTheReserveWritesAreRefusedAndTheServerGoesOn() {
        start(1, "cad.durability", "cad", "cad.disk.reserve", "0");
        ensemble.stop(1);
        client.close();
        settings.and("cad.disk.reserve", Long.toString(1L << 50));
        ensemble.start(1);
        client = ensemble.client(1);
        assertEquals(Code.QUOTAEXCEEDED, Await.get("a write", set(1)).code());
        assertEquals(Code.QUOTAEXCEEDED, Await.get("a create", create("/more", 0)).code());
        ok(client.send(OpCode.delete, new DeleteRequest(NODE, -1)));
        ok(client.send(OpCode.closeSession, null));
        ensemble.stop(1);
        settings.and("cad.disk.reserve", "0");
        ensemble.start(1);
        client = ensemble.client(1);
        ok(create(NODE, 0));
        ok(set(1));
    }

    // ---- who decides

    @Test
    void leaderDictatesTheMode() {
        settings = Settings.of("cad.durability", "cad", "cad.replication", "async");
        ensemble = new Ensemble(Transport.NIO, 3, 0).start(1L, 2L);
        settings.and("cad.durability", "eventual", "cad.replication", "sync", "cad.reads", "any");
        ensemble.start(3);
        assertEquals("cad+async+leader", ensemble.role(3).mode.toString());
        assertTrue(ensemble.peer(3).follower != null);
    }
}

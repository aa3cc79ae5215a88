// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.gate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.role.LeaderRole;
import io.cad.zookeeper.role.LostLease;
import io.cad.zookeeper.testing.Await;
import io.cad.zookeeper.testing.Disk;
import io.cad.zookeeper.testing.Ensemble;
import io.cad.zookeeper.testing.Ensemble.Transport;
import io.cad.zookeeper.testing.RawClient;
import io.cad.zookeeper.testing.RawClient.Packet;
import io.cad.zookeeper.testing.Settings;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.proto.GetDataRequest;
import org.apache.zookeeper.proto.GetDataResponse;
import org.apache.zookeeper.proto.SetDataRequest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The gate at servers that do not lead: voters and observers. Server 2 leads, 4 observes. */
class FollowerGateTest {

    private Settings settings;
    private final Disk disk = new Disk();
    private Ensemble ensemble;

    private void start(Transport transport, String... more) {
        settings = Settings.of("cad.durability", "cad", "cad.replication", "async", "cad.window.ms", "3600000",
            "cad.hold.ms", "3600000").and(more);
        ensemble = new Ensemble(transport, 3, 1).startAll();
        assertEquals(2, ensemble.leader());
    }

    @AfterEach
    void stop() {
        disk.release();
        ensemble.close();
        disk.close();
        settings.close();
    }

    private static int length(Packet packet) {
        return packet.as(new GetDataResponse()).getData().length;
    }

    /** A read sees what the leader had applied when it arrived, and waits until that is durable. */
    @ParameterizedTest
    @CsvSource({"NIO,1", "NETTY,1", "NIO,4", "NETTY,4"})
    void readsAreAsNewAsTheLeaderAndHeld(Transport transport, long server) {
        start(transport);
        try (GateCase leader = new GateCase(ensemble, 2); GateCase c = new GateCase(ensemble, server)) {
            leader.createNode();
            leader.settle();
            c.settle();
            for (int round = 1; round <= 10; round++) {
                Await.until("the last round is durable here", () -> c.role.durable() >= leader.role.index.lastApplied());
                disk.stall();
                leader.set(leader.node, new byte[round]);
                CompletableFuture<Packet> read = c.getData(leader.node);
                Await.until("the read is held", () -> read.isDone() || c.role.gates.repliesHeld() == 1);
                GateCase.ok(c.other.send(OpCode.getData, new GetDataRequest(c.durable, false)));
                assertFalse(read.isDone());
                assertTrue(c.role.durable() < leader.role.index.lastApplied());
                disk.release();
                assertEquals(round, length(GateCase.ok(read)));
            }
        }
    }

    /** Nothing is flushed in the background here: the held reply itself asks for it. */
    @ParameterizedTest
    @CsvSource({"2", "1", "4"})
    void aHeldReplyAsksForAFlush(long server) {
        start(Transport.NIO, "cad.flush.interval", "60000", "cad.flush.bytes", "1000000000");
        try (GateCase leader = new GateCase(ensemble, 2)) {
            leader.createNode();
            RawClient reader = ensemble.client(server);
            for (int round = 1; round <= 10; round++) {
                leader.set(leader.node, new byte[round]);
                assertEquals(round, length(
                    GateCase.ok(reader.send(OpCode.getData, new GetDataRequest(leader.node, false)))));
            }
            reader.close();
        }
    }

    /**
     * At the longest pause between batches: writes and fresh reads through the server, and reads at the leader that
     * need other disks. Every packet that fails to hurry costs a second a round, which the limit turns into a failure.
     */
    @ParameterizedTest
    @CsvSource({"1", "4"})
    @Timeout(60)
    void whatSomebodyWaitsForDoesNotLinger(long server) {
        start(Transport.NIO, "cad.linger.ms", "1000", "cad.flush.interval", "60000", "cad.flush.bytes", "1000000000");
        try (GateCase leader = new GateCase(ensemble, 2)) {
            leader.createNode();
            RawClient client = ensemble.client(server);
            for (int round = 1; round <= 100; round++) {
                GateCase.ok(client.send(OpCode.setData, new SetDataRequest(leader.node, new byte[round], -1)));
                assertEquals(round, length(GateCase.ok(leader.getData(leader.node))));
                leader.set(leader.node, new byte[round + 1]);
                assertEquals(round + 1, length(
                    GateCase.ok(client.send(OpCode.getData, new GetDataRequest(leader.node, false)))));
            }
            client.close();
        }
    }

    /** Without its lease a leader waits for a quorum before it acknowledges; the same limit as above tells. */
    @ParameterizedTest
    @CsvSource({"2", "1"})
    @Timeout(60)
    void nothingLingersAtALeaderWithoutItsLease(long server) {
        start(Transport.NIO, "cad.durability", "eventual", "cad.reads", "any", "cad.linger.ms", "1000");
        LeaderRole leader = (LeaderRole) ensemble.role(2);
        LostLease.at(leader);
        Await.until("the lease is over", () -> !leader.mayAcknowledgeEarly());
        RawClient client = ensemble.client(server);
        for (int round = 1; round <= 100; round++) {
            GateCase.ok(client.send(OpCode.setData, new SetDataRequest("/", new byte[round], -1)));
        }
        client.close();
    }

    @ParameterizedTest
    @CsvSource({"1", "4"})
    void eventsAreHeldToo(long server) {
        start(Transport.NIO);
        try (GateCase leader = new GateCase(ensemble, 2); GateCase c = new GateCase(ensemble, server)) {
            leader.createNode();
            leader.settle();
            GateCase.ok(c.watchData(leader.node));
            Await.until("all is durable", () -> c.role.durable() >= leader.role.index.lastApplied());
            disk.stall();
            leader.setNode();
            Await.until("the event is held", () -> c.role.gates.repliesHeld() == 1);
            CompletableFuture<?> event = c.reader.event();
            assertFalse(event.isDone());
            disk.release();
            Await.get("the event", event);
        }
    }

    /** Durable writes through a follower: forwarded, logged by a quorum, answered there. */
    @ParameterizedTest
    @CsvSource({"1", "4"})
    void durableWritesAreHeldWhereTheClientIs(long server) {
        start(Transport.NIO);
        try (GateCase c = new GateCase(ensemble, server)) {
            c.settle();
            disk.stall();
            CompletableFuture<Packet> ephemeral = c.createAs(c.reader, c.node, 1);
            Await.until("the create is held", () -> c.role.gates.repliesHeld() == 1);
            c.create(c.node + "-plain");
            assertFalse(ephemeral.isDone());
            disk.release();
            GateCase.ok(ephemeral);
        }
    }

    /** One disk that stands still delays nobody: a quorum of others is durable. */
    @ParameterizedTest
    @CsvSource({"1", "2", "3"})
    void oneStalledDiskDelaysNobody(long stalled) {
        start(Transport.NIO);
        try (GateCase leader = new GateCase(ensemble, 2)) {
            leader.createNode();
            leader.settle();
            disk.stall(thread -> thread.contains("-" + stalled + "-") || thread.equals("SyncThread:" + stalled));
            leader.setNode();
            GateCase.ok(leader.getData(leader.node));
            disk.release();
        }
    }
}

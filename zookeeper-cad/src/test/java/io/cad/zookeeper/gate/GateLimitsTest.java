// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.gate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testing.Await;
import io.cad.zookeeper.testing.Disk;
import io.cad.zookeeper.testing.Ensemble;
import io.cad.zookeeper.testing.Ensemble.Transport;
import io.cad.zookeeper.testing.RawClient;
import io.cad.zookeeper.testing.Settings;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.proto.GetDataRequest;
import org.apache.zookeeper.proto.GetDataResponse;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A held reply that may not leave any more never does: its connection is closed. */
class GateLimitsTest {

    private static Settings settings(String... more) {
        return Settings.of("cad.durability", "cad", "cad.replication", "async", "cad.window.ms", "3600000",
            "cad.hold.ms", "3600000").and(more);
    }

    /** The connection of the reader ends without the reply; the others go on. */
    private static void closes(Disk disk, Ensemble ensemble, int bytes) {
        try (GateCase c = new GateCase(ensemble, 1)) {
            c.createNode();
            c.settle();
            disk.stall();
            c.set(c.node, new byte[bytes]);
            c.getData(c.node);
            Await.get("the end of the connection", c.reader.closed());
            assertEquals(List.of(), c.reader.received());
            GateCase.ok(c.other.send(OpCode.getData, new GetDataRequest(c.durable, false)));
            assertEquals(0, c.role.gates.repliesHeld());
            assertEquals(0, c.role.gates.bytesHeld());
            disk.release();
        }
    }

    @ParameterizedTest
    @EnumSource(Transport.class)
    void tooLongAHoldClosesTheConnection(Transport transport) {
        try (Disk disk = new Disk(); Settings settings = settings("cad.hold.ms", "100");
             Ensemble ensemble = Ensemble.one(transport)) {
            try {
                closes(disk, ensemble, 1);
            } finally {
                disk.release();
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Transport.class)
    void tooManyHeldBytesCloseTheConnection(Transport transport) {
        try (Disk disk = new Disk(); Settings settings = settings("cad.hold.bytes", "4096");
             Ensemble ensemble = Ensemble.one(transport)) {
            try {
                closes(disk, ensemble, 5_000);
            } finally {
                disk.release();
            }
        }
    }

    /**
     * Replies are written where they arise. What the socket does not take at once goes through the queue of the
     * connection, later replies behind it: nothing is lost, cut or overtaken.
     */
    @Test
    void repliesKeepTheirOrderBehindAFullSocket() {
        try (Settings settings = settings(); Ensemble ensemble = Ensemble.one(Transport.NIO);
             GateCase c = new GateCase(ensemble, 1)) {
            c.createNode();
            c.settle();
            c.set(c.node, new byte[300_000]);
            GateCase.ok(c.getData(c.node));
            int before = c.reader.received().size();
            for (int round = 0; round < 2; round++) {
                c.reader.pauseReading();
                List<CompletableFuture<RawClient.Packet>> replies = new ArrayList<>();
                for (int i = 0; i < 60; i++) {
                    replies.add(c.getData(c.node));
                    replies.add(c.getData(c.durable));
                }
                Await.until("a reply waits for the socket",
                    () -> ensemble.command(1, "cons").lines().anyMatch(line -> line.contains("[4]") || line.contains("[5]")));
                c.reader.resumeReading();
                for (int i = 0; i < replies.size(); i++) {
                    int length = GateCase.ok(replies.get(i)).as(new GetDataResponse()).getData().length;
                    assertEquals(i % 2 == 0, length == 300_000, "reply " + i + " has " + length + " bytes");
                }
                List<RawClient.Packet> received = c.reader.received();
                for (int i = before + 1; i < received.size(); i++) {
                    assertEquals(received.get(i - 1).header.getXid() + 1, received.get(i).header.getXid());
                }
            }
        }
    }

    /** Rule R3: a reply leaves only in the life in which it was executed. */
    @ParameterizedTest
    @EnumSource(Transport.class)
    void endOfTheRoleDiscardsHeldReplies(Transport transport) {
        try (Disk disk = new Disk(); Settings settings = settings(); Ensemble ensemble = Ensemble.one(transport)) {
            GateCase c = new GateCase(ensemble, 1);
            try {
                c.createNode();
                c.settle();
                disk.stall();
                c.setNode();
                c.getData(c.node);
                Await.until("the read is held", () -> c.role.gates.repliesHeld() == 1);
                CompletableFuture<Void> stopped = CompletableFuture.runAsync(() -> ensemble.stop(1));
                Await.get("the end of the connection", c.reader.closed());
                assertEquals(List.of(), c.reader.received());
                disk.release();
                Await.get("the end of the server", stopped);
                assertEquals(List.of(), c.reader.received());
                assertTrue(c.role.isStopped());
            } finally {
                disk.release();
            }
        }
    }
}

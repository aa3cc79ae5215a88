// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.gate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testing.Await;
import io.cad.zookeeper.testing.Disk;
import io.cad.zookeeper.testing.Ensemble;
import io.cad.zookeeper.testing.Ensemble.Transport;
import io.cad.zookeeper.testing.Settings;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.proto.GetDataRequest;
import org.apache.zookeeper.ZooDefs.OpCode;
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

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.gate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testing.Await;
import io.cad.zookeeper.testing.Disk;
import io.cad.zookeeper.testing.Ensemble;
import io.cad.zookeeper.testing.Ensemble.Transport;
import io.cad.zookeeper.testing.RawClient;
import io.cad.zookeeper.testing.RawClient.Packet;
import io.cad.zookeeper.testing.Settings;
import io.cad.zookeeper.testing.WeakPolicy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.apache.zookeeper.ClientCnxn;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.proto.ExistsRequest;
import org.apache.zookeeper.proto.GetDataRequest;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What the gate of a connection owes its client, whatever the transport. One server, so that one disk decides on D. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class GateContract {

    /** A reply left although what it shows is not durable. */
    private static final class NotHeld extends AssertionError {
        private static final long serialVersionUID = 1L;

        NotHeld(String what) {
            super("answered while D stands still: " + what);
        }
    }

    private static final long SERVER = 1;

    private final Transport transport;
    private Settings settings;
    private Disk disk;
    private Ensemble ensemble;

    GateContract(Transport transport) {
        this.transport = transport;
    }

    @BeforeAll
    void start() {
        settings = Settings.of("cad.durability", "cad", "cad.replication", "async", "cad.hold.ms", "3600000",
            "cad.window.ms", "3600000", "cad.immediate.paths", "/immediate", "zookeeper.extendedTypesEnabled", "true");
        disk = new Disk();
        WeakPolicy.install();
        ensemble = Ensemble.one(transport);
        try (GateCase c = new GateCase(ensemble, SERVER)) {
            c.create("/immediate");
        }
    }

    @AfterAll
    void stop() {
        disk.release();
        ensemble.close();
        WeakPolicy.uninstall();
        disk.close();
        settings.close();
    }

    @AfterEach
    void release() {
        WeakPolicy.strengthen();
        disk.release();
    }

    static Stream<GateRow> rows() {
        return GateRow.all().stream();
    }

    static Stream<GateRow> rowsOfThePolicy() {
        return rows().filter(row -> row.weaken() != null);
    }

    @ParameterizedTest
    @MethodSource("rows")
    void isHeldUntilDurable(GateRow row) {
        check(row);
    }

    /** The check above would notice a policy that is wrong in this one row. */
    @ParameterizedTest
    @MethodSource("rowsOfThePolicy")
    void wrongRowIsNoticed(GateRow row) {
        row.weaken().run();
        assertThrows(NotHeld.class, () -> check(row));
    }

    private void check(GateRow row) {
        try (GateCase c = new GateCase(ensemble, SERVER)) {
            try {
                row.prepare().accept(c);
                c.settle();
                disk.stall();
                row.dirty().accept(c);
                CompletableFuture<?> answer = row.ask().apply(c);
                Await.until(row + " is executed", () -> answer.isDone() || c.role.gates.repliesHeld() > 0);
                answeredAtOnce(c);
                if (answer.isDone()) {
                    throw new NotHeld(row.name());
                }
                assertTrue(c.role.durable() < c.role.index.lastApplied(), "D did not stand still");
                disk.release();
                row.check(Await.get(row.name(), answer));
            } finally {
                WeakPolicy.strengthen();
                disk.release();
            }
        }
    }

    /** What is durable is answered while D stands still: data, and the absence of what never was. */
    private static void answeredAtOnce(GateCase c) {
        GateCase.ok(c.other.send(OpCode.getData, new GetDataRequest(c.durable, false)));
        assertEquals(Code.NONODE, Await.get("exists of what never was",
            c.other.send(OpCode.exists, new ExistsRequest("/never" + c.node, false))).code());
    }

    @Test
    void writesAreAcknowledgedWhileDStandsStill() {
        try (GateCase c = new GateCase(ensemble, SERVER)) {
            c.settle();
            disk.stall();
            c.createNode();
            c.setNode();
            c.deleteNode();
            // Absence below a node whose creation may be lost is the same in either history.
            assertEquals(Code.NONODE, Await.get("exists below",
                c.other.send(OpCode.exists, new ExistsRequest(c.node + "/never", false))).code());
            assertTrue(c.role.durable() <= c.before);
            disk.release();
        }
    }

    @Test
    void repliesOfOneConnectionKeepTheirOrder() {
        try (GateCase c = new GateCase(ensemble, SERVER)) {
            c.createNode();
            c.settle();
            disk.stall();
            c.setNode();
            CompletableFuture<Packet> dirty = c.getData(c.node);
            CompletableFuture<Packet> write = c.setAs(c.reader, c.durable, new byte[2], -1);
            CompletableFuture<Packet> absent = c.exists("/never" + c.node);
            Await.until("all three are held", () -> c.role.gates.repliesHeld() == 3);
            Packet ping = Await.get("ping", c.reader.ping());
            assertEquals(List.of(ClientCnxn.PING_XID), xids(c.reader), "only the ping may pass held replies");
            assertTrue(ping.header.getZxid() <= c.before, "the ping tells of undurable changes: " + ping);
            disk.release();
            GateCase.ok(dirty);
            GateCase.ok(write);
            assertEquals(Code.NONODE, Await.get("exists", absent).code());
            assertEquals(List.of(ClientCnxn.PING_XID, 1, 2, 3), xids(c.reader));
        }
    }

    /** A client that saw its own later write would re-arm its watch above the event and never get it. */
    @Test
    void ownWriteWaitsBehindAHeldEvent() {
        try (GateCase c = new GateCase(ensemble, SERVER)) {
            c.createNode();
            GateCase.ok(c.watchData(c.node));
            c.settle();
            disk.stall();
            c.setNode();
            Await.until("the event is held", () -> c.role.gates.repliesHeld() == 1);
            CompletableFuture<Packet> own = c.setAs(c.reader, c.durable, new byte[2], -1);
            Await.until("the write is held behind it", () -> c.role.gates.repliesHeld() == 2);
            Packet ping = Await.get("ping", c.reader.ping());
            assertTrue(ping.header.getZxid() <= c.before, "the ping tells of the event: " + ping);
            assertFalse(own.isDone());
            disk.release();
            GateCase.ok(own);
            assertEquals(List.of(1, ClientCnxn.PING_XID, ClientCnxn.NOTIFICATION_XID, 2), xids(c.reader));
        }
    }

    private static List<Integer> xids(RawClient client) {
        return client.received().stream().map(packet -> packet.header.getXid()).toList();
    }

    @Test
    void headersNeverTellOfUndurableChanges() {
        try (GateCase c = new GateCase(ensemble, SERVER)) {
            c.createNode();
            c.settle();
            disk.stall();
            c.setNode();
            Packet durable = GateCase.ok(c.getData(c.durable));
            assertTrue(durable.header.getZxid() <= c.before, "a durable read tells of undurable changes: " + durable);
            Packet ping = Await.get("ping", c.reader.ping());
            assertTrue(ping.header.getZxid() <= c.before, "a ping tells of undurable changes: " + ping);
            disk.release();
            c.settle();
            Packet later = GateCase.ok(c.getData(c.node));
            assertTrue(later.header.getZxid() <= c.role.durable(), "a read tells of undurable changes: " + later);
        }
    }

    /** Another session with the same time-out, silent, expires meanwhile: so much time has gone by. */
    @Test
    void pingsKeepASessionWithHeldRepliesAlive() {
        try (GateCase c = new GateCase(ensemble, SERVER)) {
            int timeout = 1500;
            RawClient held = RawClient.open(ensemble.clientPort(SERVER), timeout);
            c.createNode();
            c.settle();
            disk.stall();
            c.setNode();
            CompletableFuture<Packet> read = held.send(OpCode.getData, new GetDataRequest(c.node, false));
            Await.until("the read is held", () -> c.role.gates.repliesHeld() == 1);
            disk.release();
            GateCase.ok(read);
            RawClient silent = RawClient.open(ensemble.clientPort(SERVER), timeout);
            c.settle();
            disk.stall();
            c.setNode();
            CompletableFuture<Packet> second = held.send(OpCode.getData, new GetDataRequest(c.node, false));
            Await.until("the silent session expires", () -> {
                Await.get("ping", held.ping());
                return silent.closed().isDone();
            });
            assertFalse(held.closed().isDone());
            assertFalse(second.isDone());
            disk.release();
            GateCase.ok(second);
            GateCase.ok(held.send(OpCode.closeSession, null));
            held.close();
            silent.close();
        }
    }

    @Test
    void operatorsSeeHeldClients() {
        try (GateCase c = new GateCase(ensemble, SERVER)) {
            c.createNode();
            c.settle();
            disk.stall();
            c.setNode();
            CompletableFuture<Packet> read = c.getData(c.node);
            Await.until("the read is held", () -> c.role.gates.repliesHeld() == 1);
            String line = lineOf(c.reader);
            assertTrue(line.contains("held=1"), line);
            assertTrue(ensemble.command(SERVER, "mntr").contains("zk_cad_held_now\t1"));
            disk.release();
            GateCase.ok(read);
            // The bytes are on their way before the account of the connection is.
            Await.until("nothing is held", () -> !lineOf(c.reader).contains("held="));
        }
    }

    /** Held replies count against the client's limit until they leave. */
    @Test
    void heldRepliesCountAsOutstanding() {
        try (GateCase c = new GateCase(ensemble, SERVER)) {
            c.createNode();
            c.settle();
            disk.stall();
            c.setNode();
            List<CompletableFuture<Packet>> reads = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                reads.add(c.getData(c.node));
            }
            Await.until("all are held", () -> c.role.gates.repliesHeld() == 5);
            Await.until("held replies are outstanding", () -> lineOf(c.reader).contains("queued=5"));
            disk.release();
            reads.forEach(GateCase::ok);
            Await.until("nothing is outstanding", () -> lineOf(c.reader).contains("queued=0"));
        }
    }

    private String lineOf(RawClient client) {
        String session = "sid=0x" + Long.toHexString(client.session());
        return ensemble.command(SERVER, "cons").lines().filter(line -> line.contains(session)).findFirst().orElse("");
    }

    @Test
    void oneHeldSessionDelaysNobody() {
        try (GateCase c = new GateCase(ensemble, SERVER)) {
            c.createNode();
            c.settle();
            disk.stall();
            c.setNode();
            CompletableFuture<Packet> held = c.getData(c.node);
            Await.until("the read is held", () -> c.role.gates.repliesHeld() == 1);
            int done = 0;
            for (int i = 0; i < 200; i++) {
                GateCase.ok(c.other.send(OpCode.getData, new GetDataRequest(c.durable, false)));
                GateCase.ok(c.setAs(c.writer, c.node, new byte[] {(byte) i}, -1));
                done += 2;
            }
            assertEquals(400, done);
            assertFalse(held.isDone());
            disk.release();
            assertEquals(1, GateCase.ok(held).as(new org.apache.zookeeper.proto.GetDataResponse()).getData().length);
        }
    }

    /** The reply shows the state at its execution, not at its release. */
    @Test
    void bytesAreHeldNotTheRequest() {
        try (GateCase c = new GateCase(ensemble, SERVER)) {
            c.createNode();
            c.settle();
            disk.stall();
            c.set(c.node, new byte[10]);
            CompletableFuture<Packet> held = c.getData(c.node);
            Await.until("the read is held", () -> c.role.gates.repliesHeld() == 1);
            c.set(c.node, new byte[20]);
            disk.release();
            assertEquals(10, GateCase.ok(held).as(new org.apache.zookeeper.proto.GetDataResponse()).getData().length);
        }
    }
}

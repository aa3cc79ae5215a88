// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.gate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.cad.zookeeper.testing.Await;
import io.cad.zookeeper.testing.Disk;
import io.cad.zookeeper.testing.Ensemble;
import io.cad.zookeeper.testing.Ensemble.Transport;
import io.cad.zookeeper.testing.RawClient.Packet;
import io.cad.zookeeper.testing.Settings;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Quotas;
import org.apache.zookeeper.server.ZooKeeperServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Refusals that upstream answers past the last processor, or by a quota, show state too: they wait for it. */
class HeldRefusalsTest {

    private static final int READ = 1;

    private final boolean eager = ZooKeeperServer.isEnableEagerACLCheck();

    @AfterEach
    void restore() {
        ZooKeeperServer.setEnableEagerACLCheck(eager);
    }

    private static void waits(Transport transport, Consumer<GateCase> prepare, Consumer<GateCase> change,
                              Function<GateCase, CompletableFuture<Packet>> ask, Code refusal) {
        try (Disk disk = new Disk();
             Settings settings = Settings.of("cad.durability", "cad", "cad.replication", "async",
                 "cad.window.ms", "3600000", "cad.hold.ms", "3600000");
             Ensemble ensemble = Ensemble.one(transport)) {
            try (GateCase c = new GateCase(ensemble, 1)) {
                prepare.accept(c);
                c.settle();
                disk.stall();
                change.accept(c);
                CompletableFuture<Packet> reply = ask.apply(c);
                Await.until("the refusal is held", () -> c.role.gates.repliesHeld() == 1);
                assertFalse(reply.isDone());
                disk.release();
                assertEquals(refusal, Await.get("the refusal", reply).code());
            } finally {
                disk.release();
            }
        }
    }

    /** The check before the pipeline, at the server that the client is connected to. */
    @ParameterizedTest
    @EnumSource(Transport.class)
    void eagerAclCheck(Transport transport) {
        ZooKeeperServer.setEnableEagerACLCheck(true);
        waits(transport, GateCase::createNode, c -> c.setAcl(READ),
            c -> c.setAs(c.other, c.node, new byte[1], -1), Code.NOAUTH);
    }

    /** The tests run with zookeeper.enforceQuota=true. */
    @ParameterizedTest
    @EnumSource(Transport.class)
    void exceededQuota(Transport transport) {
        waits(transport, c -> {
            c.createQuota();
            c.set(Quotas.limitPath(c.node), "count=-1,bytes=-1=;byteHardLimit=50;countHardLimit=-1".getBytes());
        }, c -> c.set(c.node, new byte[40]),
            c -> c.setAs(c.other, c.node, new byte[90], -1), Code.QUOTAEXCEEDED);
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.cad.zookeeper.config.Mode;
import io.cad.zookeeper.role.LeaderRole;
import io.cad.zookeeper.testing.Await;
import io.cad.zookeeper.testing.Disk;
import io.cad.zookeeper.testing.Ensemble;
import io.cad.zookeeper.testing.Ensemble.Transport;
import io.cad.zookeeper.testing.RawClient;
import io.cad.zookeeper.testing.RawClient.Packet;
import io.cad.zookeeper.testing.Settings;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.proto.CreateRequest;
import org.apache.zookeeper.proto.GetDataRequest;
import org.apache.zookeeper.proto.SyncRequest;
import org.apache.zookeeper.server.quorum.Follower;
import org.apache.zookeeper.server.quorum.Leader;
import org.apache.zookeeper.server.quorum.Learner;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** Peers with stock classes and peers with ours in one ensemble: the handshake, and who counts for what. */
class MixedEnsembleTest {

    private static CompletableFuture<Packet> create(RawClient client, String path) {
        return client.send(OpCode.create, new CreateRequest(path, new byte[1], ZooDefs.Ids.OPEN_ACL_UNSAFE, 0));
    }

    private static void ok(CompletableFuture<Packet> reply) {
        Packet packet = Await.get("a request", reply);
        assertEquals(Code.OK, packet.code(), packet::toString);
    }

    @Test
    void stockFollowerWorksAndCountsForNoDurableIndex() {
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        Logger logger = (Logger) LoggerFactory.getLogger(Learner.class);
        logger.addAppender(log);
        try (Settings settings = Settings.of("cad.durability", "cad", "cad.replication", "async");
             Ensemble ensemble = new Ensemble(Transport.NIO, 3, 0).start(1L, 2L)) {
            long leader = ensemble.leader();
            settings.clearCad();
            ensemble.start(3);
            assertSame(Follower.class, ensemble.peer(3).follower.getClass());
            RawClient atStock = ensemble.client(3);
            ok(create(atStock, "/from-stock"));
            RawClient atLeader = ensemble.client(leader);
            ok(atLeader.send(OpCode.getData, new GetDataRequest("/from-stock", false)));
            ok(create(atLeader, "/from-leader"));
            ok(atStock.send(OpCode.sync, new SyncRequest("/")));
            ok(atStock.send(OpCode.getData, new GetDataRequest("/from-leader", false)));
            assertEquals(Set.of(3 - leader), ((LeaderRole) ensemble.role(leader)).persistedByServer().keySet());
            // It was sent nothing that it does not know (H16).
            assertEquals(List.of(), List.copyOf(log.list).stream().map(ILoggingEvent::getFormattedMessage)
                    .filter(message -> message.contains("Unknown packet")).collect(Collectors.toList()));
            atStock.close();
            atLeader.close();
        } finally {
            logger.detachAppender(log);
        }
    }

    /** A stock leader takes an acknowledgement for durable, so ours comes after the sync. */
    @Test
    void ourFollowerAcknowledgesToAStockLeaderAfterItsSync() {
        try (Disk disk = new Disk(); Settings settings = Settings.of();
             Ensemble ensemble = new Ensemble(Transport.NIO, 3, 0).start(1L, 2L)) {
            long leader = ensemble.leader();
            assertSame(Leader.class, ensemble.peer(leader).leader.getClass());
            settings.and("cad.durability", "cad", "cad.replication", "async");
            ensemble.start(3);
            assertEquals("CadFollower", ensemble.peer(3).follower.getClass().getSimpleName());
            assertEquals(Mode.STOCK, ensemble.role(3).mode);
            settings.clearCad();
            ensemble.stop(3 - leader);
            try {
                RawClient client = ensemble.client(leader);
                RawClient other = ensemble.client(leader);
                disk.stall();
                CompletableFuture<Packet> write = create(client, "/node");
                Await.until("the sync of our follower waits", () -> disk.waiting() > 0);
                ok(other.send(OpCode.getData, new GetDataRequest("/", false)));
                assertFalse(write.isDone());
                disk.release();
                ok(write);
                client.close();
                other.close();
            } finally {
                disk.release();
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.testing.Await;
import io.cad.zookeeper.testing.Ensemble;
import io.cad.zookeeper.testing.Ensemble.Transport;
import io.cad.zookeeper.testing.RawClient;
import io.cad.zookeeper.testing.Settings;
import java.util.List;
import java.util.concurrent.CompletionException;
import org.apache.zookeeper.server.ZooKeeperServer;
import org.apache.zookeeper.server.quorum.LearnerHandler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** Who is let in: voters by the leader, clients by each server. */
class AdmissionTest {

    private static final int SESSION = 600_000;

    // ---- H13: clients that have seen more than there is

    /** A new epoch, in which nothing is written. */
    private static void restart(Ensemble ensemble) {
        for (long id = 1; id <= 3; id++) {
            ensemble.stop(id);
        }
        ensemble.startAll();
    }

    private static RawClient connect(Ensemble ensemble, long server, long seen) {
        return RawClient.opening(ensemble.clientPort(server), SESSION, 0, new byte[16], seen);
    }

    /** As a reply to a write that only a dead leader held: same epoch, never to be seen again. */
    private static long lostIndex(Ensemble ensemble) {
        long epoch = Indices.epoch(ensemble.server(ensemble.leader()).getZKDatabase()
            .getDataTreeLastProcessedZxid());
        return Indices.of(epoch, 1_000_000);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void aClientThatSawALostWriteIsServedByEveryIdleServer(long server) {
        try (Settings settings = Settings.of("cad.durability", "cad", "cad.replication", "async");
             Ensemble ensemble = new Ensemble(Transport.NIO, 3, 0).startAll()) {
            long lost = lostIndex(ensemble);
            restart(ensemble);
            try (RawClient client = connect(ensemble, server, lost)) {
                Await.get("the session", client.connected());
            }
        }
    }

    /** The control: a stock follower turns it away until something is written. */
    @Test
    void stockTurnsItAwayAtAFollower() {
        try (Settings settings = Settings.of();
             Ensemble ensemble = new Ensemble(Transport.NIO, 3, 0).startAll()) {
            long lost = lostIndex(ensemble);
            restart(ensemble);
            try (RawClient client = connect(ensemble, ensemble.follower(), lost)) {
                Await.get("the end of the connection", client.closed());
                assertTrue(client.connected().isCompletedExceptionally());
            }
        }
    }

    // ---- cad.strict

    @Test
    void aStrictLeaderRefusesAStockVoter() {
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        Logger handler = (Logger) LoggerFactory.getLogger(LearnerHandler.class);
        log.start();
        handler.addAppender(log);
        try (Settings settings = Settings.of("cad.durability", "cad", "cad.strict", "true");
             Ensemble ensemble = new Ensemble(Transport.NIO, 3, 0).start(1L, 2L)) {
            settings.clearCad();
            ensemble.launch(3);
            Await.until("the stock voter was refused twice", () -> refusals(log) >= 2);
            ZooKeeperServer refused = ensemble.server(3);
            assertTrue(refused == null || !refused.isRunning(), "it serves nobody");
            assertTrue(ensemble.server(ensemble.leader()).isRunning());
        } finally {
            handler.detachAppender(log);
        }
    }

    private static long refusals(ListAppender<ILoggingEvent> log) {
        return List.copyOf(log.list).stream().filter(event -> event.getThrowableProxy() != null
            && event.getThrowableProxy().getMessage().contains("cad.strict=true: server 3 is a stock voter")).count();
    }

    // ---- observers

    @ParameterizedTest
    @ValueSource(strings = {"sync", "refuse"})
    void anObserverTakesClientsUnlessToldToRefuse(String reads) {
        try (Settings settings = Settings.of("cad.durability", "cad", "cad.observer.reads", reads);
             Ensemble ensemble = new Ensemble(Transport.NIO, 3, 1).startAll()) {
            try (RawClient client = RawClient.opening(ensemble.clientPort(4), SESSION)) {
                if (reads.equals("sync")) {
                    Await.get("the session", client.connected());
                } else {
                    Await.get("the end of the connection", client.closed());
                    assertThrows(CompletionException.class, client::session);
                }
            }
            assertFalse(ensemble.client(1).closed().isDone(), "voters take clients");
        }
    }
}

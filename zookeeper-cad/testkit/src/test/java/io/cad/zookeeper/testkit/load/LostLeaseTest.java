// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.load;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testkit.Await;
import io.cad.zookeeper.testkit.Ensemble;
import io.cad.zookeeper.testkit.EnsembleConfig;
import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.ServerBuild;
import io.cad.zookeeper.testkit.ServerProcess;
import java.io.EOFException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A follower with a thousand clients loses its lease for long: they are sent away, but not all at once. */
@Timeout(180)
class LostLeaseTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final int CLIENTS = 1_000;
    /** Reads wait so long, then they end one after the other within five times that. */
    private static final int WAIT_MILLIS = 1_000;
    /** How often the server looks is tens of times as many; a machine that stands still lets some looks coincide. */
    private static final int LEAST_PORTIONS = 10;

    @Test
    void aThousandClientsAreSentAwayInManyPortions() throws Exception {
        try (RunDirectory run = RunDirectory.create("lost-lease")) {
            Ensemble ensemble = Ensemble.start(run, new EnsembleConfig(ServerBuild.product(), 3)
                    // The leader will be paused: nobody shall look for another one meanwhile.
                    .cfg("syncLimit", "120")
                    .cfg("cad.durability", "cad").cfg("cad.reads", "active-set")
                    .cfg("cad.nolease.wait", Integer.toString(WAIT_MILLIS)));
            ServerProcess leader = ensemble.awaitLeader(LIMIT);
            ServerProcess follower = ensemble.servers().stream().filter(server -> server != leader).findFirst().orElseThrow();
            awaitReads(follower, true);
            List<WireSession> clients = WireSession.openAll(CLIENTS, follower.connectString(), LIMIT);
            leader.pause();
            try {
                awaitReads(follower, false);
                for (WireSession client : clients) {
                    client.ask("/");
                }
                for (WireSession client : clients) {
                    assertEquals(0, client.awaitEnd(), "a read was answered without a lease");
                }
                // Who comes back now is turned away at once.
                assertThrows(EOFException.class, () -> new WireSession(follower.connectString(), LIMIT));
                assertSentAwayInPortions(follower.metrics());
            } finally {
                leader.resume();
            }
            awaitReads(follower, true);
            new WireSession(follower.connectString(), LIMIT).close();
            for (WireSession client : clients) {
                client.close();
            }
            run.closeAndDelete();
        }
    }

    private static void awaitReads(ServerProcess server, boolean may) throws Exception {
        Await.until("server " + server.id() + (may ? " to have" : " to lose") + " its lease", LIMIT,
                () -> Boolean.toString(may).equals(server.cad().get("may_answer_reads")), server::toString);
    }

    private static void assertSentAwayInPortions(Map<String, String> metrics) {
        double clients = Double.parseDouble(metrics.get("sum_cad_clients_sent_away"));
        double portions = Double.parseDouble(metrics.get("cnt_cad_clients_sent_away"));
        double largest = Double.parseDouble(metrics.get("max_cad_clients_sent_away"));
        String all = (int) clients + " clients in " + (int) portions + " portions, the largest of " + (int) largest;
        System.out.println(all);
        assertEquals(CLIENTS, clients, all);
        assertTrue(portions >= LEAST_PORTIONS && largest <= CLIENTS / 2, all);
    }
}

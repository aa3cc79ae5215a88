// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testkit.disk.FiDisk;
import io.cad.zookeeper.testkit.history.Findings;
import io.cad.zookeeper.testkit.history.HistoryChecker;
import io.cad.zookeeper.testkit.history.Op;
import io.cad.zookeeper.testkit.load.LoadGenerator;
import io.cad.zookeeper.testkit.load.LoadSpec;
import io.cad.zookeeper.testkit.load.Slice;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Five servers whose followers all answer reads, clients that stay with one server each, and a schedule of pauses, deaths
 * and a power loss: nobody reads an older state after anybody has read a newer one. The same schedule convicts servers
 * that acknowledge early and answer reads unchecked.
 */
@Timeout(280)
class ActiveSetFaultsTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final int SERVERS = 5;
    /** Shorter than a read lease; longer than it takes to remove a silent member. */
    private static final long[] PAUSES = {80, 600};
    private static final long BETWEEN_FAULTS = 700;
    private static final LoadSpec LOAD = new LoadSpec(10, 50, 100, 0.99, 0.7, 0.7, 17);

    private static final class Run implements AutoCloseable {
        final RunDirectory directory = RunDirectory.create("active-set");
        final Ensemble ensemble;
        final List<Op> ops = new ArrayList<>();
        private int generation;

        Run(String... pairs) throws Exception {
            EnsembleConfig config = new EnsembleConfig(ServerBuild.product(), SERVERS).cfg("syncLimit", "4")
                    .disks(FiDisk.provider(null, false, LOAD.seed()));
            for (int i = 0; i < pairs.length; i += 2) {
                config.cfg(pairs[i], pairs[i + 1]);
            }
            ensemble = Ensemble.start(directory, config);
        }

        LoadGenerator open() throws Exception {
            return LoadGenerator.open(LOAD, ensemble.servers(), generation++);
        }

        private ServerProcess follower(ServerProcess leader) {
            return ensemble.servers().stream().filter(server -> server != leader).findFirst().orElseThrow();
        }

        /** Faults under load, with new sessions between the two halves; then the power loss. */
        Findings faults() throws Exception {
            try (LoadGenerator load = open()) {
                load.populate();
                load.begin(true);
                for (long pause : PAUSES) {
                    pause(follower(ensemble.awaitLeader(LIMIT)), pause);
                    pause(ensemble.awaitLeader(LIMIT), pause);
                }
                ops.addAll(load.end().ops());
            }
            try (LoadGenerator load = open()) {
                load.begin(true);
                ServerProcess victim = follower(ensemble.awaitLeader(LIMIT));
                victim.kill();
                victim.awaitEnd();
                Thread.sleep(BETWEEN_FAULTS);
                victim.start();
                ensemble.awaitServing(LIMIT);
                depose(ensemble.awaitLeader(LIMIT));
                awaitReadsEverywhere();
                long loss = System.nanoTime();
                ensemble.powerLoss();
                ops.addAll(load.end().ops());
                long restart = System.nanoTime();
                ensemble.startAll();
                try (LoadGenerator after = open()) {
                    after.sync();
                    ops.addAll(after.readAll());
                }
                return HistoryChecker.check(ops, loss, restart);
            }
        }

        private void pause(ServerProcess server, long millis) throws Exception {
            server.pause();
            Thread.sleep(millis);
            server.resume();
            Thread.sleep(BETWEEN_FAULTS);
        }

        /** Pauses the leader until another one is in office. */
        private void depose(ServerProcess leader) throws Exception {
            leader.pause();
            try {
                Await.until("another leader", LIMIT, () -> ensemble.servers().stream()
                        .anyMatch(server -> server != leader && server.mode().equals("leader")), () -> "none");
                Thread.sleep(BETWEEN_FAULTS);
            } finally {
                leader.resume();
            }
        }

        /** Each server answers reads again. */
        void awaitReadsEverywhere() throws Exception {
            for (ServerProcess server : ensemble.servers()) {
                Await.until("server " + server.id() + " to answer reads", LIMIT, () -> {
                    ZooKeeper client = Clients.connect(server.connectString(), LIMIT, Duration.ofSeconds(10));
                    try {
                        client.getData("/load", false, null);
                    } finally {
                        client.close(1_000);
                    }
                    return true;
                }, ensemble::toString);
            }
        }

        @Override
        public void close() throws Exception {
            directory.close();
        }
    }

    private static void faultsAreNotSeen(String... pairs) throws Exception {
        try (Run run = new Run(pairs)) {
            Findings findings = run.faults();
            assertTrue(findings.ackedWrites() > 0 && findings.freshValuesRead() > 0, findings.toString());
            assertEquals(0, findings.readsBackwards(), findings.toString());
            assertEquals(0, findings.readUpdatesLost(), findings.toString());
            run.directory.closeAndDelete();
        }
    }

    @Test
    void nobodyReadsAnOlderStateAfterANewerOneWasRead() throws Exception {
        faultsAreNotSeen("cad.durability", "cad", "cad.replication", "sync", "cad.reads", "active-set");
    }

    @Test
    void uncheckedReadsGoBackOnTheSameSchedule() throws Exception {
        try (Run run = new Run("cad.durability", "eventual", "cad.replication", "sync", "cad.reads", "any")) {
            Findings findings = run.faults();
            assertTrue(findings.readsBackwards() > 0, "the control was not convicted: " + findings);
            run.directory.closeAndDelete();
        }
    }

    /** With nothing written, a follower answers practically every read without asking anybody. */
    @Test
    void inSteadyStateFollowersAnswerByThemselves() throws Exception {
        // Five busy servers share two cores here: a heartbeat may be late, which is not what this is about.
        try (Run run = new Run("cad.durability", "cad", "cad.reads", "active-set", "cad.heartbeat", "100", "cad.lease",
                "3000", "cad.leader.lease", "2000")) {
            try (LoadGenerator load = run.open()) {
                load.populate();
                load.runFor(Duration.ofSeconds(1), false);
                load.mix(1, 0);
                Map<Integer, double[]> before = counters(run.ensemble);
                Slice slice = load.runFor(Duration.ofSeconds(3), false);
                assertEquals(0, slice.errors());
                Map<Integer, double[]> after = counters(run.ensemble);
                after.forEach((server, counts) -> {
                    double reads = counts[0] - before.get(server)[0];
                    double held = counts[1] - before.get(server)[1];
                    assertTrue(reads > 100, "server " + server + " answered " + reads + " reads");
                    assertTrue(held <= reads / 100, "server " + server + " asked for " + held + " of " + reads + " reads");
                });
            }
            run.directory.closeAndDelete();
        }
    }

    /** Reads, and those of them that met something undurable, by server. */
    private static Map<Integer, double[]> counters(Ensemble ensemble) throws Exception {
        Map<Integer, double[]> counters = new TreeMap<>();
        for (ServerProcess server : ensemble.servers()) {
            Map<String, String> metrics = server.metrics();
            counters.put(server.id(), new double[] {Double.parseDouble(metrics.get("cad_reads")),
                Double.parseDouble(metrics.get("cad_reads_held"))});
        }
        return counters;
    }
}

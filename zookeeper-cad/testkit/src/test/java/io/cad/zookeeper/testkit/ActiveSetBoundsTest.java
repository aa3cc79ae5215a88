// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testkit.disk.Disk;
import io.cad.zookeeper.testkit.disk.FiDisk;
import io.cad.zookeeper.testkit.history.Findings;
import io.cad.zookeeper.testkit.history.HistoryChecker;
import io.cad.zookeeper.testkit.history.Op;
import io.cad.zookeeper.testkit.load.LoadGenerator;
import io.cad.zookeeper.testkit.load.LoadSpec;
import io.cad.zookeeper.testkit.load.WireSession;
import java.io.EOFException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Two of five servers may answer reads, and which ones the operator prefers: less than a quorum. The others answer
 * nobody, the next in the order steps in for one that is gone, and no power loss takes away what the two have shown.
 */
@Timeout(240)
class ActiveSetBoundsTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final int SERVERS = 5;
    private static final int ACTIVE = 2;
    private static final List<Integer> PREFERRED = List.of(3, 1, 2);
    private static final LoadSpec LOAD = new LoadSpec(10, 50, 100, 0.99, 0.7, 0.7, 31);

    private static final class Run {
        final Ensemble ensemble;
        final List<Op> ops = new ArrayList<>();
        private int generation;

        Run(RunDirectory directory, String durability, String reads) throws Exception {
            ensemble = Ensemble.create(directory, new EnsembleConfig(ServerBuild.product(), SERVERS).cfg("syncLimit", "4")
                    .cfg("cad.durability", durability).cfg("cad.replication", "sync").cfg("cad.reads", reads)
                    .cfg("cad.active.set.max", Integer.toString(ACTIVE))
                    .cfg("cad.active.set.servers", PREFERRED.stream().map(Object::toString).collect(Collectors.joining(",")))
                    // Durable is only what somebody had to wait for.
                    .cfg("cad.flush.interval", "60000").cfg("cad.flush.bytes", "1000000000").cfg("cad.window.ms", "60000")
                    .disks(FiDisk.provider(null, false, LOAD.seed())));
        }

        /** All servers; most of them will not take a client. */
        void start() throws Exception {
            for (ServerProcess server : ensemble.servers()) {
                server.start();
            }
        }

        /** The leader and, of the servers that run, the one preferred to all others. */
        private Set<Integer> preferred(ServerProcess leader) {
            Set<Integer> servers = new TreeSet<>(Set.of(leader.id()));
            PREFERRED.stream().filter(id -> id != leader.id() && ensemble.server(id).isRunning()).findFirst()
                    .ifPresent(servers::add);
            return servers;
        }

        /** These two are the active set. */
        Set<Integer> awaitPreferred() throws Exception {
            ServerProcess leader = ensemble.awaitLeader(LIMIT);
            Set<Integer> active = preferred(leader);
            Await.until("the active set to be " + active, LIMIT, () -> leader.cadServers("active_set").equals(active)
                    && leader.metrics().get("cad_active_set_size").equals(Integer.toString(ACTIVE)), ensemble::toString);
            return active;
        }

        /** The same two where every server may answer reads. */
        Set<Integer> awaitAll() throws Exception {
            ensemble.awaitServing(LIMIT);
            return preferred(ensemble.awaitLeader(LIMIT));
        }

        private LoadGenerator open(Set<Integer> servers) throws Exception {
            return LoadGenerator.open(LOAD, servers.stream().map(ensemble::server).collect(Collectors.toList()), generation++);
        }

        /** Clients of two servers write and read until all five lose their power; afterwards everything is read again. */
        Findings losePower(Set<Integer> servers, Callable<Set<Integer>> restarted) throws Exception {
            Disk.Loss lost;
            long loss;
            try (LoadGenerator load = open(servers)) {
                load.populate();
                load.begin(true);
                ServerProcess reader = ensemble.server(PREFERRED.stream().filter(servers::contains).findFirst().orElseThrow());
                Await.until("reads", LIMIT, () -> Double.parseDouble(reader.metrics().get("cnt_readlatency")) > 500,
                        ensemble::toString);
                loss = System.nanoTime();
                lost = ensemble.powerLoss();
                ops.addAll(load.end().ops());
            }
            long restart = System.nanoTime();
            start();
            try (LoadGenerator after = open(restarted.call())) {
                after.sync();
                ops.addAll(after.readAll());
            }
            Findings findings = HistoryChecker.check(ops, loss, restart);
            System.out.println(findings);
            assertTrue(lost.bytes() > 0, "the power loss took nothing");
            assertTrue(findings.ackedWrites() > 0 && findings.freshValuesRead() > 0, findings.toString());
            return findings;
        }

        /** New clients of the others are turned away. */
        void assertTheOthersAnswerNobody(Set<Integer> active) throws Exception {
            for (ServerProcess server : ensemble.servers()) {
                if (active.contains(server.id())) {
                    continue;
                }
                Await.until("server " + server.id() + " to follow", LIMIT, () -> server.cad().containsKey("may_answer_reads"),
                        ensemble::toString);
                assertEquals("0", server.cad().get("lease_ms"));
                assertEquals("false", server.cad().get("may_answer_reads"));
                Await.until("server " + server.id() + " to turn clients away", LIMIT, () -> {
                    try (WireSession taken = new WireSession(server.connectString(), LIMIT)) {
                        return false;
                    } catch (EOFException e) {
                        return true;
                    }
                }, ensemble::toString);
            }
        }
    }

    @Test
    void aSetSmallerThanAQuorumShowsNothingThatAPowerLossTakesAway() throws Exception {
        try (RunDirectory directory = RunDirectory.create("active-set-bounds")) {
            Run run = new Run(directory, "cad", "active-set");
            run.start();
            Set<Integer> active = run.awaitPreferred();
            run.assertTheOthersAnswerNobody(active);
            Findings findings = run.losePower(active, run::awaitPreferred);
            assertEquals(0, findings.readsBackwards(), findings.toString());
            assertEquals(0, findings.readUpdatesLost(), findings.toString());

            stepsInAndBack(run);
            directory.closeAndDelete();
        }
    }

    /** Control: the same load and power loss where a read waits for nothing (an active set is refused in that mode). */
    @Test
    void withEventualDurabilityThatPowerLossTakesAwayWhatWasShown() throws Exception {
        try (RunDirectory directory = RunDirectory.create("active-set-bounds-control")) {
            Run run = new Run(directory, "eventual", "any");
            run.start();
            Findings findings = run.losePower(run.awaitAll(), run::awaitAll);
            assertTrue(findings.readsBackwardsAcross() > 0, findings.toString());
            assertTrue(findings.readUpdatesLost() > 0, findings.toString());
            directory.closeAndDelete();
        }
    }

    /** The member that is no leader dies; the next in the order takes its place, and gives it back. */
    private static void stepsInAndBack(Run run) throws Exception {
        Set<Integer> active = run.awaitPreferred();
        ServerProcess leader = run.ensemble.awaitLeader(LIMIT);
        ServerProcess member = run.ensemble.server(active.stream().filter(id -> id != leader.id()).findFirst().orElseThrow());
        run.ensemble.kill(List.of(member));
        run.awaitPreferred();
        member.start();
        run.awaitPreferred();
        assertTrue(Double.parseDouble(leader.metrics().get("preference_cad_active_set_told_to_leave")) > 0);
    }
}

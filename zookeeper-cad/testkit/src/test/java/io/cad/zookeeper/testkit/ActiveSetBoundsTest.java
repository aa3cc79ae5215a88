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

        Run(RunDirectory directory) throws Exception {
            ensemble = Ensemble.create(directory, new EnsembleConfig(ServerBuild.product(), SERVERS).cfg("syncLimit", "4")
                    .cfg("cad.durability", "cad").cfg("cad.replication", "sync").cfg("cad.reads", "active-set")
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
        Set<Integer> awaitPreferred() throws Exception {
            ServerProcess leader = ensemble.awaitLeader(LIMIT);
            Set<Integer> active = new TreeSet<>(Set.of(leader.id()));
            PREFERRED.stream().filter(id -> id != leader.id() && ensemble.server(id).isRunning()).findFirst()
                    .ifPresent(active::add);
            Await.until("the active set to be " + active, LIMIT, () -> leader.cadServers("active_set").equals(active)
                    && leader.metrics().get("cad_active_set_size").equals(Integer.toString(ACTIVE)), ensemble::toString);
            return active;
        }

        LoadGenerator open(Set<Integer> active) throws Exception {
            return LoadGenerator.open(LOAD, active.stream().map(ensemble::server).collect(Collectors.toList()), generation++);
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
            Run run = new Run(directory);
            run.start();
            Set<Integer> active = run.awaitPreferred();
            run.assertTheOthersAnswerNobody(active);
            Disk.Loss lost;
            long loss;
            try (LoadGenerator load = run.open(active)) {
                load.populate();
                load.begin(true);
                ServerProcess reader = run.ensemble.server(PREFERRED.stream().filter(active::contains).findFirst().orElseThrow());
                Await.until("reads", LIMIT, () -> Double.parseDouble(reader.metrics().get("cad_reads")) > 500,
                        run.ensemble::toString);
                loss = System.nanoTime();
                lost = run.ensemble.powerLoss();
                run.ops.addAll(load.end().ops());
            }
            long restart = System.nanoTime();
            run.start();
            try (LoadGenerator after = run.open(run.awaitPreferred())) {
                after.sync();
                run.ops.addAll(after.readAll());
            }
            Findings findings = HistoryChecker.check(run.ops, loss, restart);
            System.out.println(findings);
            assertTrue(lost.bytes() > 0, "the power loss took nothing");
            assertTrue(findings.ackedWrites() > 0 && findings.freshValuesRead() > 0, findings.toString());
            assertEquals(0, findings.readsBackwards(), findings.toString());
            assertEquals(0, findings.readUpdatesLost(), findings.toString());

            stepsInAndBack(run);
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

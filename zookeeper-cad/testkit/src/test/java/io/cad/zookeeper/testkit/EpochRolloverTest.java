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
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * An epoch has 32 bits for its changes. When they run out the leader ends its role in the middle of the load, with
 * changes that it has acknowledged early. After several epochs that ended so, a follower that was killed among them,
 * and the loss of everybody's power, nothing that was read is lost.
 */
@Timeout(240)
class EpochRolloverTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    /** Changes for which each epoch has room. */
    private static final long ROOM = 3_000;
    private static final int EPOCHS = 2;
    private static final LoadSpec LOAD = new LoadSpec(10, 50, 100, 0.99, 0.5, 0.7, 37);

    /** Upstream's setting for this purpose lets every epoch begin shortly before its end. */
    private static Ensemble start(RunDirectory run, Map<String, String> mode) throws Exception {
        return Ensemble.start(run, new EnsembleConfig(ServerBuild.product(), 3).cfg(mode)
                // Durable is only what somebody had to wait for.
                .cfg("cad.flush.interval", "60000").cfg("cad.flush.bytes", "1000000000").cfg("cad.window.ms", "60000")
                .jvmFlags("-Dzookeeper.testingonly.initialZxid=" + (0xffff_ffffL - ROOM))
                .disks(FiDisk.provider(null, true, LOAD.seed())));
    }

    /** The power is lost when the leader has so many bytes that are not durable. */
    private static Findings rollsOver(Ensemble ensemble, int undurable) throws Exception {
        List<Op> ops = new ArrayList<>();
        Disk.Loss lost;
        long loss;
        try (LoadGenerator load = LoadGenerator.open(LOAD, ensemble.servers(), 0)) {
            load.populate();
            load.begin(true);
            awaitEpochs(ensemble, EPOCHS);
            ServerProcess leader = ensemble.awaitLeader(LIMIT);
            ServerProcess follower = ensemble.others(leader).get(0);
            follower.kill();
            follower.awaitEnd();
            follower.start();
            // It may have to begin anew: elections go on.
            Await.until("the follower to be back", LIMIT, () -> !follower.mode().isEmpty(), ensemble::toString);
            awaitEpochs(ensemble, EPOCHS);
            assertEquals(Map.of(), mismatches(ensemble));
            // Not between two epochs: the end of a role syncs.
            Await.until("changes that are not durable", LIMIT, () -> undurable(ensemble) >= undurable, ensemble::toString);
            loss = System.nanoTime();
            lost = ensemble.powerLoss();
            ops.addAll(load.end().ops());
        }
        long restart = System.nanoTime();
        ensemble.startAll();
        try (LoadGenerator after = LoadGenerator.open(LOAD, ensemble.servers(), 1)) {
            after.sync();
            ops.addAll(after.readAll());
        }
        assertEquals(List.of(), Trees.differences(ensemble.servers()));
        assertEquals(Map.of(), mismatches(ensemble));
        assertTrue(lost.bytes() > 0, "the power loss took nothing");
        Findings findings = HistoryChecker.check(ops, loss, restart);
        System.out.println("after " + epoch(ensemble.awaitLeader(LIMIT)) + " epochs: " + findings);
        return findings;
    }

    /** Waits until so many further epochs have ended because they were full. */
    private static void awaitEpochs(Ensemble ensemble, int epochs) throws Exception {
        long end = epoch(ensemble.awaitLeader(LIMIT)) + epochs;
        Await.until(epochs + " epochs to end", LIMIT, () -> {
            ServerProcess leader = ensemble.leader().orElse(null);
            return leader != null && epoch(leader) >= end;
        }, ensemble::toString);
    }

    private static double undurable(Ensemble ensemble) throws Exception {
        ServerProcess leader = ensemble.leader().orElse(null);
        return leader == null ? 0 : Double.parseDouble(leader.metrics().getOrDefault("cad_undurable_bytes", "0"));
    }

    private static long epoch(ServerProcess server) throws Exception {
        String last = server.fourLetterWord("srvr").lines().filter(line -> line.startsWith("Zxid: 0x")).findFirst()
                .orElse("Zxid: 0x0").substring("Zxid: 0x".length());
        return Long.parseLong(last, 16) >> 32;
    }

    private static Map<String, Double> mismatches(Ensemble ensemble) throws Exception {
        Map<String, Double> counted = ensemble.sumMetrics("digest_mismatches_count");
        counted.values().removeIf(count -> count == 0);
        return counted;
    }

    @Test
    void nothingThatWasReadIsLost() throws Exception {
        try (RunDirectory run = RunDirectory.create("epoch-rollover")) {
            Ensemble ensemble = start(run, Map.of("cad.durability", "cad", "cad.replication", "async", "cad.reads", "leader"));
            Findings findings = rollsOver(ensemble, 1);
            assertTrue(findings.ackedWrites() > EPOCHS * ROOM, findings.toString());
            assertEquals(0, findings.readsBackwards(), findings.toString());
            assertEquals(0, findings.readUpdatesLost(), findings.toString());
            run.closeAndDelete();
        }
    }

    /** Control: where a read waits for nothing the same schedule, with more that is undurable, loses what was read. */
    @Test
    void withEventualDurabilityItIsLost() throws Exception {
        try (RunDirectory run = RunDirectory.create("epoch-rollover-control")) {
            Ensemble ensemble = start(run, Map.of("cad.durability", "eventual", "cad.replication", "async", "cad.reads", "any"));
            // Hundreds of changes: at the beginning of an epoch there are a few, and nobody may have read one.
            Findings findings = rollsOver(ensemble, 100_000);
            assertTrue(findings.readUpdatesLost() > 0, findings.toString());
            run.closeAndDelete();
        }
    }
}

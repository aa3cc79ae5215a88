// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testkit.disk.FiDisk;
import io.cad.zookeeper.testkit.history.Findings;
import io.cad.zookeeper.testkit.load.LoadSpec;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Controls: what the stock server keeps and loses, which every verdict on other modes rests on. */
@Timeout(300)
class PowerLossTest {
    private static final LoadSpec LOAD = new LoadSpec(10, 500, 100, 0.99, 0.5, 0.7, 42);

    /** Losses until one took something: between two flushes there may have been nothing to take. */
    private static final int MAX_LOSSES = 5;

    @FunctionalInterface
    private interface Verdict {
        void on(PowerLossTrial.Result result);
    }

    private static void loseAllPower(String forceSync, Verdict verdict) throws Exception {
        try (RunDirectory run = RunDirectory.create("power-loss-test")) {
            EnsembleConfig config = new EnsembleConfig(ServerBuild.stock(), 3)
                    .cfg("forceSync", forceSync).disks(FiDisk.provider(null, false, LOAD.seed()));
            Ensemble ensemble = Ensemble.start(run, config);
            ensemble.setSyncLatency(2);
            long bytes = 0;
            try (PowerLossTrial trial = new PowerLossTrial(ensemble, LOAD)) {
                trial.warmUp(Duration.ofMillis(500));
                for (int loss = 1; loss <= MAX_LOSSES && bytes == 0; loss++) {
                    PowerLossTrial.Result result = trial.run(Duration.ofSeconds(2), ensemble.servers());
                    verdict.on(result);
                    bytes = result.loss().bytes();
                }
            }
            assertTrue(bytes > 0, "no power loss took anything, so nothing was tested");
            run.closeAndDelete();
        }
    }

    @Test
    void stockWithForceSyncLosesNoAcknowledgedWrite() throws Exception {
        loseAllPower("yes", result -> {
            Findings findings = result.findings();
            assertTrue(findings.ackedWrites() > 0);
            assertEquals(0, findings.ackedWritesLost(), findings.toString());
            assertEquals(0, findings.readsBackwardsAcross(), findings.toString());
        });
    }

    @Test
    void stockWithoutForceSyncLosesWritesThatWereAcknowledgedAndRead() throws Exception {
        loseAllPower("no", result -> {
            Findings findings = result.findings();
            assertTrue(findings.ackedWritesLost() > 0, findings.toString());
            assertTrue(findings.readUpdatesLost() > 0, findings.toString());
            assertTrue(findings.readsBackwardsAcross() > 0, findings.toString());
        });
    }

    @Test
    void theCommandFindsTheLossesOfAMinorityAndOfAll(@TempDir Path out) throws Exception {
        String[] common = {"--servers", "3", "--clients", "6", "--rounds", "2", "--seconds", "1", "--seed", "5", "--out", out.toString()};
        assertEquals(ExitCode.VIOLATED, PowerLossRun.run(join(common, "--victims", "all", "--cfg", "forceSync=no")));
        assertTrue(Files.size(out.resolve("history-round1.jsonl")) > 0);
        assertEquals(ExitCode.UNDECIDED, PowerLossRun.run(join(common, "--victims", "minority", "--guarantee", "acked", "--need-held")));
        assertEquals(4, Files.readAllLines(out.resolve("power-loss.jsonl")).size());
    }

    @Test
    void wrongArgumentsAreNamed() {
        assertEquals(ExitCode.BAD_ARGUMENTS, PowerLossRun.run(new String[] {"--victims", "nobody"}));
        assertEquals(ExitCode.BAD_ARGUMENTS, PowerLossRun.run(new String[] {"--rounds", "0"}));
        assertEquals(ExitCode.BAD_ARGUMENTS, PowerLossRun.run(new String[] {"--plugin", "x.jar"}));
        assertEquals(ExitCode.BAD_ARGUMENTS, PowerLossRun.run(new String[] {"--cfg", "novalue"}));
        assertEquals(ExitCode.BAD_ARGUMENTS, PowerLossRun.run(new String[] {"--fi", "/nowhere/fi"}));
    }

    private static String[] join(String[] first, String... more) {
        String[] all = Arrays.copyOf(first, first.length + more.length);
        System.arraycopy(more, 0, all, first.length, more.length);
        return all;
    }
}

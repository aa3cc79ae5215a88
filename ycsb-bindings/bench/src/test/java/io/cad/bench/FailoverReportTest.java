// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.bench.FailoverResult.Answers;
import io.cad.bench.Probe.Kind;
import io.cad.bench.Probe.Wait;
import io.cad.zookeeper.testkit.ExitCode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FailoverReportTest {
    private static final long MILLI = 1_000_000;
    private static final Answers NONE = new Answers(1, 1, List.of(1.0), List.of(1.0));

    private static Wait wait(int client, long beginMillis, long endMillis) {
        return new Wait(Kind.OLD, client, beginMillis * MILLI, endMillis * MILLI);
    }

    @Test
    void theSilenceIsTheLongestTimeWithoutAnAnswerOfAnybody() {
        // The failure is at 100 ms; client 2 goes on until 180, client 1 is the first one back, at 530.
        List<Wait> waits = List.of(wait(1, 10, 20), wait(1, 90, 95), wait(2, 98, 180), wait(2, 185, 600), wait(1, 96, 530), wait(1, 531, 590));
        Answers answers = Answers.of(waits, 100 * MILLI);
        assertEquals(350, answers.silence());
        assertEquals(430, answers.back());
        assertEquals(4, answers.waits().size(), "only what was answered after the failure");
        assertEquals(List.of(434.0, 415.0), answers.longest());
    }

    @Test
    void anAnswerBeforeTheFailureIsWhereTheSilenceBegins() {
        assertEquals(60, Answers.of(List.of(wait(1, 1, 5), wait(1, 50, 90), wait(1, 92, 150)), 100 * MILLI).silence());
        assertEquals(50, Answers.of(List.of(wait(1, 92, 150)), 100 * MILLI).silence());
    }

    private static FailoverResult result(Fault fault, Mode mode, double held, Answers old, Answers fresh) {
        return new FailoverResult(fault.label(), mode.label(), 0, "setup", 1, 0.1, held, Map.of(Kind.OLD, old, Kind.FRESH, fresh, Kind.WRITE, NONE), "");
    }

    private static FailoverResult refused(Fault fault, Mode mode) {
        return new FailoverResult(fault.label(), mode.label(), 1, "setup", 1, 0.1, 1,
                Map.of(Kind.OLD, NONE, Kind.FRESH, NONE, Kind.WRITE, NONE), "IOException: there is a hole");
    }

    private static Answers answers(double... waits) {
        List<Double> all = new ArrayList<>();
        for (double wait : waits) {
            all.add(wait);
        }
        return new Answers(1, 1, all, all);
    }

    private static ExitCode judge(double held, Answers old, Answers fresh) {
        return FailoverReport.of(List.of(result(Fault.FOLLOWER_KILL, FailoverBench.OURS, held, old, fresh))).code();
    }

    @Test
    void freshReadsMayWaitForTheRemovalAndOldOnesForNobody() {
        // Removal 194, heartbeat 50, flush 3, and a round trip as long as the median read of an old item.
        assertEquals(ExitCode.HOLDS, judge(7, answers(1, 1, 20), answers(1, 248)));
        assertEquals(ExitCode.VIOLATED, judge(7, answers(1, 1, 20), answers(1, 249)));
        assertEquals(ExitCode.VIOLATED, judge(7, answers(1, 1, 51), answers(1)));
        assertEquals(ExitCode.UNDECIDED, judge(0, answers(1), answers(1)), "no read met what was not durable");
        assertEquals(ExitCode.HOLDS, FailoverReport.of(List.of(
                result(Fault.FOLLOWER_KILL, FailoverBench.STOCK, 0, answers(900), answers(900)))).code(), "stock promised nothing");
    }

    @Test
    void whereStockWaitsTooItWasTheMachine() {
        FailoverResult late = result(Fault.FOLLOWER_KILL, FailoverBench.OURS, 7, answers(300), answers(300));
        FailoverResult quick = result(Fault.FOLLOWER_KILL, FailoverBench.STOCK, 0, answers(1), answers(1));
        FailoverResult slow = result(Fault.FOLLOWER_KILL, FailoverBench.STOCK, 0, answers(1, 51), answers(1));
        FailoverResult elsewhere = result(Fault.FOLLOWER_POWER_LOSS, FailoverBench.STOCK, 0, answers(1, 51), answers(1));
        assertEquals(ExitCode.VIOLATED, FailoverReport.of(List.of(late, quick, elsewhere)).code());
        assertEquals(ExitCode.UNDECIDED, FailoverReport.of(List.of(late, slow)).code());
    }

    @Test
    void aRefusedStartIsAResultOfStockAndAFailureOfOurs() {
        for (Fault fault : List.of(Fault.LEADER_KILL, Fault.FOLLOWER_POWER_LOSS)) {
            FailoverResult started = result(fault, FailoverBench.OURS, 1, NONE, NONE);
            FailoverReport stock = FailoverReport.of(List.of(started, result(fault, FailoverBench.STOCK, 0, NONE, NONE),
                    refused(fault, FailoverBench.STOCK)));
            assertEquals(ExitCode.HOLDS, stock.code());
            assertTrue(stock.text().contains("| 0 of 1 |") && stock.text().contains("| 1 of 2 |"), stock.text());
            assertTrue(stock.text().contains(fault.label() + " of stock, trial 2: IOException: there is a hole"), stock.text());
            assertEquals(ExitCode.VIOLATED, FailoverReport.of(List.of(started, refused(fault, FailoverBench.OURS))).code());
        }
    }

    @Test
    void theTablesAreMadeFromRawDataAlone(@TempDir Path raw) throws Exception {
        List<FailoverResult> results = new ArrayList<>();
        for (Mode mode : List.of(FailoverBench.OURS, FailoverBench.STOCK)) {
            for (double back : new double[] {300, 100, 200}) {
                results.add(result(Fault.LEADER_PARTITION, mode, 0, new Answers(back - 50, back, List.of(back), List.of(back)), NONE));
            }
            results.add(result(Fault.FOLLOWER_KILL, mode, 1, answers(1), answers(60)));
        }
        results.add(refused(Fault.LEADER_KILL, FailoverBench.STOCK));
        for (FailoverResult result : results) {
            RawData.append(raw.resolve("all.jsonl"), result);
        }
        assertEquals(results, RawData.load(raw.resolve("all.jsonl"), FailoverResult.class));
        String text = FailoverReport.of(results).text();
        assertTrue(text.contains("| leader-partition | orca | 3 | 200 (100 to 300) | 1 (1 to 1) | 150 (50 to 250) | 1 (1 to 1) | - |"), text);
        assertTrue(text.contains("| follower-kill | stock | 1 | 1.0, 1.0, 1.0 | 0 | 60.0, 60.0, 60.0 | 1 | - | 1.0 | 1 | 0 of 1 |"), text);
        assertTrue(text.contains("| holds |"), text);
    }
}

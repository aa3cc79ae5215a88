// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.bench.Cell.Figure;
import io.cad.bench.Cell.Mix;
import io.cad.zookeeper.testkit.ExitCode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CellVerdictTest {
    private static final int PAIRS = 10;

    private static Cell cell(Mix mix, Figure figure, double target) {
        return new Cell("claim", Mode.CAD, Mode.WEAK, mix, figure, 10, 3, target, PAIRS, Stage.AT_LEADER);
    }

    /** Pairs whose throughput and cost ratios are the given ones. */
    private static List<PairResult> pairs(Cell cell, double held, double... ratios) {
        List<PairResult> pairs = new ArrayList<>();
        for (double ratio : ratios) {
            pairs.add(new PairResult(cell.id(), pairs.size(), 5, "setup", 1, 0.1,
                    sample(ratio, Map.of("cad_reads_held", held)), sample(1, Map.of())));
        }
        return pairs;
    }

    private static Subject.Sample sample(double value, Map<String, Double> metrics) {
        return sample(value, metrics, 0);
    }

    /** @param alone reads that followers answered by themselves, of 100 */
    private static Subject.Sample sample(double value, Map<String, Double> metrics, double alone) {
        return new Subject.Sample(value, 100, 1, 1, 1, 1, 0, value, value, 1, 2, 100, alone, metrics);
    }

    private static double[] repeat(double value) {
        double[] values = new double[PAIRS];
        Arrays.fill(values, value);
        return values;
    }

    private static ExitCode judge(Cell cell, double held, double... ratios) {
        return CellVerdict.of(cell, pairs(cell, held, ratios)).code();
    }

    @Test
    void throughputMustReachItsTarget() {
        Cell cell = cell(Mix.WRITES, Figure.THROUGHPUT, 0.97);
        assertEquals(ExitCode.HOLDS, judge(cell, 0, repeat(0.97)));
        assertEquals(ExitCode.VIOLATED, judge(cell, 0, repeat(0.96)));
        assertEquals(ExitCode.VIOLATED, judge(cell, 0, 0.5, 0.5, 0.5, 0.5, 0.98, 1, 1, 1, 1, 1), "wide below");
    }

    @Test
    void costMustStayBelowItsTarget() {
        Cell cell = cell(Mix.HALF, Figure.CPU_PER_OP, 1.02);
        assertEquals(ExitCode.HOLDS, judge(cell, 1, repeat(1.02)));
        assertEquals(ExitCode.VIOLATED, judge(cell, 1, repeat(1.03)));
    }

    @Test
    void aMixInWhichNoReadWasHeldOrTooFewPairsDecideNothing() {
        assertEquals(ExitCode.UNDECIDED, judge(cell(Mix.HALF, Figure.THROUGHPUT, 0.9), 0, repeat(1)));
        assertEquals(ExitCode.HOLDS, judge(cell(Mix.READS, Figure.THROUGHPUT, 0.9), 0, repeat(1)));
        assertEquals(ExitCode.UNDECIDED, judge(cell(Mix.READS, Figure.THROUGHPUT, 0.9), 0, 1, 1, 1));
    }

    @Test
    void readsOfWhichNoFollowerAnsweredOneByItselfDecideNothing() {
        Cell cell = new Cell("claim", Mode.ORCA, Mode.WEAK, Mix.READS, Figure.THROUGHPUT, 10, 3, 0.95, 1,
                new Stage(3, Stage.Clients.EVERYWHERE, 0.2));
        PairResult asked = new PairResult(cell.id(), 0, 3, "setup", 1, 0.1, sample(1, Map.of(), 0), sample(1, Map.of()));
        PairResult alone = new PairResult(cell.id(), 0, 3, "setup", 1, 0.1, sample(1, Map.of(), 99), sample(1, Map.of()));
        assertEquals(ExitCode.UNDECIDED, CellVerdict.of(cell, List.of(asked)).code());
        assertEquals(ExitCode.HOLDS, CellVerdict.of(cell, List.of(alone)).code());
        assertEquals(0.99, CellVerdict.of(cell, List.of(alone)).answeredAlone());
        assertEquals(0.5, CellVerdict.of(cell, List.of(alone)).cores(), "one second of CPU time in two");
    }

    @Test
    void theTableIsMadeFromRawDataAlone(@TempDir Path raw) throws Exception {
        Cell claim = cell(Mix.WRITES, Figure.THROUGHPUT, 0.97);
        Cell indicative = cell(Mix.READS, Figure.THROUGHPUT, 0);
        Cell unmeasured = cell(Mix.HALF, Figure.THROUGHPUT, 0);
        for (Cell cell : List.of(claim, indicative)) {
            for (PairResult pair : pairs(cell, 2, repeat(0.99))) {
                pair.append(raw);
            }
        }
        assertEquals(pairs(claim, 2, repeat(0.99)), PairResult.load(raw, claim.id()));
        String table = ClaimsTable.markdown(List.of(unmeasured, indicative, claim), raw);
        List<String> lines = table.lines().toList();
        assertEquals(4, lines.size(), table);
        assertTrue(lines.get(2).contains(">= 0.97 | 0.990 | 0.990 to 0.990 | 10 | 20"), table);
        assertTrue(lines.get(3).contains("indicative"), table);
    }

    @Test
    void plansHoldTheNamedHeadlinesAndShareSystems() {
        Plan quick = Plan.quick();
        assertEquals(6, quick.cells().stream().filter(Cell::hasTarget).count());
        assertTrue(quick.cells().stream().filter(Cell::hasTarget).allMatch(cell -> cell.pairs() >= 60));
        assertEquals(quick.cells().size(), quick.groups().stream().mapToInt(List::size).sum());
        assertTrue(quick.groups().stream().allMatch(group -> group.stream().map(Cell::clients).distinct().count() == 1));
        double minutes = quick.cells().stream().filter(cell -> cell.figure() != Figure.BYTES_PER_OP)
                .mapToDouble(cell -> cell.pairs() * 2 * quick.sliceSeconds() / 60).sum();
        assertTrue(minutes < 30, "leaves room for starts and warm-ups in 40 minutes, not " + minutes);
    }

    @Test
    void thePlanOfReadsComparesOrcaWithBothOthersAndFitsIntoItsTime() {
        Plan reads = Plan.reads();
        for (Mode over : List.of(Mode.WEAK, Mode.STRONG)) {
            List<Cell> claims = reads.cells().stream().filter(cell -> cell.over() == over && cell.hasTarget()).toList();
            assertEquals(List.of(100, 10, 1), claims.stream().map(Cell::clients).toList());
            int pairs = over == Mode.WEAK ? 60 : 20;
            assertTrue(claims.stream().allMatch(cell -> cell.mode() == Mode.ORCA && cell.pairs() >= pairs && cell.stage().hasQuota()));
        }
        assertEquals(2, reads.groups().size(), "the systems with three servers, and those with five");
        assertTrue(reads.groups().stream().allMatch(group -> group.stream().map(cell -> cell.stage().servers()).distinct().count() == 1));
        double minutes = reads.cells().stream().filter(cell -> cell.figure() != Figure.READ_P99)
                .mapToDouble(cell -> cell.pairs() * 2 * reads.sliceSeconds() / 60).sum();
        assertTrue(minutes < 10, "leaves room for starts and warm-ups in 20 minutes, not " + minutes);
        assertTrue(reads.withoutHosts().cells().isEmpty());
    }

    @Test
    void whatIsMeasuredElsewhereHasAnotherName() {
        Cell usual = cell(Mix.READS, Figure.THROUGHPUT, 0);
        assertEquals("cad-over-weak.reads.c10.d3.0", usual.id(), "as raw data that are kept are named");
        assertEquals("cad-over-weak.reads.c10.d3.0.s5.everywhere-over-leader.q0.2",
                usual.on(new Stage(5, Stage.Clients.EVERYWHERE_OVER_LEADER, 0.2)).id());
        assertEquals(usual.id(), usual.on(Stage.AT_LEADER.with(5)).id());
    }
}

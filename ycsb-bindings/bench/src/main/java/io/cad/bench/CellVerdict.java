// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.ExitCode;
import io.cad.zookeeper.testkit.PowerLossTrial;
import java.util.List;
import java.util.stream.Collectors;

/**
 * What the pairs of a cell say.
 *
 * @param readsHeld reads of the subject that met data which was not durable
 * @param flushRounds flush rounds of the subject
 */
record CellVerdict(Cell cell, Ratio ratio, double readsHeld, double flushRounds, double foreignCores, ExitCode code, String why) {
    /** A target is met when the point reaches it and the far end of the interval is within this of it. */
    private static final double SLACK = 0.04;
    private static final String FLUSH_ROUNDS = "cad_flush_rounds";
    private static final long BOOTSTRAP_SEED = 1;

    static CellVerdict of(Cell cell, List<PairResult> pairs) {
        Ratio ratio = Ratio.of(pairs.stream().map(pair -> pair.ratio(cell.figure())).collect(Collectors.toList()), BOOTSTRAP_SEED);
        double held = pairs.stream().mapToDouble(pair -> pair.subject().metric(PowerLossTrial.READS_HELD)).sum();
        double rounds = pairs.stream().mapToDouble(pair -> pair.subject().metric(FLUSH_ROUNDS)).sum();
        double foreign = pairs.stream().mapToDouble(PairResult::foreignCores).average().orElse(0);
        ExitCode code;
        String why;
        if (cell.mode() == Mode.CAD && cell.mix().mixesReadsAndWrites() && held == 0) {
            code = ExitCode.UNDECIDED;
            why = "no read met data that was not durable";
        } else if (!cell.hasTarget()) {
            code = ExitCode.HOLDS;
            why = "indicative";
        } else if (pairs.size() < cell.pairs()) {
            code = ExitCode.UNDECIDED;
            why = "only " + pairs.size() + " of " + cell.pairs() + " pairs";
        } else {
            boolean met = cell.figure().isCost()
                    ? ratio.median() <= cell.target() && ratio.high() <= cell.target() + SLACK
                    : ratio.median() >= cell.target() && ratio.low() >= cell.target() - SLACK;
            code = met ? ExitCode.HOLDS : ExitCode.VIOLATED;
            why = met ? "met" : "missed";
        }
        return new CellVerdict(cell, ratio, held, rounds, foreign, code, why);
    }
}

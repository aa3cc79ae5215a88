// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.ExitCode;
import io.cad.zookeeper.testkit.PowerLossTrial;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * What the pairs of a cell say.
 *
 * @param readsHeld reads of the subject that met data which was not durable
 * @param flushRounds flush rounds of the subject
 * @param answeredAlone share of the reads at the subject's followers that were answered without asking anybody; 0 when it
 *     has none or does not count them
 * @param cores that the servers kept busy on average, of the subject and of the other system
 */
record CellVerdict(Cell cell, Ratio ratio, double readsHeld, double flushRounds, double answeredAlone, double cores, double coresOver,
        double foreignCores, ExitCode code, String why) {
    /** A target is met when the point reaches it and the far end of the interval is within this of it. */
    static final double SLACK = 0.04;
    private static final String FLUSH_ROUNDS = "cad_flush_rounds";
    private static final long BOOTSTRAP_SEED = 1;

    static CellVerdict of(Cell cell, List<PairResult> pairs) {
        Ratio ratio = Ratio.of(pairs.stream().map(pair -> pair.ratio(cell.figure())).collect(Collectors.toList()), BOOTSTRAP_SEED);
        double held = pairs.stream().mapToDouble(pair -> pair.subject().metric(PowerLossTrial.READS_HELD)).sum();
        double rounds = pairs.stream().mapToDouble(pair -> pair.subject().metric(FLUSH_ROUNDS)).sum();
        double reads = pairs.stream().mapToDouble(pair -> pair.subject().followerReads()).sum();
        double alone = reads == 0 ? 0 : pairs.stream().mapToDouble(pair -> pair.subject().followerReadsAlone()).sum() / reads;
        double foreign = pairs.stream().mapToDouble(PairResult::foreignCores).average().orElse(0);
        ExitCode code;
        String why;
        if (cell.mode().isOnTrial() && cell.mix().mixesReadsAndWrites() && held == 0) {
            code = ExitCode.UNDECIDED;
            why = "no read met data that was not durable";
        } else if (cell.mode().readsAtActiveSet() && cell.mix() == Cell.Mix.READS && alone <= 0) {
            code = ExitCode.UNDECIDED;
            why = "no follower answered a read by itself";
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
        return new CellVerdict(cell, ratio, held, rounds, alone, cores(pairs, PairResult::subject), cores(pairs, PairResult::over),
                foreign, code, why);
    }

    private static double cores(List<PairResult> pairs, Function<PairResult, Subject.Sample> side) {
        return pairs.stream().map(side).mapToDouble(Subject.Sample::cores).average().orElse(0);
    }
}

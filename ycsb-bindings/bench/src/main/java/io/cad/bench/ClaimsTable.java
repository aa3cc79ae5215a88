// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/** The table of claims in Markdown, made from raw data only. */
final class ClaimsTable {
    private ClaimsTable() {
    }

    /** One row for each cell that has data, claims first. */
    static String markdown(List<Cell> cells, Path raw) throws IOException {
        StringBuilder text = new StringBuilder();
        text.append("| claim | figure | load | fsync | target | median | 95 % interval | pairs | reads with R > D | flush rounds | followers' reads answered alone | servers' cores | foreign cores | verdict | data |\n");
        text.append("" + "| --- ".repeat(15) + "|\n");
        for (boolean claims : new boolean[] {true, false}) {
            for (Cell cell : cells) {
                List<PairResult> pairs = PairResult.load(raw, cell.id());
                if (cell.hasTarget() == claims && !pairs.isEmpty()) {
                    text.append(row(CellVerdict.of(cell, pairs)));
                }
            }
        }
        return text.toString();
    }

    private static String row(CellVerdict verdict) {
        Cell cell = verdict.cell();
        Ratio ratio = verdict.ratio();
        String target = cell.hasTarget() ? (cell.figure().isCost() ? "<= " : ">= ") + cell.target() : "-";
        String alone = cell.mode().readsAtActiveSet() ? String.format(Locale.ROOT, "%.2f %%", 100 * verdict.answeredAlone()) : "-";
        return String.format(Locale.ROOT, "| %s | %s, %s over %s | %s, %d clients %s | %s | %s | %.3f | %.3f to %.3f | %d | %.0f | %.0f"
                + " | %s | %.2f and %.2f | %.2f | %s | %s |%n",
                cell.claim(), cell.figure().name().toLowerCase(Locale.ROOT), cell.mode().label(), cell.over().label(),
                cell.mix().name().toLowerCase(Locale.ROOT), cell.clients(), cell.stage().describe(),
                cell.dial() == 0 ? "raw" : cell.dial() + " ms", target, ratio.median(), ratio.low(), ratio.high(), ratio.pairs(),
                verdict.readsHeld(), verdict.flushRounds(), alone, verdict.cores(), verdict.coresOver(), verdict.foreignCores(),
                verdict.code().name().toLowerCase(Locale.ROOT) + " (" + verdict.why() + ")", "raw/" + cell.id() + ".jsonl");
    }
}

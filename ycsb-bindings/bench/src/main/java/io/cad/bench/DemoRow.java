// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.PowerLossTrial;
import io.cad.zookeeper.testkit.history.Findings;
import io.cad.zookeeper.testkit.load.Slice;
import java.util.ArrayList;
import java.util.List;

/**
 * What one mode did: latencies in ms, counts of the whole ensemble. The counts are those of all its power losses, rates,
 * latencies and the time to come back those of the last.
 *
 * @param losses power losses
 * @param readsHeld reads that met data above the durable index, before the loss
 */
record DemoRow(
        DemoMode mode,
        String settings,
        double opsPerSecond,
        double readP50,
        double readP99,
        double writeP50,
        double writeP99,
        int losses,
        long bytesDropped,
        long readsHeld,
        double recoverySeconds,
        Findings findings) {

    private static final String[][] HEAD = {
        {"", ""}, {"", "ops/s"}, {"read ms", "p50 / p99"}, {"write ms", "p50 / p99"}, {"power", "losses"}, {"bytes", "dropped"},
        {"reads that", "met R > D"}, {"fresh values", "read"}, {"reads that", "went backwards"}, {"read data", "lost"},
        {"acknowledged", "writes lost"},
    };

    static DemoRow of(Mode mode, PowerLossTrial.Result result) {
        Slice load = result.measured();
        return new DemoRow(mode, mode.describe(), load.opsPerSecond(),
                load.reads().percentileMillis(0.5), load.reads().percentileMillis(0.99),
                load.writes().percentileMillis(0.5), load.writes().percentileMillis(0.99),
                1, result.loss().bytes(), result.readsHeld(), result.recovery().toMillis() / 1e3, result.findings());
    }

    /** The same mode once more: what was at stake adds up, and what was lost. */
    DemoRow and(DemoRow later) {
        return new DemoRow(mode, settings, later.opsPerSecond, later.readP50, later.readP99, later.writeP50, later.writeP99,
                losses + later.losses, bytesDropped + later.bytesDropped, readsHeld + later.readsHeld,
                later.recoverySeconds, findings.and(later.findings));
    }

    /** Whether something was lost and, where reads wait for what is durable, one had to. */
    boolean putSomethingAtStake() {
        return bytesDropped > 0 && (readsHeld > 0 || !mode.isOnTrial());
    }

    String oneLine() {
        return String.format("is back after %.1f s: %.0f ops/s, %d reads went backwards, %d updates that had been read are lost",
                recoverySeconds, opsPerSecond, findings.readsBackwards(), findings.readUpdatesLost());
    }

    private String[] cells() {
        return new String[] {
            mode.label(),
            String.format("%.0f", opsPerSecond),
            String.format("%.2f / %.2f", readP50, readP99),
            String.format("%.2f / %.2f", writeP50, writeP99),
            Integer.toString(losses),
            Long.toString(bytesDropped),
            mode.isPatched() ? Long.toString(readsHeld) : "-",
            Long.toString(findings.freshValuesRead()),
            Long.toString(findings.readsBackwards()),
            Long.toString(findings.readUpdatesLost()),
            findings.ackedWritesLost() + " of " + findings.ackedWrites(),
        };
    }

    /** The rows side by side, and below them what each mode is. */
    static String table(List<DemoRow> rows) {
        List<String[]> lines = new ArrayList<>();
        for (int line = 0; line < 2; line++) {
            String[] head = new String[HEAD.length];
            for (int column = 0; column < HEAD.length; column++) {
                head[column] = HEAD[column][line];
            }
            lines.add(head);
        }
        rows.forEach(row -> lines.add(row.cells()));
        int[] widths = new int[HEAD.length];
        for (String[] line : lines) {
            for (int column = 0; column < widths.length; column++) {
                widths[column] = Math.max(widths[column], line[column].length());
            }
        }
        StringBuilder text = new StringBuilder();
        for (String[] line : lines) {
            StringBuilder out = new StringBuilder();
            for (int column = 0; column < widths.length; column++) {
                String format = column == 0 ? "%-" + widths[0] + "s" : "  %" + widths[column] + "s";
                out.append(String.format(format, line[column]));
            }
            text.append(out.toString().stripTrailing()).append('\n');
        }
        text.append("\nReads that met R > D asked for what was not durable yet, and their replies waited until it was; modes that promise less do not look.\n\n");
        rows.forEach(row -> text.append(String.format("%-" + widths[0] + "s  %s%n", row.mode.label(), row.settings)));
        return text.toString();
    }
}

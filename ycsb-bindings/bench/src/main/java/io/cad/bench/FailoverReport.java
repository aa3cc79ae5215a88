// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.ExitCode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

/**
 * What failures cost, from raw data only: tables in Markdown, and whether the promise about followers was kept.
 *
 * <p>The promise: when a follower fails, reads of old items wait for nobody, and reads of fresh ones at most until it is
 * removed from the active set, that is for removal, a heartbeat, a round trip and a flush. Stock's reads wait for nobody:
 * where they take long too, it was the machine, and nothing is decided. Nor does a server of ours ever refuse to start.
 */
record FailoverReport(String text, ExitCode code) {
    /** A read that takes longer than a heartbeat waited for somebody, even where threads wait for a CPU. */
    private static final double STALL_MILLIS = FailoverBench.HEARTBEAT_MILLIS;

    /** @param results of all faults and both systems, in any order */
    static FailoverReport of(List<FailoverResult> results) {
        StringBuilder text = new StringBuilder();
        text.append("| failure of the leader | system | trials | first read after, ms | first write after, ms | no read for, ms | no write for, ms | refused to start | foreign cores |\n");
        text.append("| --- ".repeat(9)).append("|\n");
        List<ExitCode> codes = new ArrayList<>();
        forEach(results, true, (fault, trials) -> {
            codes.add(ours(trials) && refused(trials) > 0 ? ExitCode.VIOLATED : ExitCode.HOLDS);
            text.append(String.format(Locale.ROOT, "| %s | %s | %d | %s | %s | %s | %s | %s | %.2f |%n",
                fault.label(), trials.get(0).system(), trials.size(),
                range(trials, one -> one.answers().get(Probe.Kind.OLD).back()), range(trials, one -> one.answers().get(Probe.Kind.WRITE).back()),
                range(trials, one -> one.answers().get(Probe.Kind.OLD).silence()),
                range(trials, one -> one.answers().get(Probe.Kind.WRITE).silence()), refusals(fault, trials), foreign(trials)));
        });
        text.append("\nMedian and range over the trials; first: after the longest time without one. In both systems a server that hears nothing"
                + " from its leader for 2 s looks for another one; until then stock's go on answering reads, unchecked.\n\n");

        text.append(String.format(Locale.ROOT, "| failure of a follower | system | trials | old items: p50, p99, longest, ms | longer than %.0f ms"
                + " | fresh items: p50, p99, longest, ms | longer than %.0f ms | at most | writes: longest, ms | reads with R > D | refused to start | foreign cores | verdict |%n",
                STALL_MILLIS, STALL_MILLIS));
        text.append("| --- ".repeat(13)).append("|\n");
        forEach(results, false, (fault, trials) -> {
            boolean ours = ours(trials);
            double bound = bound(trials);
            ExitCode code = ours ? judge(trials, bound, of(results, fault, FailoverBench.STOCK)) : ExitCode.HOLDS;
            codes.add(code);
            text.append(String.format(Locale.ROOT, "| %s | %s | %d | %s | %d | %s | %d | %s | %.1f | %.0f | %s | %.2f | %s |%n",
                    fault.label(), trials.get(0).system(), trials.size(), distribution(trials, Probe.Kind.OLD), stalls(trials, Probe.Kind.OLD),
                    distribution(trials, Probe.Kind.FRESH), stalls(trials, Probe.Kind.FRESH), ours ? String.format(Locale.ROOT, "%.1f", bound) : "-",
                    Collections.max(longest(trials, Probe.Kind.WRITE)), held(trials), refusals(fault, trials), foreign(trials), ours ? code.name().toLowerCase(Locale.ROOT) : "-"));
        });
        text.append("\nReads of all clients in the second after the failure. Refused to start: of the restarts on what the failure had left;"
                + " the data of such a server were deleted, as an operator would, and it copied its peers'.\n");
        if (results.stream().anyMatch(FailoverResult::refusedToStart)) {
            text.append("\n");
        }
        results.stream().filter(FailoverResult::refusedToStart).forEach(one -> text.append(String.format(Locale.ROOT,
                "- %s of %s, trial %d: %s%n", one.fault(), one.system(), one.trial() + 1, one.refusal())));
        return new FailoverReport(text.toString(), codes.stream().reduce(ExitCode.HOLDS, ExitCode::and));
    }

    @FunctionalInterface
    private interface Row {
        void add(Fault fault, List<FailoverResult> trials);
    }

    private static void forEach(List<FailoverResult> results, boolean atLeader, Row row) {
        for (Fault fault : Fault.values()) {
            for (Mode mode : List.of(FailoverBench.OURS, FailoverBench.STOCK)) {
                List<FailoverResult> trials = of(results, fault, mode);
                if (fault.atLeader() == atLeader && !trials.isEmpty()) {
                    row.add(fault, trials);
                }
            }
        }
    }

    private static List<FailoverResult> of(List<FailoverResult> results, Fault fault, Mode mode) {
        return results.stream().filter(one -> one.fault().equals(fault.label()) && one.system().equals(mode.label())).collect(Collectors.toList());
    }

    private static boolean ours(List<FailoverResult> trials) {
        return trials.get(0).system().equals(FailoverBench.OURS.label());
    }

    private static long refused(List<FailoverResult> trials) {
        return trials.stream().filter(FailoverResult::refusedToStart).count();
    }

    private static String refusals(Fault fault, List<FailoverResult> trials) {
        return fault.endsProcess() ? refused(trials) + " of " + trials.size() : "-";
    }

    /** Without a read that met R > D nobody had to wait for the dead member. */
    private static ExitCode judge(List<FailoverResult> trials, double bound, List<FailoverResult> control) {
        if (refused(trials) > 0) {
            return ExitCode.VIOLATED;
        }
        if (held(trials) == 0) {
            return ExitCode.UNDECIDED;
        }
        if (stalls(trials, Probe.Kind.OLD) == 0 && Collections.max(longest(trials, Probe.Kind.FRESH)) <= bound) {
            return ExitCode.HOLDS;
        }
        return stalls(control, Probe.Kind.OLD) + stalls(control, Probe.Kind.FRESH) == 0 ? ExitCode.VIOLATED : ExitCode.UNDECIDED;
    }

    /** Longest wait for a fresh item; a read of an old one takes about a round trip. */
    private static double bound(List<FailoverResult> trials) {
        return FailoverBench.REMOVAL_MILLIS + FailoverBench.HEARTBEAT_MILLIS + FailoverBench.SYNC_MILLIS
                + percentile(waits(trials, Probe.Kind.OLD), 0.5);
    }

    private static List<Double> waits(List<FailoverResult> trials, Probe.Kind kind) {
        return trials.stream().flatMap(one -> one.answers().get(kind).waits().stream()).sorted().collect(Collectors.toList());
    }

    private static List<Double> longest(List<FailoverResult> trials, Probe.Kind kind) {
        return trials.stream().flatMap(one -> one.answers().get(kind).longest().stream()).collect(Collectors.toList());
    }

    private static long stalls(List<FailoverResult> trials, Probe.Kind kind) {
        return waits(trials, kind).stream().filter(wait -> wait > STALL_MILLIS).count();
    }

    private static double held(List<FailoverResult> trials) {
        return trials.stream().mapToDouble(FailoverResult::readsHeld).sum();
    }

    private static double foreign(List<FailoverResult> trials) {
        return trials.stream().mapToDouble(FailoverResult::foreignCores).average().orElse(0);
    }

    private static String distribution(List<FailoverResult> trials, Probe.Kind kind) {
        List<Double> waits = waits(trials, kind);
        return String.format(Locale.ROOT, "%.1f, %.1f, %.1f", percentile(waits, 0.5), percentile(waits, 0.99), percentile(waits, 1));
    }

    private static String range(List<FailoverResult> trials, ToDoubleFunction<FailoverResult> figure) {
        List<Double> sorted = trials.stream().map(figure::applyAsDouble).sorted().collect(Collectors.toList());
        return String.format(Locale.ROOT, "%.0f (%.0f to %.0f)", percentile(sorted, 0.5), sorted.get(0), percentile(sorted, 1));
    }

    /** The value below or at which this share of them lie. */
    private static double percentile(List<Double> sorted, double share) {
        return sorted.get(Math.max(0, (int) Math.ceil(share * sorted.size()) - 1));
    }
}

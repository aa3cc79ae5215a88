// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.ExitCode;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** What the rows of a demo prove, with the reasons. */
record DemoVerdict(ExitCode code, List<String> reasons) {
    /**
     * Distinct values of the last second before a loss that must have been read, for a row of CAD or ORCA to count, in as
     * many losses as it takes.
     */
    static final long FRESH_VALUES_NEEDED = 1_000;

    DemoVerdict {
        reasons = List.copyOf(reasons);
    }

    /**
     * Judges a demo: violated when a mode that keeps what was read did not; undecided when a row means nothing (no bytes
     * dropped, CAD never tried), or when the weak mode lost nothing either and so nothing was shown.
     *
     * @param complete whether the modes of the product were there; stock modes alone decide nothing about it
     */
    static DemoVerdict of(List<DemoRow> rows, boolean complete) {
        List<String> reasons = new ArrayList<>();
        ExitCode code = ExitCode.HOLDS;
        if (!complete) {
            reasons.add("undecided: only the stock server ran; the product's modes need --server-jar and --plugin");
            code = ExitCode.UNDECIDED;
        }
        for (DemoRow row : rows) {
            for (String violation : violations(row)) {
                reasons.add("VIOLATED: " + row.mode().label() + " " + violation);
                code = code.and(ExitCode.VIOLATED);
            }
            for (String doubt : doubts(row)) {
                reasons.add("undecided: " + row.mode().label() + ": " + doubt);
                code = code.and(ExitCode.UNDECIDED);
            }
        }
        return new DemoVerdict(code, reasons);
    }

    /** The last line of a demo. */
    String summary(List<DemoRow> rows) {
        String word = code.name().toLowerCase(Locale.ROOT);
        return code != ExitCode.HOLDS ? word + ", as said above"
                : word + ": " + labels(rows, true) + " took back nothing that clients had read; " + labels(rows, false) + " did";
    }

    private static String labels(List<DemoRow> rows, boolean keep) {
        return rows.stream().filter(row -> keep ? row.mode().keepsWhatWasRead() : !row.findings().readsHold())
                .map(row -> row.mode().label()).collect(Collectors.joining(", "));
    }

    /** What a row broke of the promise of its mode. */
    static List<String> violations(DemoRow row) {
        List<String> found = new ArrayList<>();
        if (row.mode().acknowledgesDurably() && row.findings().ackedWritesLost() > 0) {
            found.add("lost acknowledged writes: " + row.findings().examples());
        }
        if (row.mode().keepsWhatWasRead() && !row.findings().readsHold()) {
            found.add("took back what clients had read: " + row.findings().examples());
        }
        return found;
    }

    /** Why a row shows nothing, if it does not. */
    static List<String> doubts(DemoRow row) {
        List<String> doubts = new ArrayList<>();
        if (row.mode().isOnTrial()) {
            if (row.bytesDropped() == 0) {
                doubts.add("the power loss dropped no bytes");
            }
            if (row.readsHeld() == 0) {
                doubts.add("no read met data that was not yet durable");
            }
            if (row.findings().freshValuesRead() < FRESH_VALUES_NEEDED) {
                doubts.add("only " + row.findings().freshValuesRead() + " values of the last second before a power loss had been read, "
                        + FRESH_VALUES_NEEDED + " are needed; give more --clients or a smaller --sync-latency");
            }
        }
        if (row.mode().isWeak() && (row.findings().readsBackwardsAcross() == 0 || row.findings().readUpdatesLost() == 0)) {
            doubts.add("its power loss took back nothing that had been read; give more --seconds or --clients");
        }
        return doubts;
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import java.util.Locale;

/**
 * One comparison: a figure of one mode over the same figure of another, under one load and one fsync latency.
 *
 * @param claim what the ratio says, in words
 * @param over the mode in the denominator
 * @param mix what the clients do
 * @param dial fsync latency in ms; 0 means that the device below really flushes
 * @param target lowest ratio that is good enough (highest, for a cost); 0 when the cell makes no claim
 * @param pairs number of pairs of slices
 * @param stage where both run
 */
record Cell(String claim, Mode mode, Mode over, Mix mix, Figure figure, int clients, double dial, double target, int pairs,
        Stage stage) {

    /** What is compared. */
    enum Figure {
        THROUGHPUT, CPU_PER_OP, BYTES_PER_OP, READ_P50, READ_P99;

        /** Costs and latencies should be low, throughput high. */
        boolean isCost() {
            return this != THROUGHPUT;
        }
    }

    /** What the clients do; shares as in the test kit's LoadSpec. */
    enum Mix {
        WRITES(0, 0), READS(1, 0), HALF(0.5, 0),
        /** Half writes, half reads of what somebody wrote a moment ago. */
        FRESH(0.5, 1);

        private final double readShare;
        private final double freshShare;

        Mix(double readShare, double freshShare) {
            this.readShare = readShare;
            this.freshShare = freshShare;
        }

        double readShare() {
            return readShare;
        }

        double freshShare() {
            return freshShare;
        }

        /** Whether reads can meet data that is not durable yet. */
        boolean mixesReadsAndWrites() {
            return readShare > 0 && readShare < 1;
        }
    }

    /** Name of the cell in file names and raw data. Figures of one load share their raw data. */
    String id() {
        return String.format("%s-over-%s.%s.c%d.d%s%s", mode.label(), over.label(), mix.name().toLowerCase(Locale.ROOT),
                clients, dial == 0 ? "raw" : Double.toString(dial), stage.suffix());
    }

    Cell on(Stage newStage) {
        return new Cell(claim, mode, over, mix, figure, clients, dial, target, pairs, newStage);
    }

    boolean hasTarget() {
        return target > 0;
    }

    /** On how many starts of the systems its pairs are spread: a claim does not rest on one compilation. */
    int starts() {
        return hasTarget() ? 3 : 1;
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * One comparison of two ways to run Redis under one load and one fsync latency.
 *
 * @param claim what the ratio says, in words
 * @param over the mode in the denominator
 * @param clients connections, closed loop
 * @param pipeline commands in flight on each
 * @param dial fsync latency in ms
 * @param target lowest ratio that is good enough (highest, for CPU time); 0 when the cell makes no claim
 * @param pairs number of pairs of slices
 */
record RedisCell(String claim, RedisMode mode, RedisMode over, Load load, boolean cpu, int clients, int pipeline, double dial,
        double target, int pairs) {
    /** A target is met when the median reaches it and the far end of the interval is within this of it. */
    private static final double SLACK = 0.04;
    private static final double[] DIAL = {0, 1, 3, 10};
    private static final int HEADLINE_PAIRS = 60;
    private static final int OTHER_PAIRS = 6;
    private static final double HEADLINE_SLICE = 2;
    private static final double OTHER_SLICE = 1;
    private static final double HEADLINE_DIAL = 3;
    /** Six servers come up, fill and are in step. */
    private static final double START_SECONDS = 8;

    /** What the clients do. MIX is half GET, half SET, by operation. */
    enum Load { SET, GET, INCR, MIX }

    /** The ratios that the README may claim. */
    static List<RedisCell> headlines() {
        List<RedisCell> cells = new ArrayList<>();
        cells.add(headline("writes cost what they cost without durable reads", RedisMode.CAD, RedisMode.EVENTUAL, Load.SET, 10, 1, 0.92));
        cells.add(headline("the same with pipelines", RedisMode.CAD, RedisMode.EVENTUAL, Load.SET, 50, 16, 0.92));
        cells.add(headline("reads of durable keys cost what reads without a promise cost", RedisMode.CAD, RedisMode.EVENTUAL, Load.GET, 10, 1, 0.97));
        cells.add(headline("faster than waiting for the disks at each write", RedisMode.CAD, RedisMode.IMMEDIATE, Load.MIX, 10, 1, 3));
        cells.add(headline("the eventual baseline is no straw man", RedisMode.EVENTUAL, RedisMode.STOCK, Load.SET, 10, 1, 0.95));
        // With pipelines, since without them most of the time is that of wake-ups, whose cost varies by more than what is looked for.
        cells.add(new RedisCell("off costs no CPU time", RedisMode.OFF, RedisMode.STOCK, Load.SET, true, 50, 16, HEADLINE_DIAL, 1.02, HEADLINE_PAIRS));
        return cells;
    }

    /** The headlines; and as an indication each load over the dial, with a mix over immediate as well. */
    static List<RedisCell> quick() {
        List<RedisCell> cells = headlines();
        overTheDial().stream().filter(cell -> cell.over() == RedisMode.EVENTUAL || cell.load() == Load.MIX)
                .forEach(cell -> addOnce(cells, cell));
        return cells;
    }

    /** The headlines, and each load over the dial over both other modes. */
    static List<RedisCell> full() {
        List<RedisCell> cells = headlines();
        overTheDial().forEach(cell -> addOnce(cells, cell));
        return cells;
    }

    /** A headline is not measured again as an indication: both would be one file. */
    private static void addOnce(List<RedisCell> cells, RedisCell cell) {
        if (cells.stream().noneMatch(other -> other.id().equals(cell.id()))) {
            cells.add(cell);
        }
    }

    private static List<RedisCell> overTheDial() {
        List<RedisCell> cells = new ArrayList<>();
        for (double dial : DIAL) {
            for (Load load : Load.values()) {
                for (RedisMode over : List.of(RedisMode.EVENTUAL, RedisMode.IMMEDIATE)) {
                    cells.add(new RedisCell("indicative", RedisMode.CAD, over, load, false, 10, 1, dial, 0, OTHER_PAIRS));
                }
            }
        }
        return cells;
    }

    /** Shows that the launcher works; its figures mean nothing. */
    static List<RedisCell> smoke() {
        return List.of(new RedisCell("smoke", RedisMode.CAD, RedisMode.IMMEDIATE, Load.MIX, false, 10, 1, 1, 0, 2),
                new RedisCell("smoke", RedisMode.OFF, RedisMode.STOCK, Load.SET, true, 10, 1, 1, 0, 2));
    }

    private static RedisCell headline(String claim, RedisMode mode, RedisMode over, Load load, int clients, int pipeline, double target) {
        return new RedisCell(claim, mode, over, load, false, clients, pipeline, HEADLINE_DIAL, target, HEADLINE_PAIRS);
    }

    String id() {
        return String.format(Locale.ROOT, "%s-over-%s.%s.c%dp%d.d%s", mode.label(), over.label(), load.name().toLowerCase(Locale.ROOT),
                clients, pipeline, dial == 0 ? "raw" : Double.toString(dial));
    }

    /** About how long it takes, in seconds, when a slice takes so many. */
    double seconds(double slice) {
        return START_SECONDS + 2 * (RedisBench.WARM_UP + pairs * slice);
    }

    /** Seconds that one system runs before it is the other's turn. */
    double slice() {
        return pairs == HEADLINE_PAIRS ? HEADLINE_SLICE : OTHER_SLICE;
    }

    boolean isMet(Ratio ratio) {
        return cpu ? ratio.median() <= target && ratio.high() <= target + SLACK : ratio.median() >= target && ratio.low() >= target - SLACK;
    }
}

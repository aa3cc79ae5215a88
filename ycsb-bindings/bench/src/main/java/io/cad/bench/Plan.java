// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import static io.cad.bench.Cell.Figure.BYTES_PER_OP;
import static io.cad.bench.Cell.Figure.CPU_PER_OP;
import static io.cad.bench.Cell.Figure.THROUGHPUT;

import io.cad.bench.Cell.Mix;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Which cells a benchmark has.
 *
 * @param warmUpSeconds load on each system before the first slice
 * @param sliceSeconds length of one slice
 * @param asserts whether targets that are missed, and rows that mean nothing, make the command fail
 */
record Plan(String name, List<Cell> cells, double warmUpSeconds, double sliceSeconds, boolean asserts) {
    private static final double[] DIAL = {0, 0.5, 1, 3, 10};
    private static final int HEADLINE_PAIRS = 60;
    private static final int OTHER_PAIRS = 6;
    private static final int CLIENTS = 10;
    private static final double HEADLINE_DIAL = 3;
    private static final double COST = 1.02;
    /** Compilation still raises throughput for about this long. */
    private static final double WARM_UP = 20;
    private static final double SLICE = 2;

    /** The headline ratios, and the dial as an indication. */
    static Plan quick() {
        List<Cell> cells = headlines();
        for (double dial : DIAL) {
            cells.add(indicative(Mode.CAD, Mode.WEAK, Mix.HALF, CLIENTS, dial));
            if (dial != HEADLINE_DIAL) {
                cells.add(indicative(Mode.CAD, Mode.IMMEDIATE, Mix.HALF, CLIENTS, dial));
            }
        }
        return new Plan("quick", cells, WARM_UP, SLICE, true);
    }

    /** Every mode against stock, for each number of clients, mix and setting of the dial. */
    static Plan full() {
        List<Cell> cells = headlines();
        for (int clients : new int[] {1, 10, 100}) {
            for (double dial : DIAL) {
                for (Mix mix : Mix.values()) {
                    for (Mode mode : List.of(Mode.IMMEDIATE, Mode.WEAK, Mode.CAD)) {
                        cells.add(indicative(mode, Mode.STOCK, mix, clients, dial));
                    }
                }
            }
        }
        return new Plan("full", cells, WARM_UP, SLICE, true);
    }

    /** Shows that the launcher works; its figures mean nothing. */
    static Plan smoke(boolean patched) {
        Mode mode = patched ? Mode.CAD : Mode.STOCK_NO_SYNC;
        Cell cell = new Cell("smoke", mode, Mode.STOCK, Mix.HALF, THROUGHPUT, CLIENTS, 1, 0, 2);
        return new Plan("smoke", List.of(cell), 1, 0.5, false);
    }

    private static List<Cell> headlines() {
        List<Cell> cells = new ArrayList<>();
        cells.add(headline("writes cost what they cost without durable reads", Mode.CAD, Mode.WEAK, Mix.WRITES, THROUGHPUT, 0.97));
        cells.add(headline("reads of durable items cost what reads without a promise cost", Mode.CAD, Mode.WEAK, Mix.READS, THROUGHPUT, 0.97));
        cells.add(headline("faster than waiting for the disk at each write", Mode.CAD, Mode.IMMEDIATE, Mix.HALF, THROUGHPUT, 2.9));
        cells.add(headline("the eventual baseline is no straw man", Mode.WEAK, Mode.STOCK_NO_SYNC, Mix.WRITES, THROUGHPUT, 0.95));
        cells.add(headline("off costs no CPU time", Mode.PLUGIN_OFF, Mode.STOCK, Mix.HALF, CPU_PER_OP, COST));
        cells.add(headline("off costs no memory", Mode.PLUGIN_OFF, Mode.STOCK, Mix.HALF, BYTES_PER_OP, COST));
        return cells;
    }

    private static Cell headline(String claim, Mode mode, Mode over, Mix mix, Cell.Figure figure, double target) {
        return new Cell(claim, mode, over, mix, figure, CLIENTS, HEADLINE_DIAL, target, HEADLINE_PAIRS);
    }

    private static Cell indicative(Mode mode, Mode over, Mix mix, int clients, double dial) {
        return new Cell("indicative", mode, over, mix, THROUGHPUT, clients, dial, 0, OTHER_PAIRS);
    }

    /** The cells whose id contains a text. */
    Plan only(String text) {
        return new Plan(name, cells.stream().filter(cell -> cell.id().contains(text)).collect(Collectors.toList()),
                warmUpSeconds, sliceSeconds, asserts);
    }

    /** Cells that can be measured one after the other on the same live systems: same modes, same clients. */
    List<List<Cell>> groups() {
        Map<String, List<Cell>> groups = new LinkedHashMap<>();
        for (Cell cell : cells) {
            String key = cell.hasTarget()
                    ? cell.mode() + "/" + cell.over() : "others with " + cell.clients() + " clients";
            groups.computeIfAbsent(key, k -> new ArrayList<>()).add(cell);
        }
        return List.copyOf(groups.values());
    }
}

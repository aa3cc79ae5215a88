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
import java.util.stream.Stream;

/**
 * Which cells a benchmark has.
 *
 * @param warmUpSeconds load on each system before the first slice, by its clients or by {@link #CLIENTS} if those are more
 * @param sliceSeconds length of one slice
 * @param asserts whether targets that are missed, and rows that mean nothing, make the command fail
 */
record Plan(String name, List<Cell> cells, double warmUpSeconds, double sliceSeconds, boolean asserts) {
    private static final double[] DIAL = {0, 0.5, 1, 3, 10};
    private static final int HEADLINE_PAIRS = 60;
    private static final int OTHER_PAIRS = 6;
    /** Enough for a ratio far from 1. */
    private static final int CLEAR_PAIRS = 21;
    static final int CLIENTS = 10;
    private static final double HEADLINE_DIAL = 3;
    private static final double COST = 1.02;
    /** Compilation still raises throughput for about this long. */
    private static final double WARM_UP = 20;
    private static final double SLICE = 2;

    /** Under this quota three servers and their clients leave the machine's two cores some rest. */
    private static final double QUOTA = 0.2;
    /** The most first: one client alone would leave much of the code uncompiled, the more the more there is of it. */
    private static final int[] READERS = {100, 10, 1};
    private static final Stage SPREAD = new Stage(Stage.SERVERS, Stage.Clients.EVERYWHERE, QUOTA);
    private static final int TRADE_OFF_SERVERS = 5;
    /** As much for five servers as for three: with more they would compete for the processors that are theirs. */
    private static final double TRADE_OFF_QUOTA = 0.12;
    /** There are many cells; a quota's period is a hundredth of it. */
    private static final double READ_SLICE = 1;
    /** "Faster": a target whose tolerance ends at 1. */
    private static final double ABOVE = 1 + CellVerdict.SLACK;

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
                for (Mix mix : List.of(Mix.WRITES, Mix.READS, Mix.HALF)) {
                    for (Mode mode : List.of(Mode.IMMEDIATE, Mode.WEAK, Mode.CAD)) {
                        cells.add(indicative(mode, Mode.STOCK, mix, clients, dial));
                    }
                }
            }
        }
        return new Plan("full", cells, WARM_UP, SLICE, true);
    }

    /** Reads at every server that answers them, each with the same share of the CPUs; and how many such servers there should be. */
    static Plan reads() {
        List<Cell> cells = new ArrayList<>();
        for (int clients : READERS) {
            cells.add(headline("reads spread over all servers cost what reads without a promise cost",
                    Mode.ORCA, Mode.WEAK, Mix.READS, THROUGHPUT, clients, 0.95, SPREAD, HEADLINE_PAIRS));
            cells.add(headline("reads spread over all servers are faster than strong ones",
                    Mode.ORCA, Mode.STRONG, Mix.READS, THROUGHPUT, clients, ABOVE, SPREAD, CLEAR_PAIRS));
            cells.add(indicative(Mode.ORCA, Mode.STRONG, Mix.READS, clients, HEADLINE_DIAL)
                    .on(new Stage(Stage.SERVERS, Stage.Clients.EVERYWHERE_OVER_LEADER, QUOTA)));
        }
        Stage quota = new Stage(TRADE_OFF_SERVERS, Stage.Clients.EVERYWHERE, TRADE_OFF_QUOTA);
        // Latency is not what a server has that waits for its next period.
        Stage free = new Stage(TRADE_OFF_SERVERS, Stage.Clients.EVERYWHERE, 0);
        for (Mode fewer : List.of(Mode.ORCA_AT_4, Mode.ORCA_AT_3)) {
            cells.add(indicative(fewer, Mode.ORCA, Mix.READS, CLIENTS, HEADLINE_DIAL).on(quota));
            for (Cell.Figure latency : List.of(Cell.Figure.READ_P50, Cell.Figure.READ_P99)) {
                cells.add(new Cell("indicative", fewer, Mode.ORCA, Mix.FRESH, latency, CLIENTS, HEADLINE_DIAL, 0, OTHER_PAIRS, free));
            }
        }
        return new Plan("reads", cells, WARM_UP, READ_SLICE, true);
    }

    /** Shows that the launcher works; its figures mean nothing. */
    static Plan smoke(boolean patched) {
        List<Cell> cells = new ArrayList<>();
        Mode mode = patched ? Mode.CAD : Mode.STOCK_NO_SYNC;
        cells.add(new Cell("smoke", mode, Mode.STOCK, Mix.HALF, THROUGHPUT, CLIENTS, 1, 0, 2, Stage.AT_LEADER));
        if (patched) {
            cells.add(new Cell("smoke", Mode.ORCA, Mode.STRONG, Mix.READS, THROUGHPUT, CLIENTS, 1, 0, 1, SPREAD));
        }
        return new Plan("smoke", cells, 1, 0.5, false);
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
        return headline(claim, mode, over, mix, figure, CLIENTS, target, Stage.AT_LEADER, HEADLINE_PAIRS);
    }

    private static Cell headline(String claim, Mode mode, Mode over, Mix mix, Cell.Figure figure, int clients, double target,
            Stage stage, int pairs) {
        return new Cell(claim, mode, over, mix, figure, clients, HEADLINE_DIAL, target, pairs, stage);
    }

    private static Cell indicative(Mode mode, Mode over, Mix mix, int clients, double dial) {
        return new Cell("indicative", mode, over, mix, THROUGHPUT, clients, dial, 0, OTHER_PAIRS, Stage.AT_LEADER);
    }

    /** Load on a system whose clients have changed, before the next slice. */
    double reseatSeconds() {
        return warmUpSeconds / 4;
    }

    private Plan with(Stream<Cell> chosen) {
        return new Plan(name, chosen.collect(Collectors.toList()), warmUpSeconds, sliceSeconds, asserts);
    }

    /** The same with another number of voters in each system. */
    Plan servers(int servers) {
        return with(cells.stream().map(cell -> cell.on(cell.stage().with(servers))));
    }

    /** The cells whose servers need no hosts of their own. */
    Plan withoutHosts() {
        return with(cells.stream().filter(cell -> !cell.stage().onHosts()));
    }

    /** The cells whose id contains a text. */
    Plan only(String text) {
        return with(cells.stream().filter(cell -> cell.id().contains(text)));
    }

    boolean needsHosts() {
        return cells.stream().anyMatch(cell -> cell.stage().onHosts());
    }

    /** Cells that can be measured one after the other on the same live systems, not too many of them at once. */
    List<List<Cell>> groups() {
        Map<String, List<Cell>> groups = new LinkedHashMap<>();
        for (Cell cell : cells) {
            String key = cell.stage().onHosts() ? cell.stage().servers() + " hosts each"
                    : cell.hasTarget() ? cell.mode() + "/" + cell.over() : "others with " + cell.clients() + " clients";
            groups.computeIfAbsent(key, k -> new ArrayList<>()).add(cell);
        }
        return List.copyOf(groups.values());
    }
}

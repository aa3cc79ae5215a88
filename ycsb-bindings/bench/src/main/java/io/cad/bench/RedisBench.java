// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.Arguments;
import io.cad.zookeeper.testkit.ExitCode;
import io.cad.zookeeper.testkit.RunDirectory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Collectors;

/**
 * Command: ratios of Redis' modes, both systems alive at once and taking turns, as pairs of slices.
 *
 * <p>Exit codes as those of {@link ZkBench}.
 */
public final class RedisBench {
    private static final long BOOTSTRAP_SEED = 1;
    /** Nothing compiles at run time. */
    static final double WARM_UP = 2;
    /**
     * Logs of both groups after which fresh servers take over; the emulated disks keep a second copy of them. A virtual
     * machine that needs more memory than it had lately gets it slowly: servers then took twice the time an operation.
     */
    private static final long BYTES_PER_START = 3L << 29;
    /** A file system in memory: nobody waits for the write-back of the emulated disks' files, so it should cost nothing. */
    private static final Path MEMORY = Path.of("/dev/shm");

    private static final String USAGE = String.join("\n",
            "usage: RedisBench [options]",
            "  --plan NAME           quick (the headline ratios, each load over the dial), full or smoke (quick)",
            "  --only TEXT           only cells whose id contains this: .d3.0 has the headlines, then .draw, .d1.0, .d10.0",
            "  --pairs N             at most so many pairs of each cell; claims with fewer than planned stay undecided",
            "  --slice S             seconds of a slice (2 for the headline ratios, 1 for the others)",
            "  --data DIR            where the emulated disks are, up to 4 GiB (/dev/shm if it has that room, or else --out);",
            "                        disks without added latency are below --out",
            "  --redis DIR           the patched build's directory of programs",
            "  --stock DIR           the same of the unpatched build",
            "  --seed N              of loads and of the order within pairs (random)",
            "  --fi FILE             the failure-injector's program",
            "  --claims              print the table from the raw data, measure nothing",
            "  --out DIR             raw data; a run with the same directory goes on where the last one stopped (out/bench-redis)");

    /** Raw data of one pair, one JSON line. */
    record Pair(String cell, int pair, double slice, long seed, double foreignCores, RedisSubject.Sample subject, RedisSubject.Sample over) {
        double ratio(RedisCell of) {
            return subject.figure(of.cpu()) / over.figure(of.cpu());
        }
    }

    private final List<RedisCell> cells;
    private final boolean asserts;
    private final boolean claimsOnly;
    private final int pairs;
    private final Double slice;
    private final Path data;
    private final Path patched;
    private final Path stock;
    private final long seed;
    private final String fi;
    private final Path raw;

    private RedisBench(Arguments arguments) throws Arguments.BadArguments {
        String plan = arguments.get("plan", "quick");
        String only = arguments.get("only", "");
        this.cells = cells(plan).stream().filter(cell -> cell.id().contains(only)).collect(Collectors.toList());
        this.asserts = !plan.equals("smoke");
        this.claimsOnly = arguments.has("claims");
        this.pairs = (int) arguments.number("pairs", Integer.MAX_VALUE, 1);
        this.slice = arguments.has("slice") ? arguments.decimal("slice", 1, 0.1) : null;
        this.patched = Path.of(arguments.get("redis", ".")).toAbsolutePath().normalize();
        this.stock = Path.of(arguments.get("stock", ".")).toAbsolutePath().normalize();
        this.seed = arguments.number("seed", new Random().nextInt(Integer.MAX_VALUE), 0);
        this.fi = arguments.get("fi", null);
        this.raw = Path.of(arguments.get("out", "out/bench-redis")).toAbsolutePath().normalize().resolve("raw");
        this.data = arguments.has("data") ? Path.of(arguments.get("data", "")).toAbsolutePath().normalize()
                : MEMORY.toFile().getUsableSpace() > 3 * BYTES_PER_START ? MEMORY.resolve("cad-bench-redis") : raw.getParent();
    }

    private static List<RedisCell> cells(String plan) throws Arguments.BadArguments {
        switch (plan) {
            case "quick":
                return RedisCell.quick();
            case "full":
                return RedisCell.full();
            case "smoke":
                return RedisCell.smoke();
            default:
                throw new Arguments.BadArguments("--plan needs quick, full or smoke, not " + plan);
        }
    }

    public static void main(String[] line) {
        System.exit(run(line).code());
    }

    private static ExitCode run(String[] line) {
        try {
            Arguments arguments = new Arguments(line,
                    Set.of("plan", "only", "pairs", "slice", "data", "redis", "stock", "seed", "fi", "out"), Set.of("help", "claims"));
            if (arguments.has("help")) {
                System.out.println(USAGE);
                return ExitCode.HOLDS;
            }
            return new RedisBench(arguments).run();
        } catch (Arguments.BadArguments | IllegalArgumentException e) {
            System.err.println("RedisBench: " + e.getMessage() + "\n" + USAGE);
            return ExitCode.BAD_ARGUMENTS;
        } catch (Exception e) {
            e.printStackTrace();
            return ExitCode.CRASHED;
        }
    }

    private ExitCode run() throws Exception {
        if (!claimsOnly) {
            Files.createDirectories(raw);
            double seconds = 0;
            for (RedisCell cell : cells) {
                seconds += isDone(cell) ? 0 : cell.seconds(sliceOf(cell));
            }
            System.out.printf(Locale.ROOT, "%d cells, about %.0f minutes%n", cells.size(), seconds / 60);
        }
        for (RedisCell cell : cells) {
            if (!claimsOnly && !isDone(cell)) {
                measure(cell);
            }
        }
        StringBuilder table = new StringBuilder("| claim | figure | load | fsync | target | median | 95 % interval | pairs"
                + " | replies held | syncs | foreign cores | verdict | data |\n");
        table.append("| --- ".repeat(13)).append("|\n");
        ExitCode code = ExitCode.HOLDS;
        for (RedisCell cell : cells) {
            List<Pair> done = load(cell);
            ExitCode verdict = verdict(cell, done);
            code = code.and(verdict);
            if (!done.isEmpty()) {
                table.append(row(cell, done, verdict));
            }
        }
        if (!claimsOnly) {
            Files.writeString(raw.resolveSibling("claims.md"), table.toString());
        }
        System.out.println("\n" + table + "\nseed " + seed);
        return asserts ? code : ExitCode.HOLDS;
    }

    private boolean isDone(RedisCell cell) throws IOException {
        return load(cell).size() >= pairsOf(cell);
    }

    private int pairsOf(RedisCell cell) {
        return Math.min(pairs, cell.pairs());
    }

    private double sliceOf(RedisCell cell) {
        return slice == null ? cell.slice() : slice;
    }

    private static long held(List<Pair> pairs) {
        return pairs.stream().mapToLong(pair -> pair.subject().held()).sum();
    }

    private static Ratio ratio(RedisCell cell, List<Pair> pairs) {
        return Ratio.of(pairs.stream().map(pair -> pair.ratio(cell)).collect(Collectors.toList()), BOOTSTRAP_SEED);
    }

    /** A mix in which no reply waited says nothing about CAD; a claim needs all its pairs. */
    private static ExitCode verdict(RedisCell cell, List<Pair> pairs) {
        boolean untested = cell.mode() == RedisMode.CAD && cell.load() == RedisCell.Load.MIX && held(pairs) == 0;
        if (pairs.isEmpty() || untested || (cell.target() > 0 && pairs.size() < cell.pairs())) {
            return ExitCode.UNDECIDED;
        }
        return cell.target() == 0 || cell.isMet(ratio(cell, pairs)) ? ExitCode.HOLDS : ExitCode.VIOLATED;
    }

    private static String row(RedisCell cell, List<Pair> pairs, ExitCode verdict) {
        Ratio ratio = ratio(cell, pairs);
        String target = cell.target() == 0 ? "-" : (cell.cpu() ? "<= " : ">= ") + cell.target();
        return String.format(Locale.ROOT, "| %s | %s, %s over %s | %s, %d clients, pipeline %d | %s | %s | %.3f | %.3f to %.3f | %d | %d | %d | %.2f | %s | raw/%s.jsonl |%n",
                cell.claim(), cell.cpu() ? "CPU time an operation" : "throughput", cell.mode().label(), cell.over().label(),
                cell.load(), cell.clients(), cell.pipeline(), cell.dial() == 0 ? "raw" : cell.dial() + " ms", target, ratio.median(),
                ratio.low(), ratio.high(), ratio.pairs(), held(pairs), pairs.stream().mapToLong(pair -> pair.subject().syncs()).sum(),
                pairs.stream().mapToDouble(Pair::foreignCores).average().orElse(0),
                cell.target() == 0 ? "indicative" : verdict.name().toLowerCase(Locale.ROOT), cell.id());
    }

    private Path file(RedisCell cell) {
        return raw.resolve(cell.id() + ".jsonl");
    }

    private List<Pair> load(RedisCell cell) throws IOException {
        return RawData.load(file(cell), Pair.class);
    }

    private RedisSubject start(RunDirectory run, RedisMode mode) throws Exception {
        return RedisSubject.start(run, mode, mode.isPatched() ? patched : stock, stock.resolve("redis-benchmark"), fi, seed);
    }

    private void measure(RedisCell cell) throws Exception {
        System.out.println(cell.id() + ": " + cell.mode().describe() + " over " + cell.over().describe());
        while (!isDone(cell)) {
            measureOnFreshServers(cell, cell.dial() == 0 ? raw.getParent() : data, sliceOf(cell));
        }
    }

    /** At least one pair, and more until the cell is done or the servers' logs are long. */
    private void measureOnFreshServers(RedisCell cell, Path place, double slice) throws Exception {
        try (RunDirectory run = RunDirectory.create(place, "run");
                RedisSubject subject = start(run, cell.mode());
                RedisSubject over = start(run, cell.over())) {
            subject.setSyncLatency(cell.dial());
            over.setSyncLatency(cell.dial());
            for (double warm = 0; warm < WARM_UP; warm += slice) {
                subject.slice(cell, slice);
                over.slice(cell, slice);
            }
            List<Long> ours = new ArrayList<>(subject.pids());
            ours.addAll(over.pids());
            int pair = load(cell).size();
            do {
                boolean subjectFirst = new SplittableRandom(seed + cell.id().hashCode() + pair).nextBoolean();
                Pair measured = pair(cell, pair, slice, subject, over, ours, subjectFirst);
                RawData.append(file(cell), measured);
                pair++;
                System.out.printf(Locale.ROOT, "%s pair %d/%d: %.0f and %.0f ops/s, ratio %.3f, foreign load %.2f cores%n", cell.id(),
                        pair, pairsOf(cell), measured.subject().opsPerSecond(), measured.over().opsPerSecond(), measured.ratio(cell),
                        measured.foreignCores());
            } while (pair < pairsOf(cell) && subject.logBytes() + over.logBytes() < BYTES_PER_START);
            run.closeAndDelete();
        }
    }

    /** The time of redis-benchmark counts as ours: it has ended when the slice has. */
    private Pair pair(RedisCell cell, int number, double slice, RedisSubject subject, RedisSubject over, List<Long> servers,
            boolean subjectFirst) throws IOException, InterruptedException {
        double machine = CpuMeter.ofMachine();
        double own = CpuMeter.ofProcesses(servers) + CpuMeter.ofSelfAndEnded();
        long begin = System.nanoTime();
        RedisSubject.Sample first = (subjectFirst ? subject : over).slice(cell, slice);
        RedisSubject.Sample second = (subjectFirst ? over : subject).slice(cell, slice);
        double seconds = (System.nanoTime() - begin) / 1e9;
        double used = CpuMeter.ofProcesses(servers) + CpuMeter.ofSelfAndEnded() - own;
        double foreign = Math.max(0, CpuMeter.ofMachine() - machine - used) / seconds;
        return new Pair(cell.id(), number, slice, seed, foreign, subjectFirst ? first : second, subjectFirst ? second : first);
    }
}

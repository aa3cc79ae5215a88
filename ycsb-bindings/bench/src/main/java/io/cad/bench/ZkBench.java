// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.Arguments;
import io.cad.zookeeper.testkit.ExitCode;
import io.cad.zookeeper.testkit.RunDirectory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;

/**
 * Command: throughput and cost ratios, both systems alive at once and taking turns, as pairs of slices.
 *
 * <p>Exit codes: 0 every target met, 1 one missed, 2 undecided (a row that means nothing, or the system under test is
 * not built), 254 wrong arguments, 255 crashed.
 */
public final class ZkBench {
    private static final String USAGE = String.join("\n",
            "usage: ZkBench [options]",
            "  --plan NAME           quick, full or smoke (quick)",
            "  --only TEXT           only cells whose id contains this",
            "  --pairs N             at most so many pairs of each cell, for a first look; claims stay undecided",
            "  --server-jar JAR      patched server",
            "  --plugin JAR          plugin for the patched server; may come more than once",
            "  --servers N           voters of each system (3)",
            "  --seed N              of loads and of the order within pairs (random)",
            "  --fi FILE             the failure-injector's program",
            "  --out DIR             raw data; a run with the same directory goes on where the last one stopped (out/bench-zk)");

    /** With five of each system two cores compare little but their own load. */
    private static final int SERVERS = 3;

    private final Plan plan;
    private final Jars jars;
    private final int pairs;
    private final int servers;
    private final long seed;
    private final String fi;
    private final Path out;
    private final String setup;

    private ZkBench(Arguments arguments) throws Arguments.BadArguments, IOException {
        this.jars = Jars.of(arguments);
        this.plan = plan(arguments.get("plan", "quick"), arguments.get("only", ""));
        this.pairs = (int) arguments.number("pairs", Integer.MAX_VALUE, 1);
        this.servers = (int) arguments.number("servers", SERVERS, 1);
        this.seed = arguments.number("seed", new Random().nextInt(Integer.MAX_VALUE), 0);
        this.fi = arguments.get("fi", null);
        this.out = Path.of(arguments.get("out", "out/bench-zk")).toAbsolutePath().normalize();
        this.setup = "jars=" + jars.fingerprint() + " servers=" + servers + " slice=" + plan.sliceSeconds() + " warmUp=" + plan.warmUpSeconds()
                + " cpus=" + Runtime.getRuntime().availableProcessors() + " java=" + Runtime.version().feature();
    }

    private Plan plan(String name, String only) throws Arguments.BadArguments {
        Plan whole = switch (name) {
            case "quick" -> Plan.quick();
            case "full" -> Plan.full();
            case "smoke" -> Plan.smoke(jars.present());
            default -> throw new Arguments.BadArguments("--plan needs quick, full or smoke, not " + name);
        };
        Plan chosen = whole.only(only);
        if (chosen.cells().isEmpty()) {
            throw new Arguments.BadArguments("--only " + only + " leaves no cell of plan " + name);
        }
        return chosen;
    }

    public static void main(String[] line) {
        System.exit(run(line).code());
    }

    private static ExitCode run(String[] line) {
        try {
            Arguments arguments = new Arguments(line,
                    Set.of("plan", "only", "pairs", "server-jar", "plugin", "servers", "seed", "fi", "out"), Set.of("help"));
            if (arguments.has("help")) {
                System.out.println(USAGE);
                return ExitCode.HOLDS;
            }
            return new ZkBench(arguments).run();
        } catch (Arguments.BadArguments | IllegalArgumentException e) {
            System.err.println("ZkBench: " + e.getMessage() + "\n" + USAGE);
            return ExitCode.BAD_ARGUMENTS;
        } catch (Exception e) {
            e.printStackTrace();
            return ExitCode.CRASHED;
        }
    }

    private ExitCode run() throws Exception {
        System.out.printf("plan %s: %d cells, %d servers each, seed %d, raw data in %s%n", plan.name(), plan.cells().size(), servers, seed, out);
        Files.createDirectories(out);
        Path raw = out.resolve("raw");
        for (List<Cell> group : plan.groups()) {
            measure(raw, group);
        }
        String table = ClaimsTable.markdown(plan.cells(), raw);
        Path file = out.resolve("claims-" + plan.name() + ".md");
        Files.writeString(file, table);
        System.out.println("\n" + table);
        ExitCode code = ExitCode.HOLDS;
        for (Cell cell : plan.cells()) {
            code = code.and(CellVerdict.of(cell, PairResult.load(raw, cell.id())).code());
        }
        System.out.println("table in " + file + ", seed " + seed);
        return plan.asserts() ? code : ExitCode.HOLDS;
    }

    private int pairsOf(Cell cell) {
        return Math.min(pairs, cell.pairs());
    }

    /**
     * Measures the missing pairs of cells that share systems and clients, an equal part of them on each start: what
     * the compiler made of a process lasts as long as the process, and pairs of one start share it.
     */
    private void measure(Path raw, List<Cell> group) throws Exception {
        Map<String, Cell> byId = new LinkedHashMap<>();
        for (Cell cell : group) {
            // Figures of one load share their slices; the one that wants more pairs decides.
            byId.merge(cell.id(), cell, (one, other) -> one.pairs() >= other.pairs() ? one : other);
        }
        int starts = byId.values().stream().mapToInt(Cell::starts).max().orElse(1);
        for (int start = 1; start <= starts; start++) {
            Map<Cell, Integer> missing = new LinkedHashMap<>();
            for (Cell cell : byId.values()) {
                List<PairResult> done = PairResult.load(raw, cell.id());
                if (done.stream().anyMatch(pair -> !pair.setup().equals(setup))) {
                    throw new IllegalArgumentException(PairResult.file(raw, cell.id()) + " was measured with " + done.get(0).setup()
                            + ", not with " + setup + "; give another --out");
                }
                int until = pairsOf(cell) * start / starts;
                if (done.size() < until) {
                    missing.put(cell, until);
                }
            }
            if (!missing.isEmpty()) {
                measure(raw, group, missing);
            }
        }
    }

    /** @param missing how many pairs each cell has afterwards */
    private void measure(Path raw, List<Cell> group, Map<Cell, Integer> missing) throws Exception {
        Set<Mode> modes = new LinkedHashSet<>();
        missing.keySet().forEach(cell -> modes.addAll(List.of(cell.mode(), cell.over())));
        int clients = missing.keySet().iterator().next().clients();
        boolean allocations = group.stream().anyMatch(cell -> cell.figure() == Cell.Figure.BYTES_PER_OP);
        Map<Mode, Subject> subjects = new EnumMap<>(Mode.class);
        try (RunDirectory run = RunDirectory.create(out, "run")) {
            for (Mode mode : modes) {
                System.out.println("start " + mode.label() + ": " + mode.describe());
                subjects.put(mode, Subject.start(run, mode, jars, fi, servers, clients, seed, allocations));
            }
            System.out.printf("warm up %d systems, %.0f s each%n", subjects.size(), plan.warmUpSeconds());
            // In turns, so that all compile under the same conditions.
            for (double warm = 0; warm < plan.warmUpSeconds(); warm += plan.sliceSeconds()) {
                for (Subject subject : subjects.values()) {
                    subject.slice(Cell.Mix.HALF, plan.sliceSeconds());
                }
            }
            for (Map.Entry<Cell, Integer> one : missing.entrySet()) {
                Cell cell = one.getKey();
                measure(raw, cell, one.getValue(), subjects.get(cell.mode()), subjects.get(cell.over()), subjects.values());
            }
            run.closeAndDelete();
        }
    }

    private void measure(Path raw, Cell cell, int until, Subject subject, Subject over, Iterable<Subject> all) throws Exception {
        subject.setSyncLatency(cell.dial());
        over.setSyncLatency(cell.dial());
        // One unmeasured slice each: the first one after a change of load or dial still shows the old one.
        subject.slice(cell.mix(), plan.sliceSeconds());
        over.slice(cell.mix(), plan.sliceSeconds());
        List<Long> ours = new ArrayList<>();
        ours.add(ProcessHandle.current().pid());
        all.forEach(one -> ours.addAll(one.pids()));
        Random order = new Random(seed + cell.id().hashCode());
        for (int pair = PairResult.load(raw, cell.id()).size(); pair < until; pair++) {
            double machine = CpuMeter.ofMachine();
            double own = CpuMeter.ofProcesses(ours);
            long begin = System.nanoTime();
            boolean subjectFirst = order.nextBoolean();
            Subject.Sample first = (subjectFirst ? subject : over).slice(cell.mix(), plan.sliceSeconds());
            Subject.Sample second = (subjectFirst ? over : subject).slice(cell.mix(), plan.sliceSeconds());
            double seconds = (System.nanoTime() - begin) / 1e9;
            double foreign = Math.max(0, (CpuMeter.ofMachine() - machine) - (CpuMeter.ofProcesses(ours) - own)) / seconds;
            PairResult result = new PairResult(cell.id(), pair, servers, setup, seed, foreign,
                    subjectFirst ? first : second, subjectFirst ? second : first);
            result.append(raw);
            System.out.printf(Locale.ROOT, "%s pair %d/%d: %.0f and %.0f ops/s, %s ratio %.3f, foreign load %.2f cores%n",
                    cell.id(), pair + 1, pairsOf(cell), result.subject().opsPerSecond(), result.over().opsPerSecond(),
                    cell.figure().name().toLowerCase(Locale.ROOT), result.ratio(cell.figure()), foreign);
        }
    }
}

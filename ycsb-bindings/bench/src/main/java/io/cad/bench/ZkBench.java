// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.Arguments;
import io.cad.zookeeper.testkit.ExitCode;
import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.machine.NetnsHosts;
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
import java.util.Optional;
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
            "  --plan NAME           quick, full, reads or smoke (quick); reads needs root, for hosts and quotas of CPU time",
            "  --only TEXT           only cells whose id contains this",
            "  --pairs N             at most so many pairs of each cell, for a first look; claims stay undecided",
            "  --server-jar JAR      patched server",
            "  --plugin JAR          plugin for the patched server; may come more than once",
            "  --servers N           voters of each system, in place of the plan's",
            "  --seed N              of loads and of the order within pairs (random)",
            "  --fi FILE             the failure-injector's program",
            "  --out DIR             raw data; a run with the same directory goes on where the last one stopped (out/bench-zk)");

    private final Plan plan;
    private final Jars jars;
    private final String fingerprint;
    private final int pairs;
    private final long seed;
    private final String fi;
    private final Path out;

    private ZkBench(Arguments arguments) throws Arguments.BadArguments, IOException {
        this.jars = Jars.of(arguments);
        this.fingerprint = jars.fingerprint();
        this.plan = plan(arguments.get("plan", "quick"), arguments.get("only", ""), (int) arguments.number("servers", 0, 1));
        this.pairs = (int) arguments.number("pairs", Integer.MAX_VALUE, 1);
        this.seed = arguments.number("seed", new Random().nextInt(Integer.MAX_VALUE), 0);
        this.fi = arguments.get("fi", null);
        this.out = Path.of(arguments.get("out", "out/bench-zk")).toAbsolutePath().normalize();
    }

    /** What must not change between the pairs of a cell. */
    private String setup(Cell cell) {
        return "jars=" + fingerprint + " servers=" + cell.stage().servers() + " slice=" + plan.sliceSeconds() + " warmUp="
                + plan.warmUpSeconds() + " by=" + warmUpClients(cell) + " cpus=" + Processors.ALL
                + " java=" + Runtime.version().feature();
    }

    /** One client alone would leave much of the code uncompiled, and the more the more there is of it. */
    private static int warmUpClients(Cell cell) {
        return Math.max(cell.clients(), Plan.CLIENTS);
    }

    private Plan plan(String name, String only, int servers) throws Arguments.BadArguments {
        Plan whole = switch (name) {
            case "quick" -> Plan.quick();
            case "full" -> Plan.full();
            case "reads" -> Plan.reads();
            case "smoke" -> Plan.smoke(jars.present());
            default -> throw new Arguments.BadArguments("--plan needs quick, full, reads or smoke, not " + name);
        };
        Plan chosen = whole.only(only);
        if (chosen.cells().isEmpty()) {
            throw new Arguments.BadArguments("--only " + only + " leaves no cell of plan " + name);
        }
        return servers == 0 ? chosen : chosen.servers(servers);
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
        Optional<String> missing = plan.needsHosts() ? NetnsHosts.missingForLimits(fi) : Optional.empty();
        if (missing.isPresent()) {
            System.out.println("undecided: " + missing.get() + " (fi doctor)");
            return plan.asserts() ? ExitCode.UNDECIDED : measure(plan.withoutHosts());
        }
        return measure(plan);
    }

    private ExitCode measure(Plan feasible) throws Exception {
        if (!feasible.needsHosts()) {
            return measureAndJudge(feasible);
        }
        try (Processors awake = Processors.awake()) {
            return measureAndJudge(feasible);
        }
    }

    private ExitCode measureAndJudge(Plan feasible) throws Exception {
        System.out.printf("plan %s: %d cells, seed %d, raw data in %s%n", feasible.name(), feasible.cells().size(), seed, out);
        Files.createDirectories(out);
        Path raw = out.resolve("raw");
        for (List<Cell> group : feasible.groups()) {
            measure(raw, group);
        }
        String table = ClaimsTable.markdown(feasible.cells(), raw);
        Path file = out.resolve("claims-" + feasible.name() + ".md");
        Files.writeString(file, table);
        System.out.println("\n" + table);
        ExitCode code = ExitCode.HOLDS;
        for (Cell cell : feasible.cells()) {
            code = code.and(CellVerdict.of(cell, PairResult.load(raw, cell.id())).code());
        }
        System.out.println("table in " + file + ", seed " + seed);
        return feasible.asserts() ? code : ExitCode.HOLDS;
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
                String setup = setup(cell);
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
        Cell first = missing.keySet().iterator().next();
        Stage stage = first.stage();
        boolean allocations = group.stream().anyMatch(cell -> cell.figure() == Cell.Figure.BYTES_PER_OP);
        Map<Mode, Subject> subjects = new EnumMap<>(Mode.class);
        if (stage.onHosts()) {
            Processors.share(List.of());
        }
        try (RunDirectory run = RunDirectory.create(out, "run")) {
            for (Mode mode : modes) {
                System.out.println("start " + mode.label() + ": " + mode.describe());
                Subject subject = Subject.start(new Deployment.Site(run, jars, fi, seed), mode, stage.servers(), stage.onHosts(), allocations);
                subject.seat(warmUpClients(first), stage.isSpread(false));
                subjects.put(mode, subject);
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

    /** What the cells of a group do not share. */
    private void prepare(Cell cell, Subject subject, boolean denominator) throws Exception {
        Stage stage = cell.stage();
        subject.setSyncLatency(cell.dial());
        if (stage.onHosts()) {
            subject.limitProcessors(0);
            Processors.share(subject.pids());
        }
        if (subject.seat(cell.clients(), stage.isSpread(denominator))) {
            // Another number of clients takes other ways through the code; a quota would make their compilation last.
            for (double warm = 0; warm < plan.reseatSeconds(); warm += plan.sliceSeconds()) {
                subject.slice(cell.mix(), plan.sliceSeconds());
            }
        }
        if (stage.hasQuota()) {
            subject.limitProcessors(stage.quota());
            Processors.split(subject.pids());
        }
    }

    private void measure(Path raw, Cell cell, int until, Subject subject, Subject over, Iterable<Subject> all) throws Exception {
        prepare(cell, subject, false);
        prepare(cell, over, true);
        // One unmeasured slice each: the first one after a change of load or dial still shows the old one.
        subject.slice(cell.mix(), plan.sliceSeconds());
        over.slice(cell.mix(), plan.sliceSeconds());
        List<Long> ours = new ArrayList<>();
        all.forEach(one -> ours.addAll(one.pids()));
        Random order = new Random(seed + cell.id().hashCode());
        for (int pair = PairResult.load(raw, cell.id()).size(); pair < until; pair++) {
            ForeignLoad load = ForeignLoad.begin(ours);
            boolean subjectFirst = order.nextBoolean();
            Subject.Sample first = (subjectFirst ? subject : over).slice(cell.mix(), plan.sliceSeconds());
            Subject.Sample second = (subjectFirst ? over : subject).slice(cell.mix(), plan.sliceSeconds());
            double foreign = load.cores();
            PairResult result = new PairResult(cell.id(), pair, cell.stage().servers(), setup(cell), seed, foreign,
                    subjectFirst ? first : second, subjectFirst ? second : first);
            result.append(raw);
            System.out.printf(Locale.ROOT, "%s pair %d/%d: %.0f and %.0f ops/s, %s ratio %.3f, foreign load %.2f cores%n",
                    cell.id(), pair + 1, pairsOf(cell), result.subject().opsPerSecond(), result.over().opsPerSecond(),
                    cell.figure().name().toLowerCase(Locale.ROOT), result.ratio(cell.figure()), foreign);
        }
    }
}

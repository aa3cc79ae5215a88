// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.Arguments;
import io.cad.zookeeper.testkit.ExitCode;
import io.cad.zookeeper.testkit.JvmProfile;
import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.machine.NetnsHosts;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Command: how long clients wait when a server fails, of ORCA and of stock, both alive at once and failing in turns.
 *
 * <p>Exit codes: 0 the waits are as promised, 1 longer, or a server of ours refused to start, 2 undecided (see
 * {@link FailoverReport}, or this machine cannot make a failure of which nobody is told), 254 wrong arguments, 255 crashed.
 */
public final class FailoverBench {
    static final Mode OURS = Mode.ORCA;
    static final Mode STOCK = Mode.STOCK;
    /** The defaults of the lease settings, written down because the promise is made of them. */
    static final int HEARTBEAT_MILLIS = 50;
    static final int LEASE_MILLIS = 150;
    static final int REMOVAL_MILLIS = 194;
    static final double SYNC_MILLIS = 3;

    /** In both systems: who hears nothing from its leader for two seconds looks for another one. */
    private static final Map<String, String> PATIENCE = Map.of("tickTime", "500", "initLimit", "20", "syncLimit", "4");
    private static final Map<String, String> LEASES = Map.of("cad.heartbeat", Integer.toString(HEARTBEAT_MILLIS),
            "cad.lease", Integer.toString(LEASE_MILLIS), "cad.removal", Integer.toString(REMOVAL_MILLIS));

    private static final String USAGE = String.join("\n",
            "usage: FailoverBench [options]",
            "  --only TEXT           only faults whose name contains this: " + labels(),
            "  --trials N            of each fault and system (3)",
            "  --servers N           voters of each system (3)",
            "  --smoke               one trial, whatever it gives, without the faults that this machine cannot make",
            "  --claims              print the tables from the raw data, measure nothing",
            "  --server-jar JAR      patched server",
            "  --plugin JAR          plugin for the patched server; may come more than once",
            "  --seed N              of the order and of the victims (random)",
            "  --fi FILE             the failure-injector's program",
            "  --out DIR             raw data; a run with the same directory goes on where the last one stopped (out/bench-zk-failover)");

    private final Jars jars;
    private final List<Fault> faults;
    private final int trials;
    private final int servers;
    private final boolean smoke;
    private final boolean claimsOnly;
    private final long seed;
    private final String fi;
    private final Path out;
    private final Path raw;
    /** What must not change between the trials of a fault. */
    private final String setup;

    private FailoverBench(Arguments arguments) throws Exception {
        String only = arguments.get("only", "");
        this.jars = Jars.of(arguments);
        this.faults = Arrays.stream(Fault.values()).filter(fault -> fault.label().contains(only)).collect(Collectors.toList());
        if (faults.isEmpty()) {
            throw new Arguments.BadArguments("--only " + only + " leaves none of " + labels());
        }
        this.smoke = arguments.has("smoke");
        this.trials = (int) arguments.number("trials", smoke ? 1 : 3, 1);
        this.servers = (int) arguments.number("servers", Stage.SERVERS, 3);
        this.claimsOnly = arguments.has("claims");
        this.seed = arguments.number("seed", new Random().nextInt(Integer.MAX_VALUE), 0);
        this.fi = arguments.get("fi", null);
        this.out = Path.of(arguments.get("out", "out/bench-zk-failover")).toAbsolutePath().normalize();
        this.raw = out.resolve("raw");
        this.setup = "jars=" + jars.fingerprint() + " servers=" + servers + " fsync=" + SYNC_MILLIS + " silence=2000 cpus="
                + Runtime.getRuntime().availableProcessors() + " java=" + Runtime.version().feature();
    }

    private static String labels() {
        return Arrays.stream(Fault.values()).map(Fault::label).collect(Collectors.joining(", "));
    }

    public static void main(String[] line) {
        System.exit(run(line).code());
    }

    private static ExitCode run(String[] line) {
        try {
            Arguments arguments = new Arguments(line, Set.of("only", "trials", "servers", "server-jar", "plugin", "seed", "fi", "out"),
                    Set.of("smoke", "claims", "help"));
            if (arguments.has("help")) {
                System.out.println(USAGE);
                return ExitCode.HOLDS;
            }
            return new FailoverBench(arguments).run();
        } catch (Arguments.BadArguments | IllegalArgumentException e) {
            System.err.println("FailoverBench: " + e.getMessage() + "\n" + USAGE);
            return ExitCode.BAD_ARGUMENTS;
        } catch (Exception e) {
            e.printStackTrace();
            return ExitCode.CRASHED;
        }
    }

    private ExitCode run() throws Exception {
        ExitCode code = ExitCode.HOLDS;
        if (!claimsOnly) {
            Optional<String> missing = NetnsHosts.missing(fi);
            List<Fault> possible = faults.stream().filter(fault -> missing.isEmpty() || !fault.needsHosts()).collect(Collectors.toList());
            if (possible.size() < faults.size()) {
                System.out.println("undecided: " + missing.get() + " (fi doctor); only " + possible + " can be measured");
                code = ExitCode.UNDECIDED;
            }
            code = code.and(measure(possible, missing.isEmpty()));
        }
        List<FailoverResult> results = new ArrayList<>();
        for (Fault fault : faults) {
            results.addAll(load(fault));
        }
        FailoverReport report = FailoverReport.of(results);
        System.out.println("\n" + report.text());
        if (!claimsOnly) {
            Files.writeString(out.resolve("failover.md"), report.text());
            System.out.println("tables in " + out.resolve("failover.md") + ", seed " + seed);
        }
        return smoke && code != ExitCode.VIOLATED ? ExitCode.HOLDS : code.and(report.code());
    }

    private List<FailoverResult> load(Fault fault) throws Exception {
        return RawData.load(FailoverResult.file(raw, fault), FailoverResult.class);
    }

    /** Whether a trial is still to be measured. */
    private boolean isMissing(Fault fault, Mode mode, int trial, String where) throws Exception {
        List<FailoverResult> done = load(fault);
        if (done.stream().anyMatch(one -> !one.setup().equals(where))) {
            throw new IllegalArgumentException(FailoverResult.file(raw, fault) + " was measured with " + done.get(0).setup()
                    + ", not with " + where + "; give another --out");
        }
        return done.stream().noneMatch(one -> one.system().equals(mode.label()) && one.trial() == trial);
    }

    /** Ends early, and leaves the servers' files, when one of ours refuses to start. */
    private ExitCode measure(List<Fault> possible, boolean onHosts) throws Exception {
        List<Mode> modes = List.of(OURS, STOCK);
        String where = setup + (onHosts ? "" : " loopback");
        System.out.printf("%d servers each, an fsync takes %.0f ms, %d trials of %s, seed %d, raw data in %s%n", servers, SYNC_MILLIS,
                trials, possible, seed, raw);
        Random random = new Random(seed);
        Map<Mode, FailoverTrial> systems = new HashMap<>();
        Files.createDirectories(out);
        try (RunDirectory run = RunDirectory.create(out, "run")) {
            for (int trial = 0; trial < trials; trial++) {
                for (Fault fault : possible) {
                    boolean oursFirst = random.nextBoolean();
                    for (Mode mode : oursFirst ? modes : List.of(STOCK, OURS)) {
                        if (isMissing(fault, mode, trial, where)) {
                            start(run, modes, systems, onHosts);
                            FailoverResult result = strike(systems.get(mode), fault, trial, random, where);
                            if (mode == OURS && result.refusedToStart()) {
                                System.out.println("violated: " + mode.label() + " refused to start; the files are in " + run.path());
                                return ExitCode.VIOLATED;
                            }
                        }
                    }
                }
            }
            run.closeAndDelete();
            return ExitCode.HOLDS;
        }
    }

    /** Both systems, at the first use. */
    private void start(RunDirectory run, List<Mode> modes, Map<Mode, FailoverTrial> systems, boolean onHosts) throws Exception {
        for (Mode mode : modes) {
            if (!systems.containsKey(mode)) {
                System.out.println("start " + mode.label() + ": " + mode.describe());
                Map<String, String> cfg = new HashMap<>(PATIENCE);
                if (mode == OURS) {
                    cfg.putAll(LEASES);
                }
                Deployment system = new Deployment.Site(run, jars, fi, seed).start(mode, servers, onHosts, JvmProfile.TEST, cfg);
                system.ensemble().setSyncLatency(SYNC_MILLIS);
                systems.put(mode, new FailoverTrial(system));
            }
        }
    }

    private FailoverResult strike(FailoverTrial system, Fault fault, int trial, Random random, String where) throws Exception {
        long begin = System.nanoTime();
        FailoverResult result = system.run(fault, trial, random, where, seed);
        RawData.append(FailoverResult.file(raw, fault), result);
        System.out.printf(Locale.ROOT, "%s of %s, trial %d/%d: no old item read for %.0f ms, no fresh one for %.0f, none written for %.0f;"
                        + " took %.0f s, foreign load %.2f cores%s%n", fault.label(), result.system(), trial + 1, trials,
                result.answers().get(Probe.Kind.OLD).silence(), result.answers().get(Probe.Kind.FRESH).silence(),
                result.answers().get(Probe.Kind.WRITE).silence(), (System.nanoTime() - begin) / 1e9, result.foreignCores(),
                result.refusedToStart() ? "; refused to start: " + result.refusal() : "");
        return result;
    }
}

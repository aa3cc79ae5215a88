// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import io.cad.zookeeper.testkit.Arguments;
import io.cad.zookeeper.testkit.Ensemble;
import io.cad.zookeeper.testkit.EnsembleConfig;
import io.cad.zookeeper.testkit.ExitCode;
import io.cad.zookeeper.testkit.PowerLossTrial;
import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.disk.FiDisk;
import io.cad.zookeeper.testkit.history.HistoryFile;
import io.cad.zookeeper.testkit.load.LoadSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

/**
 * Command: the same load and the same power loss in each mode, side by side.
 *
 * <p>Exit codes: 0 the weak modes went back in time and the others did not, 1 a mode that promises otherwise lost what
 * had been read, 2 undecided (see {@link DemoVerdict}), 254 wrong arguments, 255 crashed.
 */
public final class Demo {
    private static final int KEYS = 10_000;
    private static final int VALUE_BYTES = 100;
    private static final double ZIPFIAN = 0.99;
    private static final double READ_SHARE = 0.6;
    /** Most reads look at what somebody wrote a moment ago: that is the data at stake. */
    private static final double FRESH_SHARE = 0.7;

    private static final String USAGE = String.join("\n",
            "usage: demo [options]",
            "  --server-jar JAR      patched server; without it only the stock modes run",
            "  --plugin JAR          plugin for the patched server; may come more than once",
            "  --servers N           voters (5)",
            "  --clients N           sessions, spread over the servers (32)",
            "  --seconds S           load before the power loss (8)",
            "  --warm-up S           load before that (8)",
            "  --sync-latency MS     how long an fsync takes on every disk (3)",
            "  --flush-interval MS   cad.flush.interval of weak, CAD and ORCA alike (200)",
            "  --seed N              of the load, the same in each mode (random)",
            "  --fi FILE             the failure-injector's program",
            "  --out DIR             where results, histories and the servers' logs go (out/demo)",
            "  --keep                leave an ensemble of the last mode running");

    private final Arguments arguments;
    private final long seed;
    private final Path out;
    private final Jars jars;
    private final int servers;
    private final double loadSeconds;
    private final double warmUpSeconds;
    private final double latency;
    private final long flushInterval;
    private final LoadSpec spec;

    private Demo(Arguments arguments) throws Arguments.BadArguments {
        this.arguments = arguments;
        this.seed = arguments.number("seed", new Random().nextInt(Integer.MAX_VALUE), 0);
        this.out = Path.of(arguments.get("out", "out/demo")).toAbsolutePath().normalize();
        this.jars = Jars.of(arguments);
        this.servers = (int) arguments.number("servers", 5, 1);
        this.loadSeconds = arguments.decimal("seconds", 8, 0.1);
        this.warmUpSeconds = arguments.decimal("warm-up", 8, 0.1);
        this.latency = arguments.decimal("sync-latency", 3, 0);
        this.flushInterval = arguments.number("flush-interval", 200, 0);
        this.spec = new LoadSpec((int) arguments.number("clients", 32, 1), KEYS, VALUE_BYTES, ZIPFIAN, READ_SHARE, FRESH_SHARE, seed);
    }

    public static void main(String[] line) {
        System.exit(run(line).code());
    }

    private static ExitCode run(String[] line) {
        try {
            Arguments arguments = new Arguments(line,
                    Set.of("server-jar", "plugin", "servers", "clients", "seconds", "warm-up", "sync-latency", "flush-interval", "seed", "fi", "out"),
                    Set.of("keep", "help"));
            if (arguments.has("help")) {
                System.out.println(USAGE);
                return ExitCode.HOLDS;
            }
            return new Demo(arguments).run();
        } catch (Arguments.BadArguments | IllegalArgumentException e) {
            System.err.println("demo: " + e.getMessage() + "\n" + USAGE);
            return ExitCode.BAD_ARGUMENTS;
        } catch (Exception e) {
            e.printStackTrace();
            return ExitCode.CRASHED;
        }
    }

    private ExitCode run() throws Exception {
        List<Mode> modes = jars.present()
                ? List.of(Mode.STOCK_NO_SYNC, Mode.WEAK, Mode.STRONG, Mode.IMMEDIATE, Mode.CAD, Mode.ORCA)
                : List.of(Mode.STOCK_NO_SYNC, Mode.STOCK);

        System.out.printf("%d servers on loopback, %d clients, %d nodes of %d bytes, %.0f %% reads, fsync takes %.1f ms,%n"
                        + "background flush every %d ms where acknowledgements do not wait for it, seed %d%n",
                servers, spec.clients(), KEYS, VALUE_BYTES, 100 * READ_SHARE, latency, flushInterval, seed);
        Files.createDirectories(out);
        List<DemoRow> rows = new ArrayList<>();
        try (RunDirectory run = RunDirectory.create(out, "run")) {
            for (Mode mode : modes) {
                int number = rows.size() + 1;
                rows.add(DemoAttempts.of(attempt -> lose(run, mode, attempt, number, modes.size())));
            }
            ExitCode verdict = report(rows, run.path(), jars.present());
            if (arguments.has("keep")) {
                keep(run, modes.get(modes.size() - 1));
            } else {
                System.out.println("To try one yourself: make demo ARGS=--keep leaves an ensemble running and says how to connect.");
            }
            System.out.println("seed " + seed);
            return verdict;
        }
    }

    /** One mode's load and power loss. */
    private DemoRow lose(RunDirectory run, Mode mode, int attempt, int number, int of) throws Exception {
        String name = attempt == 1 ? mode.label() : mode.label() + "-attempt" + attempt;
        String prefix = "[" + number + "/" + of + "] " + mode.label() + " ";
        System.out.println(prefix + "starts");
        EnsembleConfig config = new EnsembleConfig(mode.build(jars.serverJar(), jars.plugins()), servers)
                .name(name).cfg(mode.cfg()).cfg(flushSettings(mode)).cfg(mode.patientLeases()).disks(FiDisk.provider(arguments.get("fi", null), false, seed));
        try (Ensemble ensemble = Ensemble.start(run, config);
                PowerLossTrial trial = new PowerLossTrial(ensemble, spec)) {
            ModeCheck.requireActive(mode, ensemble);
            ensemble.setSyncLatency(latency);
            System.out.printf("%swarms up for %.0f s%n", prefix, warmUpSeconds);
            trial.warmUp(duration(warmUpSeconds));
            System.out.printf("%sruns for %.0f s, then all servers lose their power%n", prefix, loadSeconds);
            PowerLossTrial.Result result = trial.run(duration(loadSeconds), ensemble.servers());
            DemoRow row = DemoRow.of(mode, result);
            System.out.println(prefix + row.oneLine());
            HistoryFile.write(run.path().resolve("history-" + name + ".jsonl"), result.ops());
            return row;
        }
    }

    /**
     * The same background flush for every mode that acknowledges before it. At the default of 10 ms some server of five
     * has synced almost everything at any moment, and a demo would have to wait long for the loss that a weak mode allows.
     */
    private Map<String, String> flushSettings(Mode mode) {
        return Set.of(Mode.WEAK, Mode.CAD, Mode.ORCA).contains(mode) ? Map.of("cad.flush.interval", Long.toString(flushInterval)) : Map.of();
    }

    private static Duration duration(double seconds) {
        return Duration.ofMillis((long) (1000 * seconds));
    }

    private ExitCode report(List<DemoRow> rows, Path directory, boolean patched) throws IOException {
        DemoVerdict verdict = DemoVerdict.of(rows, patched);
        StringBuilder text = new StringBuilder(DemoRow.table(rows)).append('\n');
        verdict.reasons().forEach(reason -> text.append(reason).append('\n'));
        text.append(verdict.summary(rows)).append('\n');
        System.out.println();
        System.out.print(text);

        Map<String, Object> results = new LinkedHashMap<>();
        results.put("seed", seed);
        results.put("verdict", verdict);
        results.put("rows", rows);
        new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT).writeValue(directory.resolve("results.json").toFile(), results);
        Files.writeString(directory.resolve("results.txt"), text.toString());
        System.out.println("Data: " + directory + " (results.json, results.txt, history-*.jsonl, <mode>/server*/server.log)");
        return verdict.code();
    }

    /** Starts a fresh ensemble on ordinary directories that outlives this command. */
    private void keep(RunDirectory run, Mode mode) throws Exception {
        EnsembleConfig config = new EnsembleConfig(mode.build(jars.serverJar(), jars.plugins()), servers)
                .name("kept").cfg(mode.cfg());
        Ensemble ensemble = Ensemble.start(run, config);
        ModeCheck.requireActive(mode, ensemble);
        run.keep();
        List<String> pids = new ArrayList<>();
        ensemble.servers().forEach(server -> pids.add(Long.toString(server.pid())));
        System.out.println("Running (" + mode.describe() + "): " + ensemble.connectString());
        System.out.println("Connect: java -cp '" + System.getProperty("testkit.stock.lib")
                + "/*' org.apache.zookeeper.ZooKeeperMain -server " + ensemble.server(1).connectString());
        System.out.println("     or: zkCli.sh -server " + ensemble.connectString());
        System.out.println("End it:  kill " + String.join(" ", pids));
    }
}

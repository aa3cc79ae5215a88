// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import io.cad.zookeeper.testkit.Arguments;
import io.cad.zookeeper.testkit.Ensemble;
import io.cad.zookeeper.testkit.EnsembleConfig;
import io.cad.zookeeper.testkit.ExitCode;
import io.cad.zookeeper.testkit.JvmProfile;
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
import java.util.Locale;
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
    private static final int KEYS = 2_000;
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
            "  --clients N           sessions, spread over the servers (24)",
            "  --seconds S           load before the power loss (8)",
            "  --warm-up S           load before that (8)",
            "  --sync-latency MS     how long an fsync takes on every disk (3)",
            "  --seed N              of the load, the same in each mode (random)",
            "  --fi FILE             the failure-injector's program",
            "  --out DIR             where results, histories and the servers' logs go (out/demo)",
            "  --keep                leave an ensemble of the last mode running");

    private final Arguments arguments;
    private final long seed;
    private final Path out;

    private Demo(Arguments arguments) throws Arguments.BadArguments {
        this.arguments = arguments;
        this.seed = arguments.number("seed", new Random().nextInt(Integer.MAX_VALUE), 0);
        this.out = Path.of(arguments.get("out", "out/demo")).toAbsolutePath();
    }

    public static void main(String[] line) {
        System.exit(run(line).code());
    }

    private static ExitCode run(String[] line) {
        try {
            Arguments arguments = new Arguments(line,
                    Set.of("server-jar", "plugin", "servers", "clients", "seconds", "warm-up", "sync-latency", "seed", "fi", "out"),
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
        Jars jars = Jars.of(arguments);
        int servers = (int) arguments.number("servers", 5, 1);
        int clients = (int) arguments.number("clients", 24, 1);
        Duration load = seconds("seconds");
        Duration warmUp = seconds("warm-up");
        double latency = arguments.decimal("sync-latency", 3, 0);
        LoadSpec spec = new LoadSpec(clients, KEYS, VALUE_BYTES, ZIPFIAN, READ_SHARE, FRESH_SHARE, seed);
        List<Mode> modes = jars.present()
                ? List.of(Mode.STOCK_NO_SYNC, Mode.WEAK, Mode.STRONG, Mode.CAD)
                : List.of(Mode.STOCK_NO_SYNC, Mode.STOCK);

        System.out.printf("%d servers on loopback, %d clients, %d nodes of %d bytes, %.0f %% reads, fsync takes %.1f ms, seed %d%n",
                servers, clients, KEYS, VALUE_BYTES, 100 * READ_SHARE, latency, seed);
        Files.createDirectories(out);
        List<DemoRow> rows = new ArrayList<>();
        try (RunDirectory run = RunDirectory.create(out, "run")) {
            for (Mode mode : modes) {
                progress(rows.size(), modes.size(), mode, "starts");
                EnsembleConfig config = new EnsembleConfig(mode.build(jars.serverJar(), jars.plugins()), servers)
                        .name(mode.label()).cfg(mode.cfg()).profile(JvmProfile.BENCH).disks(FiDisk.provider(arguments.get("fi", null), false, seed));
                try (Ensemble ensemble = Ensemble.start(run, config);
                        PowerLossTrial trial = new PowerLossTrial(ensemble, spec)) {
                    ModeCheck.requireActive(mode, ensemble);
                    ensemble.setSyncLatency(latency);
                    progress(rows.size(), modes.size(), mode, "warms up for " + warmUp.toSeconds() + " s");
                    trial.warmUp(warmUp);
                    progress(rows.size(), modes.size(), mode, "runs for " + load.toSeconds() + " s, then loses its power");
                    PowerLossTrial.Result result = trial.run(load, ensemble.servers());
                    DemoRow row = DemoRow.of(mode, result);
                    rows.add(row);
                    progress(rows.size() - 1, modes.size(), mode, String.format("is back after %.1f s: %s", result.recovery().toMillis() / 1e3, row.oneLine()));
                    HistoryFile.write(run.path().resolve("history-" + mode.label() + ".jsonl"), result.ops());
                }
            }
            ExitCode verdict = report(rows, run.path(), jars.present());
            if (arguments.has("keep")) {
                keep(run, modes.get(modes.size() - 1), jars, servers);
            } else {
                System.out.println("To try one yourself: make demo-keep leaves an ensemble running and says how to connect.");
            }
            System.out.println("seed " + seed);
            return verdict;
        }
    }

    private Duration seconds(String option) throws Arguments.BadArguments {
        return Duration.ofMillis((long) (1000 * arguments.decimal(option, 8, 0.1)));
    }

    private static void progress(int done, int of, Mode mode, String what) {
        System.out.printf("[%d/%d] %s %s%n", done + 1, of, mode.label(), what);
    }

    private ExitCode report(List<DemoRow> rows, Path directory, boolean patched) throws IOException {
        DemoVerdict verdict = DemoVerdict.of(rows, patched);
        StringBuilder text = new StringBuilder(DemoRow.table(rows)).append('\n');
        verdict.reasons().forEach(reason -> text.append(reason).append('\n'));
        text.append(verdict.code().name().toLowerCase(Locale.ROOT)).append('\n');
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
    private void keep(RunDirectory run, Mode mode, Jars jars, int servers) throws Exception {
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

// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import io.cad.zookeeper.testkit.Arguments;
import io.cad.zookeeper.testkit.ExitCode;
import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.disk.Disk;
import io.cad.zookeeper.testkit.disk.FiDisk;
import io.cad.zookeeper.testkit.history.Findings;
import io.cad.zookeeper.testkit.history.HistoryChecker;
import io.cad.zookeeper.testkit.history.HistoryFile;
import io.cad.zookeeper.testkit.history.Op;
import io.cad.zookeeper.testkit.load.LoadSpec;
import io.cad.zookeeper.testkit.load.Slice;
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
 * Command: a Redis master and its replicas under load lose their power, in each mode with the same seed.
 *
 * <p>Exit codes as those of {@link Demo}.
 */
public final class RedisDemo {
    private static final int KEYS = 10_000;
    private static final int VALUE_BYTES = 100;
    private static final double ZIPFIAN = 0.99;
    private static final double READ_SHARE = 0.6;
    private static final double FRESH_SHARE = 0.7;

    private static final String USAGE = String.join("\n",
            "usage: demo [options]",
            "  --redis DIR           the patched build's directory of programs",
            "  --stock DIR           the same of the unpatched build",
            "  --nodes N             a master and N-1 replicas (3)",
            "  --clients N           connections to the master (32)",
            "  --seconds S           load before the power loss (5)",
            "  --warm-up S           load before that (2)",
            "  --sync-latency MS     how long an fsync takes on every disk (3)",
            "  --flush-interval MS   cad-flush-interval of mode cad (200)",
            "  --seed N              of the load, the same in each mode (random)",
            "  --fi FILE             the failure-injector's program",
            "  --out DIR             where results, histories and the servers' logs go (out/demo-redis)",
            "  --keep                leave a group of the last mode running");

    private final Arguments arguments;
    private final long seed;
    private final Path out;
    private final Path patched;
    private final Path stock;
    private final int nodes;
    private final double loadSeconds;
    private final double warmUpSeconds;
    private final double latency;
    private final long flushInterval;
    private final LoadSpec spec;

    private RedisDemo(Arguments arguments) throws Arguments.BadArguments {
        this.arguments = arguments;
        this.seed = arguments.number("seed", new Random().nextInt(Integer.MAX_VALUE), 0);
        this.out = Path.of(arguments.get("out", "out/demo-redis")).toAbsolutePath().normalize();
        this.patched = program(arguments, "redis");
        this.stock = program(arguments, "stock");
        this.nodes = (int) arguments.number("nodes", 3, 1);
        this.loadSeconds = arguments.decimal("seconds", 5, 0.1);
        this.warmUpSeconds = arguments.decimal("warm-up", 2, 0.1);
        this.latency = arguments.decimal("sync-latency", 3, 0);
        this.flushInterval = arguments.number("flush-interval", 200, 0);
        this.spec = new LoadSpec((int) arguments.number("clients", 32, 1), KEYS, VALUE_BYTES, ZIPFIAN, READ_SHARE, FRESH_SHARE, seed);
    }

    private static Path program(Arguments arguments, String option) throws Arguments.BadArguments {
        Path program = Path.of(arguments.get(option, "."), "redis-server").toAbsolutePath().normalize();
        if (!Files.isExecutable(program)) {
            throw new Arguments.BadArguments("no redis-server at " + program + "; build it (make -C redis-cad build stock) and give --" + option);
        }
        return program;
    }

    public static void main(String[] line) {
        System.exit(run(line).code());
    }

    private static ExitCode run(String[] line) {
        try {
            Arguments arguments = new Arguments(line,
                    Set.of("redis", "stock", "nodes", "clients", "seconds", "warm-up", "sync-latency", "flush-interval", "seed", "fi", "out"),
                    Set.of("keep", "help"));
            if (arguments.has("help")) {
                System.out.println(USAGE);
                return ExitCode.HOLDS;
            }
            return new RedisDemo(arguments).run();
        } catch (Arguments.BadArguments | IllegalArgumentException e) {
            System.err.println("demo: " + e.getMessage() + "\n" + USAGE);
            return ExitCode.BAD_ARGUMENTS;
        } catch (Exception e) {
            e.printStackTrace();
            return ExitCode.CRASHED;
        }
    }

    private ExitCode run() throws Exception {
        List<RedisMode> modes = List.of(RedisMode.STOCK, RedisMode.EVENTUAL, RedisMode.IMMEDIATE, RedisMode.CAD);
        System.out.printf("A Redis master and %d replicas on loopback, %d clients, %d keys of %d bytes, %.0f %% reads, fsync takes %.1f ms,%n"
                        + "cad flushes every %d ms where no reply waits, seed %d%n",
                nodes - 1, spec.clients(), KEYS, VALUE_BYTES, 100 * READ_SHARE, latency, flushInterval, seed);
        Files.createDirectories(out);
        List<DemoRow> rows = new ArrayList<>();
        try (RunDirectory run = RunDirectory.create(out, "run")) {
            for (RedisMode mode : modes) {
                int number = rows.size() + 1;
                rows.add(DemoAttempts.of(attempt -> lose(run, mode, attempt, number, modes.size())));
            }
            ExitCode verdict = report(rows, run.path());
            if (arguments.has("keep")) {
                keep(run, modes.get(modes.size() - 1));
            }
            System.out.println("seed " + seed);
            return verdict;
        }
    }

    private Path programOf(RedisMode mode) {
        return mode.isPatched() ? patched : stock;
    }

    /** One mode's load and power loss. */
    private DemoRow lose(RunDirectory run, RedisMode mode, int attempt, int number, int of) throws Exception {
        String name = attempt == 1 ? mode.label() : mode.label() + "-attempt" + attempt;
        String prefix = "[" + number + "/" + of + "] " + mode.label() + " ";
        System.out.println(prefix + "starts");
        try (RedisGroup group = RedisGroup.start(run, name, mode, programOf(mode), nodes, flushInterval,
                FiDisk.provider(arguments.get("fi", null), false, seed));
                RedisLoad load = new RedisLoad(spec, group.master().port())) {
            load.populate();
            group.persist();
            group.syncDisks();
            group.setSyncLatency(latency);
            System.out.printf("%sruns for %.0f s, then all servers lose their power%n", prefix, warmUpSeconds + loadSeconds);
            load.begin();
            pause(warmUpSeconds);
            long begin = System.nanoTime();
            load.record();
            pause(loadSeconds);

            long held = group.readsHeld();
            long lossNanos = System.nanoTime();
            Disk.Loss loss = group.powerLoss();
            List<Op> ops = load.end();
            long restart = System.nanoTime();
            group.setSyncLatency(latency);
            group.startAll();
            double recovery = (System.nanoTime() - lossNanos) / 1e9;
            ops.addAll(load.readAll());

            Findings findings = HistoryChecker.checkKeys(ops, lossNanos, restart);
            Slice slice = Slice.between(ops, begin, lossNanos);
            DemoRow row = new DemoRow(mode, mode.describe(), slice.opsPerSecond(),
                    slice.reads().percentileMillis(0.5), slice.reads().percentileMillis(0.99),
                    slice.writes().percentileMillis(0.5), slice.writes().percentileMillis(0.99),
                    1, loss.bytes(), held, recovery, findings);
            System.out.println(prefix + row.oneLine());
            HistoryFile.write(run.path().resolve("history-" + name + ".jsonl"), ops);
            return row;
        }
    }

    private static void pause(double seconds) throws InterruptedException {
        Thread.sleep(Duration.ofMillis((long) (1000 * seconds)).toMillis());
    }

    private ExitCode report(List<DemoRow> rows, Path directory) throws IOException {
        DemoVerdict verdict = DemoVerdict.of(rows, true);
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

    /** Starts a fresh group that outlives this command. */
    private void keep(RunDirectory run, RedisMode mode) throws Exception {
        RedisGroup group = RedisGroup.start(run, "kept", mode, programOf(mode), nodes, flushInterval,
                FiDisk.provider(arguments.get("fi", null), false, seed));
        run.keep();
        List<String> pids = new ArrayList<>();
        group.servers().forEach(server -> pids.add(Long.toString(server.pid())));
        System.out.println("Running (" + mode.describe() + ")");
        System.out.println("Connect: redis-cli -p " + group.master().port());
        System.out.println("End it:  kill " + String.join(" ", pids));
    }
}

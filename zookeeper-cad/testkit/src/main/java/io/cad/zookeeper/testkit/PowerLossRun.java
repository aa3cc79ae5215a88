// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.cad.zookeeper.testkit.disk.FiDisk;
import io.cad.zookeeper.testkit.history.Findings;
import io.cad.zookeeper.testkit.history.HistoryFile;
import io.cad.zookeeper.testkit.load.LoadSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Command: rounds of load, power loss and restart on one ensemble, with a verdict.
 *
 * <p>Exit codes: 0 the guarantee held in every round, 1 it was violated, 2 the run could not decide (nothing was lost
 * from the disks, or no read was held although that was asked for), 254 wrong arguments, 255 crashed.
 */
public final class PowerLossRun {
    private static final String USAGE = String.join("\n",
            "usage: PowerLossRun [options]",
            "  --lib-dir DIR         jars of the server (default: the stock release)",
            "  --server-jar JAR      replaces zookeeper-<version>.jar of the lib directory",
            "  --plugin JAR          is added to the class path; may come more than once",
            "  --cfg KEY=VALUE       line of zoo.cfg; may come more than once",
            "  --servers N           voters (5)",
            "  --clients N           sessions, spread over the servers (20)",
            "  --rounds N            power losses (3)",
            "  --minutes M           instead of --rounds: as many as fit",
            "  --audit               also violated by a digest mismatch, by trees that differ between servers at the end, and",
            "                        by memory or files beyond their bounds",
            "  --most-files MIB      with --audit: how much the files of a server may take (no bound)",
            "  --seconds S           load before each loss (3)",
            "  --sync-latency MS     how long an fsync takes (3)",
            "  --victims WHICH       all, minority or random: who loses its power (random)",
            "  --torn                a prefix of unsynced writes may survive a loss, cut at a sector; a stock server may",
            "                        then refuse to start",
            "  --guarantee WHAT      reads: nothing read is lost or goes backwards; acked: no acknowledged write is",
            "                        lost either (reads)",
            "  --need-held           undecided unless the servers held reads (metric " + PowerLossTrial.READS_HELD + ")",
            "  --seed N              of load and victims (random)",
            "  --fi FILE             the failure-injector's program (default: system property testkit.fi)",
            "  --out DIR             results and histories of violated rounds (default: below the temporary directory)");

    /** A server's JVM has a heap of 256 MiB here; code, threads and buffers come on top. */
    private static final long MOST_MEMORY = 640L << 20;
    /** What rollbacks keep, and a snapshot that waits. */
    private static final long MOST_SIDE_FILES = 128L << 20;

    private final Arguments arguments;
    private final long seed;
    private final Random random;

    private PowerLossRun(Arguments arguments) throws Arguments.BadArguments {
        this.arguments = arguments;
        this.seed = arguments.number("seed", new Random().nextInt(Integer.MAX_VALUE), 0);
        this.random = new Random(seed);
    }

    public static void main(String[] line) {
        System.exit(run(line).code());
    }

    static ExitCode run(String[] line) {
        try {
            Arguments arguments = new Arguments(line,
                    Set.of("lib-dir", "server-jar", "plugin", "cfg", "servers", "clients", "rounds", "minutes", "seconds", "sync-latency",
                            "victims", "guarantee", "seed", "fi", "out", "most-files"),
                    Set.of("need-held", "torn", "audit", "help"));
            if (arguments.has("help")) {
                System.out.println(USAGE);
                return ExitCode.HOLDS;
            }
            return new PowerLossRun(arguments).run();
        } catch (Arguments.BadArguments | IllegalArgumentException e) {
            System.err.println("PowerLossRun: " + e.getMessage() + "\n" + USAGE);
            return ExitCode.BAD_ARGUMENTS;
        } catch (Exception e) {
            e.printStackTrace();
            return ExitCode.CRASHED;
        }
    }

    private ServerBuild build() throws IOException, Arguments.BadArguments {
        ServerBuild build = arguments.has("lib-dir")
                ? ServerBuild.ofDirectory("lib-dir", Path.of(arguments.get("lib-dir", null))) : ServerBuild.stock();
        List<Path> plugins = arguments.all("plugin").stream().map(Path::of).collect(Collectors.toList());
        if (arguments.has("server-jar")) {
            return build.withServerJar("patched", Path.of(arguments.get("server-jar", null)), plugins);
        }
        if (!plugins.isEmpty()) {
            throw new Arguments.BadArguments("--plugin needs --server-jar: a plugin does nothing in a stock server");
        }
        return build;
    }

    private ExitCode run() throws Exception {
        int servers = (int) arguments.number("servers", 5, 1);
        double minutes = arguments.decimal("minutes", 0, 0);
        int rounds = minutes > 0 ? Integer.MAX_VALUE : (int) arguments.number("rounds", 3, 1);
        long end = System.nanoTime() + (long) (minutes * 60e9);
        String victims = arguments.get("victims", "random");
        String guarantee = arguments.get("guarantee", "reads");
        if (!Set.of("all", "minority", "random").contains(victims)) {
            throw new Arguments.BadArguments("--victims needs all, minority or random, not " + victims);
        }
        if (victims.equals("minority") && servers < 3) {
            throw new Arguments.BadArguments("--victims minority needs --servers of at least 3");
        }
        if (!Set.of("reads", "acked").contains(guarantee)) {
            throw new Arguments.BadArguments("--guarantee needs reads or acked, not " + guarantee);
        }
        LoadSpec spec = new LoadSpec((int) arguments.number("clients", 20, 1), 2_000, 100, 0.99, 0.5, 0.7, seed);
        Duration seconds = Duration.ofMillis((long) (1000 * arguments.decimal("seconds", 3, 0.1)));
        EnsembleConfig config = new EnsembleConfig(build(), servers).cfg(arguments.pairs("cfg"))
                .disks(FiDisk.provider(arguments.get("fi", null), arguments.has("torn"), seed));
        Path out = arguments.has("out") ? Files.createDirectories(Path.of(arguments.get("out", null))) : null;

        System.out.println("seed " + seed);
        try (RunDirectory run = RunDirectory.create("power-loss")) {
            Path results = (out == null ? run.path() : out).resolve("power-loss.jsonl");
            Ensemble ensemble = Ensemble.start(run, config);
            ensemble.setSyncLatency(arguments.decimal("sync-latency", 3, 0));
            ExitCode verdict = ExitCode.HOLDS;
            long bytes = 0;
            long held = 0;
            long mismatches = 0;
            Footprint largest = new Footprint(0, 0, 0);
            try (PowerLossTrial trial = new PowerLossTrial(ensemble, spec)) {
                trial.warmUp(seconds);
                for (int round = 1; round <= rounds && (minutes == 0 || System.nanoTime() < end); round++) {
                    List<ServerProcess> chosen = choose(ensemble, victims);
                    PowerLossTrial.Result result = trial.run(seconds, chosen);
                    Findings findings = result.findings();
                    bytes += result.loss().bytes();
                    held += result.readsHeld();
                    mismatches += result.digestMismatches();
                    boolean holds = findings.readsHold() && (guarantee.equals("reads") || findings.ackedWritesLost() == 0);
                    System.out.println(describe(minutes > 0 ? "" + round : round + "/" + rounds, chosen, result, holds));
                    for (ServerProcess server : ensemble.servers()) {
                        largest = largest.max(Footprint.of(server));
                    }
                    record(results, round, chosen, result);
                    if (!holds) {
                        verdict = ExitCode.VIOLATED;
                        findings.examples().forEach(example -> System.out.println("  " + example));
                        Path history = results.resolveSibling("history-round" + round + ".jsonl");
                        HistoryFile.write(history, result.ops());
                        System.out.println("  history: " + history);
                    }
                }
            }
            if (arguments.has("audit")) {
                verdict = verdict.and(audit(ensemble, mismatches, largest));
            }
            if (bytes == 0) {
                System.out.println("undecided: no disk lost anything; give more --rounds or --seconds");
                verdict = verdict.and(ExitCode.UNDECIDED);
            }
            if (arguments.has("need-held") && held == 0) {
                System.out.println("undecided: no read met data that was not yet durable");
                verdict = verdict.and(ExitCode.UNDECIDED);
            }
            System.out.println(verdict.name().toLowerCase(Locale.ROOT) + ", seed " + seed + ", data in " + results.getParent());
            return verdict;
        }
    }

    private ExitCode audit(Ensemble ensemble, long mismatches, Footprint largest) throws Exception {
        long mostFiles = arguments.number("most-files", Long.MAX_VALUE >> 20, 1) << 20;
        long atEnd = 0;
        for (ServerProcess server : ensemble.servers()) {
            atEnd = Math.max(atEnd, Footprint.of(server).diskBytes());
        }
        List<String> differences = Trees.differences(ensemble.servers());
        differences.stream().limit(5).forEach(difference -> System.out.println("  " + difference));
        boolean bounded = largest.residentBytes() < MOST_MEMORY && largest.sideBytes() < MOST_SIDE_FILES
                && largest.diskBytes() < mostFiles;
        System.out.printf(Locale.ROOT, "audit: %d digest mismatches, %d nodes differ between the servers; at most %d MiB of "
                + "memory, %d KiB of side files, %d MiB of files at a server, %d MiB of files at the end%n", mismatches,
                differences.size(), largest.residentBytes() >> 20, largest.sideBytes() >> 10, largest.diskBytes() >> 20,
                atEnd >> 20);
        return mismatches == 0 && differences.isEmpty() && bounded ? ExitCode.HOLDS : ExitCode.VIOLATED;
    }

    private List<ServerProcess> choose(Ensemble ensemble, String which) {
        List<ServerProcess> servers = new ArrayList<>(ensemble.servers());
        int minority = (servers.size() - 1) / 2;
        if (minority == 0 || which.equals("all") || which.equals("random") && random.nextBoolean()) {
            return servers;
        }
        Collections.shuffle(servers, random);
        return servers.subList(0, 1 + random.nextInt(minority));
    }

    private static String describe(String round, List<ServerProcess> victims, PowerLossTrial.Result result, boolean holds) {
        Findings findings = result.findings();
        return String.format("round %s %s: power loss of %s, %.0f ops/s, %d bytes dropped, %d reads held, %d reads backwards, "
                        + "%d read updates lost, %d of %d acknowledged writes lost, back after %.1f s",
                round, holds ? "holds" : "VIOLATED",
                victims.stream().map(server -> Integer.toString(server.id())).collect(Collectors.joining("+")),
                result.measured().opsPerSecond(), result.loss().bytes(), result.readsHeld(), findings.readsBackwards(),
                findings.readUpdatesLost(), findings.ackedWritesLost(), findings.ackedWrites(),
                result.recovery().toMillis() / 1e3);
    }

    private void record(Path file, int round, List<ServerProcess> victims, PowerLossTrial.Result result) throws IOException {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("seed", seed);
        line.put("round", round);
        line.put("victims", victims.stream().map(ServerProcess::id).collect(Collectors.toList()));
        line.put("opsPerSecond", result.measured().opsPerSecond());
        line.put("loss", result.loss());
        line.put("findings", result.findings());
        line.put("metrics", result.metrics());
        line.put("recoveryMillis", result.recovery().toMillis());
        Files.writeString(file, new ObjectMapper().writeValueAsString(line) + "\n",
                StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.crash;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.cad.zookeeper.durability.FailStop;
import io.cad.zookeeper.testing.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.slf4j.LoggerFactory;

/**
 * Power losses at every call that the real log, snapshot and recovery classes make. A script is lived once,
 * by a process on a traced disk of the failure-injector; all its crashes are then explored in this one.
 * Needs the injector (system property {@code crash.fi}); {@code make crash-points} builds it.
 */
class CrashPoints {

    /** Every step once, few bytes: most crash points have few enough undecided units to try every subset. */
    private static final String SMALL = "E A1 S A1 R A2 P A1 S T1 A1 S X A1 E A1 S K A1 Z A1 N1 A1 D1 T1 P";
    private static final int SEEDS = Integer.getInteger("crash.seeds", 10);
    private static final long FIRST_SEED = Long.getLong("crash.seed", 1);

    /** What a start leaves unsynced is little. */
    private static final int KILLED_EXHAUSTIVE = 6;
    private static final int KILLED_SAMPLES = 20;

    @TempDir
    static Path temp;

    private static Settings settings;
    private static Level level;
    private static List<Trace.Op> small;

    @BeforeAll
    static void prepare() throws Exception {
        settings = Settings.of("zookeeper.admin.enableServer", "false");
        Life.configure();
        FailStop.exitWith(code -> { });
        // Thousands of recoveries would write a gigabyte of log.
        Logger root = (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
        level = root.getLevel();
        root.setLevel(Level.OFF);
        small = live(SMALL);
    }

    @AfterAll
    static void restore() {
        ((Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME)).setLevel(level);
        FailStop.exitWith(code -> Runtime.getRuntime().halt(code));
        settings.close();
        System.clearProperty("zookeeper.cad.durability");
    }

    /** Lives a script on a new disk; answers its trace, once it has proved complete. */
    private static List<Trace.Op> live(String script) throws IOException, InterruptedException {
        return traced(Life.class, script);
    }

    private static List<Trace.Op> traced(Class<?> program, String argument) throws IOException, InterruptedException {
        Path run = Files.createTempDirectory(temp, "life");
        Path disk = run.resolve("disk");
        Path trace = run.resolve("trace");
        String fi = System.getProperty("crash.fi");
        assertTrue(fi != null && Files.isExecutable(Path.of(fi)),
            "no failure-injector at " + fi + "; run make -C failure-injector build");
        execute(Map.of(), fi, "disk", "create", "d", "--backend", "preload", "--mode", "strict",
            "--dir", disk.toString(), "--run", run.resolve("injector").toString());
        Map<String, String> environment = new TreeMap<>();
        execute(Map.of(), fi, "disk", "env", "d", "--run", run.resolve("injector").toString()).lines()
            .map(line -> line.split("=", 2)).forEach(pair -> environment.put(pair[0], pair[1]));
        environment.put("FI_TRACE", trace.toString());
        execute(environment, Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
            System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
            program.getName(), disk.toString(), argument);
        List<Trace.Op> ops = Trace.read(trace);
        assertSeen(ops, disk);
        return ops;
    }

    private static String execute(Map<String, String> environment, String... command)
        throws IOException, InterruptedException {
        Path output = Files.createTempFile(temp, "output", ".log");
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true)
            .redirectOutput(output.toFile()).directory(temp.toFile());
        builder.environment().putAll(environment);
        Process process = builder.start();
        if (!process.waitFor(120, TimeUnit.SECONDS)) {
            process.destroyForcibly();
        }
        String said = Files.readString(output);
        assertEquals(0, process.waitFor(), () -> String.join(" ", command) + "\n" + said);
        return said;
    }

    /** Replaying the whole trace gives the tree that the program left: no call was missed. */
    private static void assertSeen(List<Trace.Op> ops, Path disk) throws IOException {
        DiskImage image = new DiskImage();
        for (Trace.Op op : ops) {
            image.apply(op);
        }
        Map<String, byte[]> replayed = image.live();
        try (Stream<Path> all = Files.walk(disk)) {
            for (Path path : all.toList()) {
                String name = disk.relativize(path).toString();
                if (Files.isRegularFile(path) && !name.equals(Trace.MARKS)) {
                    assertArrayEquals(Files.readAllBytes(path), replayed.remove(name), name);
                }
            }
        }
        replayed.values().removeIf(bytes -> bytes == null);
        assertTrue(replayed.isEmpty(), () -> "replayed, but not there: " + replayed.keySet());
    }

    private static void report(String what, Explorer explorer) {
        System.out.printf("%s: crashed at %d of %d calls %s; %d crash points, %d with every subset; %d trees recovered, "
                + "%d violations%n", what, explorer.crashes(), explorer.calls, counts(explorer), explorer.points,
            explorer.exhaustivePoints, explorer.states, explorer.violations.size());
    }

    private static String counts(Explorer explorer) {
        List<String> words = new ArrayList<>();
        explorer.crashedAt.forEach((kind, count) -> words.add(count[0] + " " + kind.name().toLowerCase()));
        return words.toString();
    }

    @Test
    void everyCallOfTheSmallScript() throws IOException {
        Explorer explorer = new Explorer(temp, 12, 2000, FIRST_SEED).run(small);
        report("small script, seed " + FIRST_SEED, explorer);
        assertEquals(explorer.calls, explorer.crashes(), "every call");
        assertEquals(List.of(), explorer.violations.stream().limit(5).toList());
    }

    /** The process is killed at each call and started again; its peers count on what it found, and the power goes. */
    @Test
    void everyCallOfTheSmallScriptKilled() throws Exception {
        Explorer explorer = new Explorer(temp, KILLED_EXHAUSTIVE, KILLED_SAMPLES, FIRST_SEED)
            .run(killed(small, (name, said) -> false));
        System.out.printf("small script, killed, seed %d: %d points, %d with every subset; %d trees recovered, %d violations%n",
            FIRST_SEED, explorer.points, explorer.exhaustivePoints, explorer.states, explorer.violations.size());
        assertEquals(List.of(), explorer.violations.stream().limit(5).toList());
    }

    /** Control: a start that makes nothing durable of what it finds. */
    @Test
    void startThatSyncsNothingIsConvicted() throws Exception {
        Explorer explorer = new Explorer(temp, KILLED_EXHAUSTIVE, KILLED_SAMPLES, FIRST_SEED).stopAtFirst()
            .run(killed(small, (name, said) -> true));
        System.out.println("start without syncs: " + explorer.violations);
        assertFalse(explorer.violations.isEmpty());
    }

    /** Every kill of a life, with the start that followed, less some of its syncs. */
    private static Kills killed(List<Trace.Op> life, Trace.Omit omit) throws IOException, InterruptedException {
        Kills kills = new Kills(life);
        Path trees = Files.createTempDirectory(temp, "killed");
        kills.write(trees);
        assertEquals(kills.kills.size(), kills.restart(Trace.without(traced(Restarts.class, trees.toString()), omit)),
            "starts");
        return kills;
    }

    /** Longer lives: several snapshots and purges, torn starts, changes of leader, in random order. */
    @Test
    void seededLives() throws Exception {
        for (long seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
            String script = script(new Random(seed));
            Explorer explorer = new Explorer(temp, 6, 30, seed).run(live(script));
            report("seed " + seed + ", " + script, explorer);
            assertEquals(List.of(), explorer.violations.stream().limit(5).toList(), "seed " + seed + ": " + script);
        }
    }

    /** A script that may be lived: cuts stay above the newest snapshot, and all steps occur. */
    private static String script(Random random) {
        StringBuilder script = new StringBuilder("E A3 S");
        int cuttable = 3;
        for (int i = 0; i < 26; i++) {
            int choice = random.nextInt(11);
            switch (choice) {
                case 0, 1, 2, 3 -> {
                    int n = 1 + random.nextInt(4);
                    script.append(" A").append(n);
                    cuttable += n;
                }
                case 4 -> script.append(" S");
                case 5 -> script.append(" R");
                case 6 -> {
                    script.append(" P G");
                    cuttable = 0;
                }
                case 7 -> script.append(" D2");
                case 8 -> {
                    if (cuttable > 1) {
                        int n = 1 + random.nextInt(cuttable - 1);
                        script.append(" T").append(n);
                        cuttable -= n;
                    }
                }
                case 9 -> {
                    script.append(" N1");
                    cuttable = 0;
                }
                default -> script.append(List.of(" X", " A1 S K", " A1 Z").get(random.nextInt(3)));
            }
        }
        return script.toString();
    }

    /** Programs that leave a sync out. Each must be convicted, or the explorer is blind. */
    enum Variant {
        NO_DIRECTORY_SYNC((name, said) -> name.equals("/")),
        NO_LOG_SYNC_BEFORE_EPOCH((name, said) -> name.startsWith("log.") && said.startsWith("epoch-begin")),
        NO_LOG_SYNC_BEFORE_ROLL((name, said) -> name.startsWith("log.") && said.equals("rolling")),
        NO_LOG_SYNC_BEFORE_SNAPSHOT((name, said) -> name.startsWith("log.") && said.equals("snapshot")),
        NO_LOG_SYNC_AT_START((name, said) -> name.startsWith("log.") && said.equals("starting")),
        NO_SNAPSHOT_SYNC((name, said) -> name.startsWith("snapshot.")),
        MARK_LOWERED_WITHOUT_SYNC((name, said) -> name.equals("persisted") && said.startsWith("cut-begin")),
        NO_SYNC_OF_THE_CUT((name, said) -> name.startsWith("log.") && said.startsWith("cut-begin"));

        private final Trace.Omit omit;

        Variant(Trace.Omit omit) {
            this.omit = omit;
        }
    }

    @ParameterizedTest
    @EnumSource
    void programThatLeavesASyncOutIsConvicted(Variant variant) throws IOException {
        List<Trace.Op> wrong = Trace.without(small, variant.omit);
        assertTrue(wrong.size() < small.size(), "the script makes no such sync");
        Explorer explorer = new Explorer(temp, 12, 2000, FIRST_SEED).stopAtFirst().run(wrong);
        System.out.println(variant + ": " + explorer.violations);
        assertFalse(explorer.violations.isEmpty());
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.core.Cores;
import io.cad.zookeeper.simulation.Simulation.Count;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What clients record in random lives holds, such lives are wild enough to matter, and wrong servers are convicted. */
class SimulationTest {
    private static final int RUNS = Integer.getInteger("simulation.runs", 200);
    private static final Path CONVICTIONS = Path.of("src/test/resources/convictions.txt");
    private static final Path AT_LARGE = Path.of("src/test/resources/at-large.txt");

    private static final Pattern IN_VAIN = Pattern.compile("# (\\w+): (none of .*); .*");

    private static final Map<Long, Long> RIGHT = new HashMap<>();

    private static Lives lives;

    @BeforeAll
    static void open() {
        lives = new Lives();
    }

    @AfterAll
    static void close() {
        lives.close();
    }

    /**
     * {@code -Dsimulation.seed=N} repeats one life, {@code -Dsimulation.skip=1,4} without some of its faults;
     * {@code -Dsimulation.first=N} begins with that seed, otherwise with any.
     */
    @Test
    void nothingGoesBack() {
        Long given = Long.getLong("simulation.seed");
        long first = given != null ? given : Long.getLong("simulation.first", new Random().nextInt(Integer.MAX_VALUE));
        int runs = given != null ? 1 : RUNS;
        System.out.println("simulation: " + runs + " lives from seed " + first);
        Map<Count, Long> totals = new EnumMap<>(Count.class);
        long began = System.nanoTime();
        for (long seed = first; seed < first + runs; seed++) {
            live(seed).forEach((what, times) -> totals.merge(what, times, Long::sum));
        }
        System.out.println("simulation: " + runs + " lives held, from seed " + first + ", "
                + (System.nanoTime() - began) / 1_000_000_000 + " s: " + totals);
        if (given == null && runs >= 1_000) {
            for (Count count : Count.values()) {
                assertTrue(totals.containsKey(count), count + " never happened");
            }
        }
    }

    /** Lives that failed once. */
    @ParameterizedTest
    @ValueSource(longs = {1303998554, 1608337013, 1788035825})
    void holdsNow(long seed) {
        live(seed);
    }

    /** A wrong server that only the checks have noticed so far, and that in one life of tens of thousands. */
    @Test
    void aMembershipOfTheInitialHistoryIsNotCommitted() {
        Set<Flaw> flaws = Set.of(Flaw.INITIAL_MEMBERSHIP_COUNTS_AS_COMMITTED);
        Error seen = assertThrows(Error.class, () -> lives.live(1303998554, new Cores(), flaws, true, Set.of()));
        assertTrue(seen.getMessage().contains("DurableSurvivesElection"), seen::toString);
    }

    private static Map<Count, Long> live(long seed) {
        Set<Integer> skipped = Arrays.stream(System.getProperty("simulation.skip", "").split(","))
                .filter(word -> !word.isEmpty()).map(Integer::parseInt).collect(Collectors.toSet());
        try {
            return lives.live(seed, new Cores(), Set.of(), true, skipped).counts();
        } catch (RuntimeException | Error e) {
            Set<Integer> without = lives.shrink(seed, new Cores(), Set.of(), true);
            String replay = "-Dsimulation.seed=" + seed + " -Dsimulation.skip="
                    + without.stream().map(String::valueOf).collect(Collectors.joining(","));
            String command = "tools/maven-test -pl zookeeper-cad -am -Dtest=SimulationTest " + replay;
            System.out.println("simulation: failed, repeat with " + command);
            throw new AssertionError("the simulation fails: " + command + ": " + e.getMessage(), e);
        }
    }

    /** Positive control: these lives convict wrong servers, and nothing but what clients recorded counts. */
    @ParameterizedTest
    @MethodSource("convictions")
    void clientsNotice(Suspect suspect, long seed) {
        lives.live(seed, new Cores(), Set.of(), false, Set.of());
        assertThrows(Simulation.Convicted.class, () -> run(suspect, seed));
    }

    static Stream<Arguments> convictions() throws IOException {
        return Files.readAllLines(CONVICTIONS).stream().filter(line -> !line.startsWith("#"))
                .map(line -> line.split(" "))
                .map(words -> Arguments.of(Suspect.named(words[0]), Long.parseLong(words[1])));
    }

    /**
     * Whoever recorded replies do not convict is convicted by a vector, or by a test that the reason names if the mistake
     * is outside the core; and somebody has found out why.
     */
    @Test
    void whoeverIsAtLargeIsExplained() throws IOException {
        Set<String> convicted = convictions().map(one -> one.get()[0].toString()).collect(Collectors.toSet());
        Set<String> atLarge = Suspect.all().stream().map(Suspect::name).filter(name -> !convicted.contains(name))
                .collect(Collectors.toCollection(TreeSet::new));
        assertEquals(atLarge, new TreeSet<>(reasons().keySet()));
        for (String name : atLarge) {
            boolean inTheCore = Suspect.named(name).flaws().isEmpty();
            assertTrue(inTheCore ? !vectorsAgainst(name).isEmpty() : namesATest(reasons().get(name)),
                    "nothing convicts " + name);
        }
    }

    private static boolean namesATest(String reason) throws IOException {
        Matcher test = Pattern.compile("\\b\\w+Test\\b").matcher(reason);
        try (Stream<Path> all = Files.walk(Path.of("src/test/java"))) {
            return test.find() && all.anyMatch(path -> path.endsWith(test.group() + ".java"));
        }
    }

    /** What is said to make no difference in such lives makes none. */
    @ParameterizedTest
    @MethodSource("unseen")
    void makesNoDifference(Suspect suspect) {
        for (long seed = 0; seed < 5; seed++) {
            assertEquals(right(seed), run(suspect, seed).trace(), "seed " + seed);
        }
    }

    static Stream<Suspect> unseen() throws IOException {
        return reasons().entrySet().stream().filter(one -> one.getValue().startsWith("unseen: "))
                .map(one -> Suspect.named(one.getKey()));
    }

    /** Name to reason. */
    private static Map<String, String> reasons() throws IOException {
        return Files.readAllLines(AT_LARGE).stream().filter(line -> !line.startsWith("#"))
                .map(line -> line.split(" ", 2)).collect(Collectors.toMap(words -> words[0], words -> words[1]));
    }

    /**
     * Looks for a seed for each wrong variant, {@code -Dsimulation.search=2000} of them, and records what it finds.
     * {@code -Dsimulation.suspect=A|B} looks only for those, and leaves what is recorded of the others.
     */
    @Test
    @EnabledIfSystemProperty(named = "simulation.search", matches = "\\d+")
    void search() throws IOException {
        Map<String, Long> record = new HashMap<>();
        convictions().map(Arguments::get).forEach(one -> record.put(one[0].toString(), (Long) one[1]));
        Map<String, String> inVain = inVain();
        List<String> atLarge = new ArrayList<>();
        List<String> escaped = new ArrayList<>();
        for (Suspect suspect : Suspect.all()) {
            if (!suspect.name().matches(System.getProperty("simulation.suspect", ".*"))) {
                continue;
            }
            long began = System.nanoTime();
            Search search = new Search(suspect);
            System.out.println(suspect + ": " + search + ", " + (System.nanoTime() - began) / 1_000_000_000 + " s");
            if (search.conviction >= 0) {
                record.put(suspect.name(), search.conviction);
            } else if (record.containsKey(suspect.name())) {
                escaped.add(suspect.name());
            } else {
                atLarge.add(suspect.name());
                inVain.put(suspect.name(), search.toString());
            }
            write(record, inVain);
        }
        // Those of the core that clients cannot notice are noticed by vectors: VectorsTest sees to that.
        System.out.println("not convicted: " + atLarge);
        assertEquals(List.of(), escaped, "convicted before, but no longer");
    }

    /** What the last search for those says whom it did not convict. */
    private static Map<String, String> inVain() throws IOException {
        Map<String, String> found = new HashMap<>();
        for (String line : Files.readAllLines(CONVICTIONS)) {
            Matcher matcher = IN_VAIN.matcher(line);
            if (matcher.matches()) {
                found.put(matcher.group(1), matcher.group(2));
            }
        }
        return found;
    }

    private static void write(Map<String, Long> record, Map<String, String> inVain) throws IOException {
        List<String> lines = new ArrayList<>(List.of("# SPDX-License-Identifier: Apache-2.0",
                "# Wrong variants that recorded client replies convict, each with such a seed of the lives.",
                "# Written by: make -C zookeeper-cad simulation-search"));
        Suspect.all().stream().map(Suspect::name).filter(record::containsKey)
                .forEach(name -> lines.add(name + " " + record.get(name)));
        lines.add("# Convicted elsewhere alone; at-large.txt says why. Of the lives of the last search something else");
        lines.add("# happened in so many than with right servers, and so many did not come to their end:");
        for (Suspect suspect : Suspect.all()) {
            if (!record.containsKey(suspect.name())) {
                List<String> vectors = vectorsAgainst(suspect.name());
                lines.add("# " + suspect + ": " + inVain.getOrDefault(suspect.name(), "no search yet") + "; "
                        + (vectors.isEmpty() ? "at-large.txt names a test" : String.join(", ", vectors)));
            }
        }
        Files.write(CONVICTIONS, lines);
    }

    private static List<String> vectorsAgainst(String variant) throws IOException {
        String word = variant.toLowerCase(Locale.ROOT).replace('_', '-');
        Pattern name = Pattern.compile("^catches .*\\b" + word + "(\\s|$)", Pattern.MULTILINE);
        List<String> found = new ArrayList<>();
        try (Stream<Path> all = Files.list(Path.of("../protocol/vectors"))) {
            for (Path vector : (Iterable<Path>) all.sorted()::iterator) {
                if (name.matcher(Files.readString(vector)).find()) {
                    found.add(vector.getFileName().toString());
                }
            }
        }
        return found;
    }

    /** What became of one wrong server. */
    private static final class Search {
        private final int seeds = Integer.getInteger("simulation.search");
        /** -1: none. */
        private long conviction = -1;
        /** Lives that were not like those of the right servers, and those that did not come to their end. */
        private int otherwise;
        private int destroyed;

        Search(Suspect suspect) {
            for (long seed = 0; conviction < 0 && seed < seeds; seed++) {
                long right = right(seed);
                try {
                    otherwise += run(suspect, seed).trace() == right ? 0 : 1;
                } catch (Simulation.Convicted e) {
                    conviction = seed;
                } catch (RuntimeException | Error e) {
                    destroyed++; // before a client could notice
                }
            }
        }

        @Override
        public String toString() {
            return conviction >= 0 ? "seed " + conviction
                    : "none of " + seeds + " lives, " + otherwise + " otherwise, " + destroyed + " without end";
        }
    }

    /** The trace of right servers. */
    private static long right(long seed) {
        return RIGHT.computeIfAbsent(seed, one -> lives.live(one, new Cores(), Set.of(), false, Set.of()).trace());
    }

    private static Simulation run(Suspect suspect, long seed) {
        return lives.live(seed, suspect.cores(), suspect.flaws(), false, Set.of());
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.lease;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.core.InvariantViolation;
import io.cad.zookeeper.core.Seeds;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The leases hold in random lives, and such lives are wild enough to matter. */
class LeaseSimulationTest {
    private static final int RUNS = 300;
    private static final Path CONVICTIONS = Path.of("src/test/resources/lease-convictions.txt");

    @Test
    void theLeasesHold() {
        Map<LeaseSimulation.Count, Integer> totals = new EnumMap<>(LeaseSimulation.Count.class);
        Seeds.each("leases", RUNS, random -> {
            LeaseSimulation life = new LeaseSimulation(random, new Leases(), true);
            life.run();
            life.counts().forEach((what, times) -> totals.merge(what, times, Integer::sum));
        });
        System.out.println("leases: " + totals);
        if (System.getProperty("seed") == null && Integer.getInteger("runs", RUNS) >= RUNS) {
            for (LeaseSimulation.Count count : LeaseSimulation.Count.values()) {
                assertTrue(totals.containsKey(count), count + " never happened");
            }
        }
    }

    /**
     * Positive control: these lives convict wrong leases, and nothing but what clients recorded counts. The seeds are
     * those that {@link #search} found.
     */
    @ParameterizedTest
    @MethodSource("convictions")
    void clientsNoticeWrongLeases(LeaseVariant variant, long seed) {
        run(seed, new Leases());
        assertThrows(Recorder.Violation.class, () -> run(seed, variant.leases));
    }

    static Stream<Arguments> convictions() throws IOException {
        return Files.readAllLines(CONVICTIONS).stream().filter(line -> !line.startsWith("#"))
                .map(line -> line.split(" "))
                .map(words -> Arguments.of(LeaseVariant.valueOf(words[0]), Long.parseLong(words[1])));
    }

    /** Looks for a seed for each wrong variant, {@code -Dsearch=2000} of them, and records those that it finds. */
    @Test
    @EnabledIfSystemProperty(named = "search", matches = "\\d+")
    void search() throws IOException {
        List<String> found = new ArrayList<>(List.of("# SPDX-License-Identifier: Apache-2.0",
                "# Wrong variants that recorded client replies convict, each with the first such seed of the lives.",
                "# Written by: mvn -pl zookeeper-cad test -Dtest=LeaseSimulationTest -Dsearch=2000"));
        for (LeaseVariant variant : LeaseVariant.values()) {
            long seed = firstConviction(variant, Integer.getInteger("search"));
            System.out.println(variant + ": " + (seed < 0 ? "not convicted" : "seed " + seed));
            if (seed >= 0) {
                found.add(variant + " " + seed);
            }
        }
        Files.write(CONVICTIONS, found);
    }

    private static long firstConviction(LeaseVariant variant, int seeds) {
        for (long seed = 0; seed < seeds; seed++) {
            try {
                run(seed, variant.leases);
            } catch (Recorder.Violation e) {
                run(seed, new Leases());
                return seed;
            } catch (InvariantViolation e) {
                continue; // the server stopped before a client could notice
            }
        }
        return -1;
    }

    private static void run(long seed, Leases leases) {
        new LeaseSimulation(new Random(seed), leases, false).run();
    }
}

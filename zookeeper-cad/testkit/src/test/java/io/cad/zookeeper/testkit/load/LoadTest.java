// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.load;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testkit.Ensemble;
import io.cad.zookeeper.testkit.EnsembleConfig;
import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.ServerBuild;
import io.cad.zookeeper.testkit.history.Op;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LoadTest {

    @Test
    void zipfianPrefersLowRanksAsItsExponentSays() {
        Zipfian zipfian = new Zipfian(100, 1);
        SplittableRandom random = new SplittableRandom(1);
        int[] counts = new int[100];
        for (int i = 0; i < 200_000; i++) {
            counts[zipfian.next(random)]++;
        }
        assertEquals(2.0, (double) counts[0] / counts[1], 0.1);
        assertEquals(10.0, (double) counts[0] / counts[9], 1);
    }

    @Test
    void eachFreshKeyIsHandedOutOnceBeforeAnyIsRepeated() {
        FreshKeys fresh = new FreshKeys();
        SplittableRandom random = new SplittableRandom(1);
        for (int key = 1; key <= 10; key++) {
            fresh.wrote(key);
        }
        for (int key = 1; key <= 10; key++) {
            assertEquals(key, fresh.pick(random));
        }
        for (int key = 11; key <= 1000; key++) {
            fresh.wrote(key);
        }
        assertEquals(1000 - 64 + 1, fresh.pick(random), "older ones have been overwritten");
    }

    @Test
    void percentilesAreOnesThatOccurred() {
        Latencies part = new Latencies();
        for (int i = 1; i <= 2000; i++) {
            part.add((2001 - i) * 1_000_000L);
        }
        Latencies all = Latencies.merge(List.of(part, new Latencies()));
        assertEquals(1000, all.percentileMillis(0.5));
        assertEquals(1980, all.percentileMillis(0.99));
        assertEquals(2000, all.percentileMillis(1));
        assertEquals(0, Latencies.merge(List.of()).percentileMillis(0.5));
    }

    @Test
    void aSpecificationThatMakesNoSenseIsRefusedByName() {
        var e = assertThrows(IllegalArgumentException.class, () -> new LoadSpec(1, 1, 7, 0, 0, 0, 1));
        assertTrue(e.getMessage().contains("valueBytes must be at least 8, not 7"), e.getMessage());
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void clientsReadWhatOthersWrote(boolean lean) throws Exception {
        try (RunDirectory run = RunDirectory.create("load-test")) {
            Ensemble ensemble = Ensemble.start(run, new EnsembleConfig(ServerBuild.stock(), 1));
            LoadSpec spec = new LoadSpec(4, 1000, 100, 0.99, 0.5, 0.8, 7);
            try (LoadGenerator load = lean ? LoadGenerator.openLean(spec, ensemble.servers())
                    : LoadGenerator.open(spec, ensemble.servers(), 0)) {
                load.populate();
                Slice slice = load.runFor(Duration.ofSeconds(1), true);
                assertEquals(0, slice.errors());
                assertEquals(slice.ops().size(), slice.reads().count() + slice.writes().count());
                var writers = slice.ops().stream().filter(op -> op.kind() == Op.Kind.WRITE)
                        .collect(Collectors.toMap(Op::value, Op::client));
                assertTrue(slice.ops().stream().filter(op -> op.kind() == Op.Kind.READ)
                        .anyMatch(op -> writers.getOrDefault(op.value(), op.client()) != op.client()));
                assertTrue(slice.ops().stream().allMatch(op -> op.mzxid() > 0));

                List<Op> all = load.readAll();
                assertEquals(spec.keys(), all.stream().map(Op::key).distinct().count());
                assertFalse(load.runFor(Duration.ofMillis(100), false).ops().stream().findAny().isPresent());
            }
            run.closeAndDelete();
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The core does what the vectors say; the vectors notice every wrong variant of it, and none of them is idle. */
class VectorsTest {
    private static final List<Vector> ALL = Vector.all();

    @TestFactory
    Stream<DynamicTest> theCorePassesEachVector() {
        return ALL.stream().map(vector -> dynamicTest(vector.name(), () -> vector.run(new Cores())));
    }

    @TestFactory
    Stream<DynamicTest> eachVectorCatchesWhatItNames() {
        return ALL.stream().map(vector -> dynamicTest(vector.name(), () -> {
            assertFalse(vector.catches().isEmpty(), "it names no wrong variant that it catches");
            for (String name : vector.catches()) {
                assertTrue(isRed(vector, Variant.named(name)), "it does not notice " + name);
            }
        }));
    }

    @TestFactory
    Stream<DynamicTest> eachVariantIsCaught() {
        return Arrays.stream(Variant.values()).map(variant -> dynamicTest(variant.toString(), () ->
                assertTrue(ALL.stream().anyMatch(vector -> vector.catches().contains(variant.toString())),
                        "no vector catches it")));
    }

    @Test
    void thereAreEnough() {
        assertTrue(ALL.size() >= 25, ALL.size() + " vectors");
    }

    @Test
    void aMissingActionIsNoticed() {
        fails("replies", "reply A required 1:1 bytes 1", "-> held A", "durable 1:0", "-> sent A");
    }

    @Test
    void anUnexpectedActionIsNoticed() {
        fails("replies", "reply A required none bytes 1", "durable 1:0");
    }

    @Test
    void anUnexpectedActionAtTheEndIsNoticed() {
        fails("replies", "reply A required none bytes 1");
    }

    @Test
    void anotherActionIsNoticed() {
        fails("replies", "reply A required none bytes 1", "-> held A");
    }

    @Test
    void anotherStateIsNoticed() {
        fails("replies", "== size 1");
    }

    @Test
    void aRefusalIsNoticed() {
        fails("window txns 1 bytes 1 age 1ms", "appended 1:2 bytes 1", "appended 1:1 bytes 1");
    }

    @Test
    void unknownAndMissingWordsAreNoticed() {
        wrong("replica");
        wrong("# nothing at all");
        wrong("replies", "release A");
        wrong("replies", "discard now");
        wrong("replies", "== length 3");
        wrong("replies", "== size");
        wrong("replies", "reply A needs 1:1 bytes 1");
        wrong("replies", "reply A required 1:1");
        wrong("replies", "durable 1");
        wrong("replies", "durable 1:x");
        wrong("replies", "durable -1:1");
        wrong("replies", "at 5");
        wrong("replies", "at -5ms");
        wrong("replies", "at 5ms", "at 4ms");
        wrong("leader epoch 1 self 1 timeout 1ms", "configurations 1 2 3");
        wrong("leader epoch 1 self 1 timeout 1ms", "configurations majority 1 x 3");
        wrong("leader epoch 1 self 1 timeout 1ms", "configurations majority 1 2 3 &");
        wrong("leader epoch 1 self 1 timeout 1ms", "configurations groups 1 2 3");
        wrong("leader epoch 1 timeout 1ms");
    }

    private static boolean isRed(Vector vector, Variant variant) {
        try {
            vector.run(variant.cores);
            return false;
        } catch (Vector.Mismatch e) {
            return true;
        }
    }

    private static void fails(String... lines) {
        assertThrows(Vector.Mismatch.class, () -> new Vector("test", List.of(lines)).run(new Cores()));
    }

    private static void wrong(String... lines) {
        assertThrows(Words.SyntaxError.class, () -> new Vector("test", List.of(lines)).run(new Cores()));
    }
}

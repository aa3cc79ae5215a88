// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class WindowTest {
    private record Entry(long index, long bytes, long since) {
    }

    @Test
    void itIsAListOfEntries() {
        Seeds.each("window", 100, random -> compareWithAList(random, 1 << 14, true));
    }

    /** With few slots it forgets details, and then it may only be stricter. */
    @Test
    void withFewSlotsItIsStricter() {
        Seeds.each("window with few slots", 100, random -> compareWithAList(random, 4, false));
    }

    private static void compareWithAList(Random random, int slots, boolean exact) {
        long maxTxns = 1 + random.nextInt(300);
        long maxBytes = 1 + random.nextInt(3000);
        long maxAge = 1 + random.nextInt(500);
        Window window = new Window(maxTxns, maxBytes, maxAge, slots);
        List<Entry> model = new ArrayList<>();
        boolean open = false;
        long now = -250;
        long last = 0;
        long persisted = Indices.NONE;
        int burst = 1 + random.nextInt(300);
        for (int i = 0; i < 60; i++) {
            for (int n = random.nextInt(burst); n > 0; n--) {
                now += random.nextInt(3);
                last += 1 + random.nextInt(3);
                Entry entry = new Entry(last, random.nextInt(20), now);
                window.appended(entry.index, entry.bytes, now);
                if (last > persisted) {
                    model.add(entry);
                }
            }
            if (random.nextInt(3) == 0) {
                long index = Math.max(0, last - random.nextInt(burst) + random.nextInt(5));
                window.durable(index);
                open = true;
                persisted = Math.max(persisted, index);
                long bound = persisted;
                model.removeIf(entry -> entry.index <= bound);
            }
            if (exact) {
                assertEquals(model.size(), window.txns());
                assertEquals(model.stream().mapToLong(Entry::bytes).sum(), window.bytes());
                assertEquals(model.isEmpty() ? 0 : now - model.get(0).since, window.ageNanos(now));
            } else {
                assertTrue(window.txns() >= model.size());
                assertTrue(window.bytes() >= model.stream().mapToLong(Entry::bytes).sum());
                assertTrue(model.isEmpty() || window.ageNanos(now) >= now - model.get(0).since);
                assertTrue(!model.isEmpty() || window.txns() == 0);
            }
            long bytes = 0;
            for (int position = 0; position < model.size(); position++) {
                Entry entry = model.get(position);
                bytes += entry.bytes;
                boolean fits = open && position + 1 <= maxTxns && bytes <= maxBytes
                        && now - model.get(0).since <= maxAge;
                boolean admitted = window.admits(entry.index, now);
                assertTrue(exact ? admitted == fits : fits || !admitted, () -> "entry " + entry);
            }
            assertFalse(window.admits(Math.max(last, persisted) + 1, now));
            assertTrue(persisted < 0 || window.admits(persisted, now));
        }
    }

    @Test
    void aStallThatOverflowsTheSlotsEndsUnderLoad() {
        Window window = new Window(1_000_000, Long.MAX_VALUE, Long.MAX_VALUE, 8);
        window.durable(0);
        for (int i = 1; i <= 1000; i++) {
            window.appended(i, 1, i);
        }
        assertEquals(1000, window.txns());
        assertEquals(8, window.capacity());
        // Ten entries behind from here on, never idle.
        for (int i = 1001; i <= 1100; i++) {
            window.appended(i, 1, i);
            window.durable(i - 10);
            assertTrue(window.admits(i, i));
        }
        assertTrue(window.txns() < 30, window.txns() + " entries");
        assertTrue(window.ageNanos(1100) < 30, window.ageNanos(1100) + " ns");
    }

    @Test
    void memoryIsBounded() {
        Window window = new Window(Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE);
        int small = window.capacity();
        for (int i = 1; i <= 100_000; i++) {
            window.appended(i, 1, i);
        }
        assertTrue(small < 1000 && window.capacity() < 20_000, small + " slots, then " + window.capacity());
    }

    @Test
    void nonsenseIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> new Window(0, 1, 1));
        assertThrows(IllegalArgumentException.class, () -> new Window(1, 0, 1));
        assertThrows(IllegalArgumentException.class, () -> new Window(1, 1, 0));
        Window window = new Window(1, 1, 1);
        window.appended(5, 1, 0);
        assertThrows(IllegalArgumentException.class, () -> window.appended(5, 1, 0));
        assertThrows(IllegalArgumentException.class, () -> window.appended(6, -1, 0));
        window.durable(Indices.NONE);
        assertFalse(window.admits(5, 0)); // still shut
    }
}

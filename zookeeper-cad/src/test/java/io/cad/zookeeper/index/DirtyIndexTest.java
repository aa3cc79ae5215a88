// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.index;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.core.Seeds;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.junit.jupiter.api.Test;

class DirtyIndexTest {
    private static final List<String> PATHS = paths();

    private static List<String> paths() {
        List<String> all = new ArrayList<>(List.of("/", "session:1", "session:2"));
        for (String top : List.of("/a", "/ab", "/b")) {
            all.add(top);
            for (int i = 0; i < 4; i++) {
                all.add(top + "/" + i);
                all.add(top + "/" + i + "/x");
            }
        }
        return all;
    }

    @Test
    void itIsAMapAndABarrier() {
        Seeds.each("dirty index", 300, DirtyIndexTest::compareWithAMap);
    }

    private static void compareWithAMap(Random random) {
        int max = 1 + random.nextInt(40);
        long start = random.nextInt(10);
        DirtyIndex index = new DirtyIndex(max, start);
        Map<String, Long> model = new HashMap<>(); // of everything ever touched
        long unlisted = start;
        long last = start;
        long durable = -1;
        for (int i = 0; i < 600; i++) {
            int dice = random.nextInt(20);
            if (dice < 12) {
                last += random.nextInt(3);
                String path = PATHS.get(random.nextInt(PATHS.size()));
                index.touch(path, last);
                model.merge(path, last, Math::max);
            } else if (dice < 16) {
                durable = Math.max(durable, last - random.nextInt(20));
                index.durable(durable);
            } else if (dice == 16 && random.nextInt(10) == 0) {
                last += 5;
                index.raiseBarrier(last);
                unlisted = last;
            }
            long barrier = index.barrier();
            assertTrue(barrier >= unlisted && barrier <= last, "barrier " + barrier);
            assertTrue(index.size() <= max, "size " + index.size());
            assertEquals(Math.max(barrier, durable), index.floor());
            long floor = index.floor();
            assertEquals(model.values().stream().filter(u -> u > floor).count(), index.size());
            for (String path : PATHS) {
                long touched = model.getOrDefault(path, -1L);
                assertEquals(touched > floor ? touched : barrier, index.required(path), path);
                String below = path.equals("/") ? "/" : path + "/";
                assertEquals(PATHS.stream().filter(other -> other.equals(path) || other.startsWith(below))
                        .mapToLong(index::required).max().orElseThrow(), index.requiredUnder(path), path);
            }
        }
    }

    /** The barrier rises by the bound only as far as it must. */
    @Test
    void theBoundCostsOnlyTheOldest() {
        DirtyIndex index = new DirtyIndex(5000, 0);
        for (int i = 1; i <= 5500; i++) {
            index.touch("/" + i, i);
        }
        assertEquals(500, index.barrier());
        assertEquals(5000, index.size());
        assertEquals(501, index.required("/501"));
        index.durable(5500);
        assertEquals(0, index.size());
    }

    /**
     * One thread applies, one advances D, several read, all at once. What a reader must never see: a required index
     * below the newest update of the item, unless that update was durable; or one above the last update of all.
     */
    @Test
    void readersNeverMissAnUpdate() {
        Seeds.each("dirty index, many threads", 3, random -> new Hammer(random, new DirtyIndex(64, 0)).run());
    }

    /** The same, where the bound replaces items all the time. */
    @Test
    void readersNeverMissAnUpdateBeyondTheBound() {
        Seeds.each("dirty index, many threads, small", 3, random -> new Hammer(random, new DirtyIndex(8, 0)).run());
    }

    /** Positive control. */
    @Test
    void readersNoticeALostUpdate() {
        Hammer hammer = new Hammer(new Random(1), DirtyVariants.boundDropsItems(8, 0));
        assertTrue(assertThrows(AssertionError.class, hammer::run).getMessage().contains("missed"));
    }

    private static final class Hammer {
        private static final int ITEMS = 50;
        private static final int UPDATES = 20_000;
        private static final int READERS = 3;
        /** So many updates are not durable at least while updates go on. */
        private static final int LAG = 20;

        private final Random random;
        private final DirtyIndex index;
        /** The newest update of each item that reads can see. */
        private final AtomicLongArray visible = new AtomicLongArray(ITEMS);
        private final AtomicLong last = new AtomicLong();
        private final AtomicLong durable = new AtomicLong();
        private final AtomicLong reads = new AtomicLong();
        private final AtomicLong readsAboveDurable = new AtomicLong();
        private volatile boolean over;

        Hammer(Random random, DirtyIndex index) {
            this.random = random;
            this.index = index;
        }

        void run() {
            List<Callable<Void>> threads = new ArrayList<>(List.of(this::update, this::advance));
            for (int reader = 0; reader < READERS; reader++) {
                Random own = new Random(random.nextLong());
                threads.add(() -> read(own));
            }
            ExecutorService pool = Executors.newFixedThreadPool(threads.size());
            try {
                for (Future<Void> result : pool.invokeAll(threads)) {
                    result.get();
                }
            } catch (ExecutionException e) {
                throw new AssertionError(e.getCause().getMessage(), e.getCause());
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            } finally {
                pool.shutdownNow();
            }
            assertTrue(readsAboveDurable.get() > 0, "no reader ever met an item that was not durable");
            index.durable(UPDATES);
            assertEquals(0, index.size());
            assertEquals(UPDATES, index.floor());
        }

        private Void update() {
            for (long update = 1; update <= UPDATES && !over; update++) {
                int item = random.nextInt(ITEMS);
                last.set(update);
                index.touch("/" + item, update);
                visible.set(item, update);
                if (update % 500 == 0) { // on few processors the others would get no turn
                    long before = reads.get();
                    while (reads.get() < before + 20 && !over) {
                        Thread.yield();
                    }
                }
            }
            over = true;
            return null;
        }

        private Void advance() {
            while (!over) {
                long reached = Math.max(durable.get(), last.get() - LAG);
                durable.set(reached); // it is durable before the index hears of it
                index.durable(reached);
                Thread.yield();
            }
            return null;
        }

        private Void read(Random own) {
            while (!over) {
                int item = own.nextInt(ITEMS);
                long seen = visible.get(item);
                long required = own.nextInt(50) == 0 ? index.requiredUnder("/") : index.required("/" + item);
                long durableNow = durable.get();
                long lastNow = last.get();
                if (required < seen && seen > durableNow || required > lastNow) {
                    over = true;
                    throw new AssertionError("update " + seen + " of /" + item + " missed: required " + required
                            + ", durable " + durableNow + ", last " + lastNow);
                }
                reads.incrementAndGet();
                if (required > durableNow) {
                    readsAboveDurable.incrementAndGet();
                }
            }
            return null;
        }
    }

    @Test
    void nonsenseIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> new DirtyIndex(0, 0));
    }
}

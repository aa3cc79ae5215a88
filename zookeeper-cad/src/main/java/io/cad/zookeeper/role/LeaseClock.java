// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.role;

/**
 * Reads the monotonic and the wall clock together. A pause between the two readings would look like a suspension of the
 * machine, so they are read again until they lie close together.
 */
final class LeaseClock {

    /** Receives one reading of both clocks, in nanoseconds. */
    interface Use {
        void at(long now, long wall);
    }

    /** A lease of either kind. */
    interface Lease {
        boolean holds(long now, long wall);
    }

    private static final long CLOSE_NANOS = 1_000_000;
    private static final long MILLI = 1_000_000;

    private LeaseClock() {
    }

    static void read(Use use) {
        while (true) {
            long before = System.nanoTime();
            long wall = wall();
            long now = System.nanoTime();
            if (now - before < CLOSE_NANOS) {
                use.at(now, wall);
                return;
            }
        }
    }

    /** On the path of every read: the caller keeps its lease in a field, so that nothing is allocated. */
    static boolean holds(Lease lease) {
        while (true) {
            long before = System.nanoTime();
            long wall = wall();
            long now = System.nanoTime();
            if (now - before < CLOSE_NANOS) {
                return lease.holds(now, wall);
            }
        }
    }

    private static long wall() {
        return System.currentTimeMillis() * MILLI;
    }
}

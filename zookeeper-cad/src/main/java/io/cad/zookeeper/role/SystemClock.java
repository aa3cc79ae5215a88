// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.role;

import io.cad.zookeeper.node.Clock;

/**
 * The clocks of this machine. A pause between the two readings would look like a suspension of the machine, so they are
 * read again until they lie close together.
 */
enum SystemClock implements Clock {
    INSTANCE;

    private static final long CLOSE_NANOS = 1_000_000;
    private static final long MILLI = 1_000_000;

    @Override
    public long now() {
        return System.nanoTime();
    }

    @Override
    public void read(Use use) {
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

    @Override
    public boolean holds(Lease lease) {
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

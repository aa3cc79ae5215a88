// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.load;

import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The keys of the last few acknowledged writes of all clients. Each write is handed to one reader first, so that as many
 * different fresh values as possible are read; readers beyond that get any of the last few.
 */
public final class FreshKeys {
    private static final int KEPT = 64;

    private final AtomicIntegerArray ring = new AtomicIntegerArray(KEPT);
    private final AtomicLong written = new AtomicLong();
    private final AtomicLong handedOut = new AtomicLong();

    public void wrote(int key) {
        ring.set(slot(written.getAndIncrement()), key);
    }

    public int pick(SplittableRandom random) {
        long newest = written.get();
        long next = handedOut.get();
        if (next < newest && handedOut.compareAndSet(next, Math.max(next, newest - KEPT) + 1)) {
            return ring.get(slot(Math.max(next, newest - KEPT)));
        }
        return ring.get(random.nextInt(KEPT));
    }

    private static int slot(long n) {
        return (int) (n % KEPT);
    }
}

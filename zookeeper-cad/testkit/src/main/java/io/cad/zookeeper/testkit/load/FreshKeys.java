// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.load;

import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;

/** The keys of the last few acknowledged writes of all clients, so that others read what was just written. */
final class FreshKeys {
    private static final int KEPT = 16;

    private final AtomicIntegerArray ring = new AtomicIntegerArray(KEPT);
    private final AtomicInteger next = new AtomicInteger();

    void wrote(int key) {
        ring.set(Math.floorMod(next.getAndIncrement(), KEPT), key);
    }

    int pick(SplittableRandom random) {
        return ring.get(random.nextInt(KEPT));
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.simulation;

import java.util.Random;
import java.util.Set;

/** Messages between servers are late, lost, doubled or overtaken; links are cut in one or both directions. */
final class Network {
    private static final long MS = 1_000_000;

    private final Random random;
    private final boolean[][] cut;
    private final long[][] slow;

    /** Runs something after a delay. */
    interface Later {
        void run(long delay, Runnable action);
    }

    private final Later later;

    Network(int size, Random random, Later later) {
        this.random = random;
        this.later = later;
        cut = new boolean[size][size];
        slow = new long[size][size];
    }

    /** Each copy travels alone, so messages overtake one another. */
    void send(int from, int to, Runnable receipt) {
        if (cut[from][to] || random.nextInt(50) == 0) {
            return;
        }
        for (int copies = random.nextInt(30) == 0 ? 2 : 1; copies > 0; copies--) {
            long delay = MS / 10 + (long) (random.nextDouble() * 2 * MS) + slow[from][to];
            later.run(random.nextInt(40) == 0 ? delay + (long) (random.nextDouble() * 300 * MS) : delay, receipt);
        }
    }

    /** 0: in both directions; 1: nothing goes out; 2: nothing comes in. */
    void isolate(int victim, int direction, boolean value) {
        for (int other = 0; other < cut.length; other++) {
            if (other != victim) {
                cut[victim][other] = direction == 2 ? cut[victim][other] : value;
                cut[other][victim] = direction == 1 ? cut[other][victim] : value;
            }
        }
    }

    /** Nothing goes from these to the others or back. */
    void divide(Set<Long> some, boolean value) {
        for (int one = 0; one < cut.length; one++) {
            for (int other = 0; other < cut.length; other++) {
                if (some.contains((long) one) != some.contains((long) other)) {
                    cut[one][other] = value;
                }
            }
        }
    }

    void slow(int from, int to, long delay) {
        slow[from][to] = delay;
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import java.util.Random;
import java.util.function.Consumer;

/**
 * Random runs that can be repeated. {@code -Dseed=N} repeats one run, {@code -Druns=N} says how many there are.
 * The seed is printed first and last, and stands in the failure.
 */
public final class Seeds {
    private Seeds() {
    }

    public static void each(String what, int defaultRuns, Consumer<Random> run) {
        String given = System.getProperty("seed");
        long first = given != null ? Long.parseLong(given) : new Random().nextInt(Integer.MAX_VALUE);
        int runs = given != null ? 1 : Integer.getInteger("runs", defaultRuns);
        System.out.println(what + ": " + runs + " runs from seed " + first);
        for (long seed = first; seed < first + runs; seed++) {
            try {
                run.accept(new Random(seed));
            } catch (RuntimeException | Error e) {
                System.out.println(what + ": failed, repeat with -Dseed=" + seed);
                throw new AssertionError(what + " fails with -Dseed=" + seed + ": " + e.getMessage(), e);
            }
        }
        System.out.println(what + ": " + runs + " runs held, from seed " + first);
    }
}

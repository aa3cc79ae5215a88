// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

/** Counts things at positions and sums ranges, each in logarithmic time (Fenwick tree). */
final class Counter {
    private final long[] sums;

    Counter(int size) {
        sums = new long[size + 1];
    }

    void add(int position) {
        for (int i = position + 1; i < sums.length; i += i & -i) {
            sums[i]++;
        }
    }

    /** How many are at positions below {@code end}. */
    long below(int end) {
        long sum = 0;
        for (int i = Math.min(Math.max(end, 0), sums.length - 1); i > 0; i -= i & -i) {
            sum += sums[i];
        }
        return sum;
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.load;

import java.util.Arrays;
import java.util.SplittableRandom;

/** Ranks 0 to n-1 with probability proportional to 1 / (rank + 1)^exponent, by a table of sums. */
public final class Zipfian {
    private final double[] sums;

    public Zipfian(int n, double exponent) {
        sums = new double[n];
        double sum = 0;
        for (int rank = 0; rank < n; rank++) {
            sum += 1 / Math.pow(rank + 1.0, exponent);
            sums[rank] = sum;
        }
    }

    public int next(SplittableRandom random) {
        int found = Arrays.binarySearch(sums, random.nextDouble() * sums[sums.length - 1]);
        int rank = found >= 0 ? found : -found - 1;
        return Math.min(rank, sums.length - 1);
    }
}

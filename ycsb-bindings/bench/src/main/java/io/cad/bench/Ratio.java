// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Median of paired ratios with a 95 % bootstrap interval (percentile method, resampling the pairs).
 *
 * @param pairs number of ratios
 */
public record Ratio(double median, double low, double high, int pairs) {
    private static final int RESAMPLES = 10_000;
    private static final double TAIL = 0.025;

    /**
     * Summarises ratios.
     *
     * @param seed of the resampling, so that a table can be made again exactly
     * @throws IllegalArgumentException when there are none
     */
    public static Ratio of(List<Double> ratios, long seed) {
        if (ratios.isEmpty()) {
            throw new IllegalArgumentException("no pairs, no ratio");
        }
        double[] values = ratios.stream().mapToDouble(Double::doubleValue).toArray();
        SplittableRandom random = new SplittableRandom(seed);
        double[] medians = new double[RESAMPLES];
        double[] sample = new double[values.length];
        for (int i = 0; i < RESAMPLES; i++) {
            for (int j = 0; j < sample.length; j++) {
                sample[j] = values[random.nextInt(values.length)];
            }
            medians[i] = median(sample);
        }
        Arrays.sort(medians);
        return new Ratio(median(values), medians[(int) (TAIL * RESAMPLES)],
                medians[(int) ((1 - TAIL) * RESAMPLES) - 1], values.length);
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }
}

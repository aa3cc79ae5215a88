// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class RatioTest {

    @Test
    void medianOfOddAndEvenNumbersOfPairs() {
        assertEquals(2, Ratio.of(List.of(3.0, 1.0, 2.0), 1).median());
        assertEquals(2.5, Ratio.of(List.of(4.0, 1.0, 2.0, 3.0), 1).median());
        assertThrows(IllegalArgumentException.class, () -> Ratio.of(List.of(), 1));
    }

    @Test
    void theIntervalIsAsWideAsTheNoiseAndTheSameForTheSameSeed() {
        List<Double> exact = List.of(1.5, 1.5, 1.5);
        assertEquals(new Ratio(1.5, 1.5, 1.5, 3), Ratio.of(exact, 9));

        SplittableRandom random = new SplittableRandom(5);
        List<Double> noisy = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            noisy.add(1 + 0.2 * (random.nextDouble() - 0.5));
        }
        Ratio ratio = Ratio.of(noisy, 9);
        assertEquals(ratio, Ratio.of(noisy, 9));
        assertTrue(ratio.low() < ratio.median() && ratio.median() < ratio.high());
        assertTrue(ratio.low() > 0.95 && ratio.high() < 1.05, ratio.toString());
    }

    @Test
    void theIntervalCoversTheTruthAboutAsOftenAsItSays() {
        SplittableRandom random = new SplittableRandom(11);
        int covered = 0;
        for (int experiment = 0; experiment < 100; experiment++) {
            List<Double> pairs = new ArrayList<>();
            for (int i = 0; i < 30; i++) {
                pairs.add(random.nextDouble());
            }
            Ratio ratio = Ratio.of(pairs, experiment);
            covered += ratio.low() <= 0.5 && 0.5 <= ratio.high() ? 1 : 0;
        }
        assertTrue(covered >= 88, "covered " + covered + " of 100");
    }
}

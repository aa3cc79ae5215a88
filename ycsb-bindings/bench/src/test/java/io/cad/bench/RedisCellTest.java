// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** What the plans of Redis' ratios contain, and how long they are to take. */
class RedisCellTest {
    private static final double SLICE = 1;

    private static Set<String> ids(List<RedisCell> cells) {
        return cells.stream().map(RedisCell::id).collect(Collectors.toSet());
    }

    private static double minutes(List<RedisCell> cells) {
        return cells.stream().mapToDouble(cell -> cell.seconds(SLICE)).sum() / 60;
    }

    @Test
    void quickHasEachLoadAtEachLatency() {
        Set<String> ids = ids(RedisCell.quick());
        for (String load : List.of("set", "get", "incr", "mix")) {
            for (String dial : List.of("raw", "1.0", "3.0", "10.0")) {
                assertTrue(ids.contains("cad-over-eventual." + load + ".c10p1.d" + dial), load + " at " + dial);
            }
        }
        assertTrue(ids.containsAll(ids(RedisCell.headlines())));
    }

    @Test
    void noCellIsMeasuredTwice() {
        for (List<RedisCell> plan : List.of(RedisCell.quick(), RedisCell.full(), RedisCell.smoke())) {
            assertEquals(plan.size(), ids(plan).size());
        }
    }

    @Test
    void quickEndsInTime() {
        assertTrue(minutes(RedisCell.quick()) <= 40, "as docs say of a quick bench");
        List<RedisCell> headlines = RedisCell.quick().stream().filter(cell -> cell.id().contains(".d3.0")).collect(Collectors.toList());
        assertTrue(headlines.containsAll(RedisCell.headlines()));
        assertTrue(minutes(headlines) <= 16, minutes(headlines) + " minutes");
    }
}

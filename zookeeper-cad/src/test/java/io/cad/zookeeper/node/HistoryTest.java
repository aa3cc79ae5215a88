// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.cad.zookeeper.core.Indices;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HistoryTest {
    /** What a server recorded counts before what it logged: a long log of a dead branch is not ahead. */
    @ParameterizedTest
    @CsvSource({"1, 1:5, 1, 1:4, true", "1, 1:5, 1, 1:5, false", "1, 1:4, 1, 1:5, false",
        "2, 1:4, 1, 1:5, true", "1, 1:5, 2, 1:4, false", "2, 2:0, 1, 1:5, true"})
    void theRecordedEpochCountsFirst(long epoch, String last, long otherEpoch, String otherLast, boolean ahead) {
        assertEquals(ahead, new History(epoch, Indices.parse(last)).isAheadOf(new History(otherEpoch, Indices.parse(otherLast))));
    }
}

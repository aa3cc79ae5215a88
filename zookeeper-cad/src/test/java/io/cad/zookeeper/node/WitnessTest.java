// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.core.Indices;
import org.junit.jupiter.api.Test;

/** Rule E7: what a process knows, and which histories have it. */
class WitnessTest {

    @Test
    void aProcessForgetsNothingDurable() {
        Witness witness = new Witness();
        assertEquals(Indices.NONE, witness.durable());
        witness.heard(Indices.of(3, 7));
        witness.heard(Indices.of(3, 5));
        witness.heard(Indices.NONE);
        assertEquals(Indices.of(3, 7), witness.durable());
        witness.heard(Indices.first(4));
        assertEquals(Indices.first(4), witness.durable());
    }

    @Test
    void aHistoryContainsWhatItsEpochReached() {
        History history = new History(3, Indices.of(3, 7));
        assertTrue(history.contains(Indices.of(3, 7)));
        assertFalse(history.contains(Indices.of(3, 8)));
        assertFalse(history.contains(Indices.first(4)));
    }

    @Test
    void aLaterEpochContainsAllOfAnOlderOne() {
        // It was recorded over the history with which the epoch began; nothing need have been written since.
        History history = new History(4, Indices.of(3, 7));
        assertTrue(history.contains(Indices.of(3, 9)));
        assertTrue(history.contains(Indices.first(4)));
        assertFalse(history.contains(Indices.of(4, 1)));
    }
}

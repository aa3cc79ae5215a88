// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class IndicesTest {
    @Test
    void anIndexIsAZxid() {
        long index = Indices.parse("1:15");
        assertEquals(0x1_0000_000fL, index);
        assertEquals(1, Indices.epoch(index));
        assertEquals(15, Indices.counter(index));
        assertEquals("1:15", Indices.format(index));
        assertEquals("0:0", Indices.format(0));
    }

    @Test
    void theWholeRangeIsOrderedAsSignedLongs() {
        long last = Indices.of(Indices.MAX_EPOCH, Indices.MAX_COUNTER);
        assertEquals(Long.MAX_VALUE, last);
        assertEquals(last, Indices.parse(Indices.format(last)));
        assertEquals(Indices.MAX_COUNTER, Indices.counter(Indices.of(3, Indices.MAX_COUNTER)));
        assertEquals(3, Indices.epoch(Indices.of(3, Indices.MAX_COUNTER)));
        assertTrue(Indices.of(3, Indices.MAX_COUNTER) < Indices.first(4));
        assertTrue(Indices.NONE < Indices.first(0));
    }

    @Test
    void noneIsBelowEverything() {
        assertEquals("none", Indices.format(Indices.NONE));
        assertEquals(Indices.NONE, Indices.parse("none"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ":", "1", "1:", ":1", "1:2:3", "-1:1", "1:-1", "a:b", "2147483648:0", "1:4294967296",
        "99999999999999999999:1"})
    void nothingElseIsAnIndex(String text) {
        assertThrows(IllegalArgumentException.class, () -> Indices.parse(text));
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ArgumentsTest {
    private static Arguments parse(String... line) throws Arguments.BadArguments {
        return new Arguments(line, Set.of("n", "cfg"), Set.of("keep"));
    }

    private static String error(String... line) {
        return assertThrows(Arguments.BadArguments.class, () -> {
            Arguments arguments = parse(line);
            arguments.number("n", 1, 1);
            arguments.pairs("cfg");
        }).getMessage();
    }

    @Test
    void valuesFlagsAndDefaults() throws Exception {
        Arguments arguments = parse("--n", "4", "--cfg", "a=1", "--cfg", "b=x=y", "--n", "5");
        assertEquals(5, arguments.number("n", 1, 1), "the last one counts");
        assertEquals(Map.of("a", "1", "b", "x=y"), arguments.pairs("cfg"));
        assertFalse(arguments.has("keep"));
        assertTrue(parse("--keep").has("keep"));
        assertEquals(7, parse().number("n", 7, 1));
        assertEquals(0.5, parse("--n", "0.5").decimal("n", 1, 0));
        assertEquals(Long.MAX_VALUE, parse("--n", "9223372036854775807").number("n", 0, 0), "not by way of a double");
    }

    @Test
    void mistakesAreNamedWithTheirRemedy() {
        assertEquals("unknown argument --m; known are --cfg, --keep, --n", error("--m", "1"));
        assertEquals("unknown argument n; known are --cfg, --keep, --n", error("n"));
        assertEquals("--n needs a value", error("--n"));
        assertEquals("--n needs a whole number of at least 1, not 0", error("--n", "0"));
        assertEquals("--n needs a whole number of at least 1, not x", error("--n", "x"));
        assertEquals("--cfg needs key=value, not a", error("--cfg", "a"));
    }
}

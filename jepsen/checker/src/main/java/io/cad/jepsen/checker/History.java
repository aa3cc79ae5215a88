// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import java.util.List;
import java.util.Map;

/**
 * What the clients of one run recorded.
 *
 * @param keys names of the items; an operation has the position of its item here
 * @param dumped updates found in a log at the end, as pairs of key and index
 * @param ignored operations of clients that this checker does not know, by their name
 */
public record History(Style style, List<Operation> operations, List<Object> keys, List<Dumped> dumped,
        Map<String, Integer> ignored) {
    /** How updates are told apart: by an index, or by the chain of those before them. */
    public enum Style { INDEXED, CHAIN }

    /** An update that a log contains. */
    public record Dumped(int key, Index version) {
    }
}

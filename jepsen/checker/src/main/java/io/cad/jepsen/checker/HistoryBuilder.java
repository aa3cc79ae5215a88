// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Collects the operations of a run, in any order. */
public final class HistoryBuilder {
    private final List<Operation> operations = new ArrayList<>();
    private final List<History.Dumped> dumped = new ArrayList<>();
    private final List<Object> keys = new ArrayList<>();
    private final Map<Object, Integer> numbers = new HashMap<>();
    private final Map<String, Integer> ignored = new TreeMap<>();
    private boolean hasIndices;
    private boolean hasNames;

    /** The number of an item. */
    public int key(Object name) {
        Integer known = numbers.get(name);
        if (known == null) {
            known = keys.size();
            keys.add(name);
            numbers.put(name, known);
        }
        return known;
    }

    /** One operation; an outcome other than OK carries no facts of its completion. */
    public void add(Operation operation) {
        hasIndices |= operation.got().version() != null;
        hasNames |= operation.got().uid() != null || operation.asked().uid() != null;
        operations.add(operation);
    }

    /** An update that a log contains at the end of the run. */
    public void dumped(Object key, Index version) {
        hasIndices = true;
        dumped.add(new History.Dumped(key(key), version));
    }

    /** An operation whose name means nothing here. */
    void ignored(String name) {
        ignored.merge(name, 1, Integer::sum);
    }

    /** @throws BadHistoryException if some operations are known by an index and others by a chain */
    public History build() {
        if (hasIndices && hasNames) {
            throw new BadHistoryException("some operations have :ver and some have :uid; a history is of one style");
        }
        return new History(hasNames ? History.Style.CHAIN : History.Style.INDEXED, operations, keys, dumped, ignored);
    }
}

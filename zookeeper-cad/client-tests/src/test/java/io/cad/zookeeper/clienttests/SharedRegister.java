// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.clienttests;

import java.util.ArrayList;
import java.util.List;

/**
 * The history of a register with one writer that writes 1, 2, 3, ... For such a register three comparisons decide
 * linearizability: a read is no older than any write acknowledged, or any value read, before it began, and no newer than
 * the last write that had begun when it ended.
 */
final class SharedRegister {
    private int begun;
    private int known;
    private int reads;
    private final List<String> violations = new ArrayList<>();

    synchronized int beginWrite() {
        return ++begun;
    }

    synchronized void acknowledged(int value) {
        known = Math.max(known, value);
    }

    /** @return the oldest value that a read beginning now may return */
    synchronized int beginRead() {
        return known;
    }

    synchronized void read(int oldest, int value, String where) {
        reads++;
        if (value < oldest) {
            violations.add(where + " returned " + value + " although " + oldest + " had been acknowledged or read before");
        }
        if (value > begun) {
            violations.add(where + " returned " + value + " which nobody had written");
        }
        known = Math.max(known, value);
    }

    synchronized int reads() {
        return reads;
    }

    synchronized int written() {
        return known;
    }

    synchronized List<String> violations() {
        return List.copyOf(violations);
    }
}

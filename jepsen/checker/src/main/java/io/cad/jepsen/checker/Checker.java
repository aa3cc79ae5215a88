// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

/** Decides whether the reads of a history ever went back. */
public final class Checker {
    private Checker() {
    }

    /** Time: n log n for n operations, times the number of epochs or of branches of history that were read. */
    public static Verdict check(History history) {
        return history.style() == History.Style.CHAIN ? new ChainCheck(history).run() : new IndexedCheck(history).run();
    }
}

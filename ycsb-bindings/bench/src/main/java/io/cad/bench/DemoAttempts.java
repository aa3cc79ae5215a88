// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import java.util.List;

/** Loads and power losses of one mode until they show something. */
final class DemoAttempts {
    /** Most power losses of one mode. */
    private static final int MOST = 4;

    /** One load and power loss; attempts count from 1. */
    interface Attempt {
        DemoRow lose(int attempt) throws Exception;
    }

    private DemoAttempts() {
    }

    /**
     * A slow machine puts little at stake in one loss, so the losses add up; one that put nothing at stake does not
     * count. A violation is never tried again, nor hidden.
     */
    static DemoRow of(Attempt mode) throws Exception {
        DemoRow row = mode.lose(1);
        for (int attempt = 2; attempt <= MOST && DemoVerdict.violations(row).isEmpty(); attempt++) {
            List<String> doubts = DemoVerdict.doubts(row);
            if (doubts.isEmpty()) {
                break;
            }
            System.out.println("  " + row.mode().label() + " again: " + String.join("; ", doubts));
            DemoRow next = mode.lose(attempt);
            if (!row.putSomethingAtStake()) {
                row = next;
            } else if (next.putSomethingAtStake() || !DemoVerdict.violations(next).isEmpty()) {
                row = row.and(next);
            }
        }
        return row;
    }
}

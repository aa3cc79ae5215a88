// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.lease;

/**
 * Notices that the machine was suspended: its monotonic clock stood still meanwhile, its wall clock did not. Both are
 * slewed alike, so the distance between them moves only by a suspension, or by somebody who sets the wall clock, which
 * is taken for one. Compared with a fixed distance, so that many short suspensions add up.
 */
final class Suspension {
    /** Less is not noticed; half of what removal and promise have to spare by default. */
    static final long TOLERANCE_NANOS = 5_000_000;

    private volatile long distance;

    Suspension(long now, long wall) {
        distance = wall - now;
    }

    boolean happened(long now, long wall) {
        return Math.abs(wall - now - distance) > TOLERANCE_NANOS;
    }

    /** Whatever was measured before has been dropped: start anew. */
    void restart(long now, long wall) {
        distance = wall - now;
    }
}

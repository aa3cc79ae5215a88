// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.node;

import io.cad.zookeeper.core.Indices;

/** Where the history of a server ends, by which elections are decided (rule E1). */
public final class History {
    private final long epoch;
    private final long last;

    /**
     * @param epoch the one that the server has durably recorded
     * @param last index of the last entry in its log
     */
    public History(long epoch, long last) {
        this.epoch = epoch;
        this.last = last;
    }

    /** Whether this server must not follow a leader with the other history: it may hold durable data that is not there. */
    public boolean isAheadOf(History other) {
        return epoch != other.epoch ? epoch > other.epoch : last > other.last;
    }

    @Override
    public String toString() {
        return "epoch " + epoch + ", last entry " + Indices.format(last);
    }
}

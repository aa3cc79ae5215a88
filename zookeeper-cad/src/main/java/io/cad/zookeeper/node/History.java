// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.node;

import io.cad.zookeeper.core.Indices;

/** Where the history of a server ends, by which elections are decided (rule E1). */
public final class History {
    /** The one that the server has durably recorded. */
    public final long epoch;
    /** Index of the last entry. */
    public final long last;

    public History(long epoch, long last) {
        this.epoch = epoch;
        this.last = last;
    }

    /** Whether this server must not follow a leader with the other history: it may hold durable data that is not there. */
    public boolean isAheadOf(History other) {
        return epoch != other.epoch ? epoch > other.epoch : last > other.last;
    }

    /** Whether an index that is durable is in this history, if elections are right: a later epoch has all of an older one. */
    public boolean contains(long durable) {
        long of = Indices.epoch(durable);
        return epoch > of || epoch == of && (Indices.counter(durable) == 0 || last >= durable);
    }

    @Override
    public String toString() {
        return "epoch " + epoch + ", last entry " + Indices.format(last);
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.node;

import io.cad.zookeeper.core.Indices;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What this process knows to be durable, through all its roles and epochs. Elections see to it that every leader has it;
 * where they could not, because disks were emptied or replaced by older ones, a server that knows better does not follow
 * (rule E7): it would cut its own log, which may be the last one that has what clients have read.
 */
public final class Witness {

    private final AtomicLong durable = new AtomicLong(Indices.NONE);

    /** A durable index of the role that this process has now. */
    public void heard(long index) {
        if (index > durable.get()) {
            durable.accumulateAndGet(index, Math::max);
        }
    }

    /** The newest index known to be durable, {@link Indices#NONE} if none is. */
    public long durable() {
        return durable.get();
    }
}

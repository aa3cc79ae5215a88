// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.load;

import io.cad.zookeeper.testkit.history.Op;
import java.util.List;

/**
 * What one stretch of load did.
 *
 * @param seconds from the start of the first client to the end of the load
 * @param errors operations that failed
 * @param ops every operation, when the load was recorded, else empty
 */
public record Slice(double seconds, Latencies reads, Latencies writes, long errors, List<Op> ops) {

    /** Successful operations a second. */
    public double opsPerSecond() {
        return (reads.count() + writes.count()) / seconds;
    }

    /** What the operations of a history that succeeded within a stretch of time amount to. */
    public static Slice between(List<Op> ops, long fromNanos, long toNanos) {
        Latencies reads = new Latencies();
        Latencies writes = new Latencies();
        long errors = 0;
        for (Op op : ops) {
            if (op.invokedNanos() - fromNanos < 0 || op.completedNanos() - toNanos > 0) {
                continue;
            }
            if (op.ok()) {
                (op.kind() == Op.Kind.READ ? reads : writes).add(op.latencyNanos());
            } else {
                errors++;
            }
        }
        return new Slice((toNanos - fromNanos) / 1e9, Latencies.merge(List.of(reads)), Latencies.merge(List.of(writes)),
                errors, List.of());
    }
}

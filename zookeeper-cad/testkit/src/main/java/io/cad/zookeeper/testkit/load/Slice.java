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
}

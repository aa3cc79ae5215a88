// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.load;

import java.util.Arrays;
import java.util.Collection;

/** Latencies of operations in nanoseconds, each one kept. */
public final class Latencies {
    private long[] nanos = new long[1024];
    private int size;

    void add(long latency) {
        if (size == nanos.length) {
            nanos = Arrays.copyOf(nanos, size * 2);
        }
        nanos[size++] = latency;
    }

    static Latencies merge(Collection<Latencies> parts) {
        Latencies all = new Latencies();
        all.nanos = new long[Math.max(1, parts.stream().mapToInt(part -> part.size).sum())];
        for (Latencies part : parts) {
            System.arraycopy(part.nanos, 0, all.nanos, all.size, part.size);
            all.size += part.size;
        }
        Arrays.sort(all.nanos, 0, all.size);
        return all;
    }

    public int count() {
        return size;
    }

    /** The value below or at which this share (0 to 1) of the latencies lie, in ms; 0 when there are none. */
    public double percentileMillis(double share) {
        if (size == 0) {
            return 0;
        }
        int rank = (int) Math.ceil(share * size) - 1;
        return nanos[Math.min(size - 1, Math.max(0, rank))] / 1e6;
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import java.util.Arrays;

/**
 * Bounds what a power failure may take back: the entries above the quorum-persisted index that may be acknowledged,
 * by count, bytes and age. Whatever lies beyond is acknowledged only when a quorum has persisted it. One window per
 * epoch; it admits nothing until a quorum has persisted the initial history.
 *
 * <p>The events and {@link #admits} belong to one writer at a time (callers serialise them); {@link #txns},
 * {@link #bytes} and {@link #ageNanos} may be called by any thread.
 *
 * <p>Memory is bounded: at most {@code maxTxns} entries are remembered one by one. Those behind them cannot be
 * admitted, so they are kept as one lump that is gone when its last entry is durable.
 */
public class Window {
    private static final int INITIAL_CAPACITY = 256;
    /** "No entry" for times; a monotonic clock that returned just this value would lose one nanosecond. */
    private static final long EMPTY = Long.MIN_VALUE;

    private final long maxTxns;
    private final long maxBytes;
    private final long maxAgeNanos;

    /** Rings over the entries one by one: index, bytes of all entries up to and including it, time of appending. */
    private long[] index = new long[INITIAL_CAPACITY];
    private long[] bytesUpTo = new long[INITIAL_CAPACITY];
    private long[] appendedAt = new long[INITIAL_CAPACITY];
    private int head;
    private int count;

    private long lumpTxns;
    private long lumpSince;

    private boolean open;
    private long lastAppended = Indices.NONE;
    private long quorumPersisted = Indices.NONE;
    private long bytesAppended;
    private long bytesDurable;

    private volatile long txns;
    private volatile long bytes;
    private volatile long oldest = EMPTY;

    /**
     * @param maxTxns entries, at least 1
     * @param maxBytes bytes of entries, at least 1
     * @param maxAgeNanos age of the oldest entry, at least 1
     */
    public Window(long maxTxns, long maxBytes, long maxAgeNanos) {
        if (maxTxns < 1 || maxTxns > 1 << 28 || maxBytes < 1 || maxAgeNanos < 1) {
            throw new IllegalArgumentException("a window of " + maxTxns + " entries, " + maxBytes + " bytes, "
                    + maxAgeNanos + " ns: each must be at least 1, the entries at most 2^28");
        }
        this.maxTxns = maxTxns;
        this.maxBytes = maxBytes;
        this.maxAgeNanos = maxAgeNanos;
    }

    // --- events

    /** The log contains a new entry of this size; indices only rise. */
    public void appended(long index, long bytes, long now) {
        if (index <= lastAppended || bytes < 0) {
            throw new IllegalArgumentException("entry " + Indices.format(index) + " of " + bytes + " bytes after "
                    + Indices.format(lastAppended));
        }
        lastAppended = index;
        bytesAppended += bytes;
        if (index <= quorumPersisted) {
            bytesDurable = bytesAppended; // the others were faster than this server's own log
        } else if (lumpTxns > 0 || count == maxTxns) {
            lumpSince = lumpTxns == 0 ? now : lumpSince;
            lumpTxns++;
        } else {
            push(index, now);
        }
        publish();
    }

    /** A quorum has persisted the history up to {@code index}. The first call opens the window. */
    public void durable(long index) {
        if (index <= quorumPersisted) {
            return;
        }
        quorumPersisted = index;
        open = true;
        while (count > 0 && this.index[head] <= index) {
            bytesDurable = bytesUpTo[head];
            head = (head + 1) & (this.index.length - 1);
            count--;
        }
        if (index >= lastAppended) {
            lumpTxns = 0;
            bytesDurable = bytesAppended;
        }
        publish();
    }

    // --- the decision

    /** Whether the entry may be acknowledged now: it is durable, or it and all entries before it fit the window. */
    public boolean admits(long index, long now) {
        if (index <= quorumPersisted) {
            return true;
        }
        int position = find(index);
        return open && position >= 0
                && fitsBytes(bytesUpTo[slot(position)] - bytesDurable)
                && fitsTxns(position + 1)
                && fitsAge(now - oldest);
    }

    boolean fitsTxns(long txns) {
        return txns <= maxTxns;
    }

    boolean fitsBytes(long bytes) {
        return bytes <= maxBytes;
    }

    boolean fitsAge(long nanos) {
        return nanos <= maxAgeNanos;
    }

    // --- queries, for any thread

    /** Entries above the quorum-persisted index. */
    public long txns() {
        return txns;
    }

    /** Their bytes. */
    public long bytes() {
        return bytes;
    }

    /** The age of the oldest of them; 0 if there is none. */
    public long ageNanos(long now) {
        long since = oldest;
        return since == EMPTY ? 0 : Math.max(0, now - since);
    }

    // --- the rings

    private void push(long index, long now) {
        if (count == this.index.length) {
            grow();
        }
        int slot = slot(count);
        this.index[slot] = index;
        bytesUpTo[slot] = bytesAppended;
        appendedAt[slot] = now;
        count++;
    }

    private void grow() {
        int capacity = index.length;
        long[][] rings = {index, bytesUpTo, appendedAt};
        for (int i = 0; i < rings.length; i++) {
            long[] larger = Arrays.copyOfRange(rings[i], head, head + 2 * capacity);
            System.arraycopy(rings[i], 0, larger, capacity - head, head);
            rings[i] = larger;
        }
        index = rings[0];
        bytesUpTo = rings[1];
        appendedAt = rings[2];
        head = 0;
    }

    private int slot(int position) {
        return (head + position) & (index.length - 1);
    }

    /** The position of an entry behind the oldest, or -1. Usually asked for the newest. */
    private int find(long wanted) {
        int low = 0;
        int high = count - 1;
        if (high >= 0 && index[slot(high)] == wanted) {
            return high;
        }
        while (low <= high) {
            int middle = (low + high) >>> 1;
            long found = index[slot(middle)];
            if (found == wanted) {
                return middle;
            } else if (found < wanted) {
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        return -1;
    }

    private void publish() {
        txns = count + lumpTxns;
        bytes = bytesAppended - bytesDurable;
        oldest = count > 0 ? appendedAt[head] : lumpTxns > 0 ? lumpSince : EMPTY;
    }
}

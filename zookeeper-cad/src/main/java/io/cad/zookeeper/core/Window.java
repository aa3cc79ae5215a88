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
 * <p>Memory is bounded: each entry has a slot of its own as long as slots are free, else it joins the newest slot. The
 * entries of one slot are treated alike: as large as all of them up to its end, as old as its first one.
 */
public class Window {
    private static final int INITIAL_SLOTS = 256;
    private static final int MAX_SLOTS = 1 << 14;

    private final long maxTxns;
    private final long maxBytes;
    private final long maxAgeNanos;
    private final int maxSlots;

    /** Rings over the slots, oldest first: last index, entries and bytes up to and including it, time of the first. */
    private long[] lastIndex;
    private long[] txnsUpTo;
    private long[] bytesUpTo;
    private long[] since;
    private int head;
    private int slots;

    private long lastAppended = Indices.NONE;
    private long txnsAppended;
    private long bytesAppended;
    private long quorumPersisted = Indices.NONE;
    private long txnsDurable;
    private long bytesDurable;

    private volatile long txns;
    private volatile long bytes;
    private volatile long oldest;

    /**
     * @param maxTxns entries, at least 1
     * @param maxBytes bytes of entries, at least 1
     * @param maxAgeNanos age of the oldest entry, at least 1
     */
    public Window(long maxTxns, long maxBytes, long maxAgeNanos) {
        this(maxTxns, maxBytes, maxAgeNanos, MAX_SLOTS);
    }

    /** For tests that reach the bound of the memory; {@code maxSlots} is a power of two. */
    Window(long maxTxns, long maxBytes, long maxAgeNanos, int maxSlots) {
        if (maxTxns < 1 || maxBytes < 1 || maxAgeNanos < 1) {
            throw new IllegalArgumentException("a window of " + maxTxns + " entries, " + maxBytes + " bytes, "
                    + maxAgeNanos + " ns: each must be at least 1");
        }
        this.maxTxns = maxTxns;
        this.maxBytes = maxBytes;
        this.maxAgeNanos = maxAgeNanos;
        this.maxSlots = maxSlots;
        int initial = Math.min(INITIAL_SLOTS, maxSlots);
        lastIndex = new long[initial];
        txnsUpTo = new long[initial];
        bytesUpTo = new long[initial];
        since = new long[initial];
    }

    // --- events

    /** The log contains a new entry of this size; indices only rise. */
    public void appended(long index, long bytes, long now) {
        if (index <= lastAppended || bytes < 0) {
            throw new IllegalArgumentException("entry " + Indices.format(index) + " of " + bytes + " bytes after "
                    + Indices.format(lastAppended));
        }
        lastAppended = index;
        txnsAppended++;
        bytesAppended += bytes;
        if (index <= quorumPersisted) { // the others were faster than this server's own log
            txnsDurable = txnsAppended;
            bytesDurable = bytesAppended;
        } else {
            putInSlot(index, now);
        }
        publish();
    }

    /**
     * A quorum has persisted the history up to {@code index}. The first call opens the window. Who does not know that
     * index, as followers do not, passes D, which is not above it.
     */
    public void durable(long index) {
        if (index <= quorumPersisted) {
            return;
        }
        quorumPersisted = index;
        while (slots > 0 && lastIndex[head] <= index) {
            txnsDurable = txnsUpTo[head];
            bytesDurable = bytesUpTo[head];
            head = position(1);
            slots--;
        }
        publish();
    }

    // --- the decision

    /** Whether the entry may be acknowledged now: it is durable, or it and all entries before it fit the window. */
    public boolean admits(long index, long now) {
        if (index <= quorumPersisted) {
            return true;
        }
        if (index > lastAppended || !isOpen()) {
            return false;
        }
        int slot = slotOf(index);
        return fitsTxns(txnsUpTo[slot] - txnsDurable)
                && fitsBytes(bytesUpTo[slot] - bytesDurable)
                && fitsAge(now - since[head]);
    }

    boolean isOpen() {
        return quorumPersisted != Indices.NONE;
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

    /** The age of the oldest of them; 0 if there is none. Approximate when read while the writer is at work. */
    public long ageNanos(long now) {
        return txns == 0 ? 0 : Math.max(0, now - oldest);
    }

    // --- the rings

    private void putInSlot(long index, long now) {
        if (slots == lastIndex.length && slots < maxSlots) {
            grow();
        }
        if (slots < lastIndex.length) {
            since[position(slots)] = now;
            slots++;
        }
        int newest = position(slots - 1);
        lastIndex[newest] = index;
        txnsUpTo[newest] = txnsAppended;
        bytesUpTo[newest] = bytesAppended;
    }

    private void grow() {
        lastIndex = doubled(lastIndex);
        txnsUpTo = doubled(txnsUpTo);
        bytesUpTo = doubled(bytesUpTo);
        since = doubled(since);
        head = 0;
    }

    /** Twice as long, and the ring, which is full, starts at 0. */
    private long[] doubled(long[] ring) {
        long[] larger = Arrays.copyOfRange(ring, head, head + 2 * ring.length);
        System.arraycopy(ring, 0, larger, ring.length - head, head);
        return larger;
    }

    /** How many slots there is memory for. */
    int capacity() {
        return lastIndex.length;
    }

    private int position(int slot) {
        return (head + slot) & (lastIndex.length - 1);
    }

    /** Where the slot is that contains an entry above the quorum-persisted index. Usually asked for the newest. */
    private int slotOf(long index) {
        int low = 0;
        int high = slots - 1;
        if (high > 0 && index > lastIndex[position(high - 1)]) {
            low = high;
        }
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (lastIndex[position(middle)] < index) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return position(low);
    }

    private void publish() {
        oldest = slots > 0 ? since[head] : 0;
        bytes = bytesAppended - bytesDurable;
        txns = txnsAppended - txnsDurable;
    }
}

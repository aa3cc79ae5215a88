// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

/**
 * An index names a position in the history of the ensemble: an epoch and a counter within it.
 * It is ZooKeeper's zxid, epoch in the high and counter in the low 32 bits, so that indices are ordered
 * by comparing them as signed longs. {@code (e,0)} starts epoch e: it lies above every index of an older
 * epoch and is contained in every history that includes e.
 */
public final class Indices {
    /** Below every index: as a durable index "nothing is durable", as a required index "nothing is exposed". */
    public static final long NONE = -1;

    /** Epochs stay below 2^31, otherwise an index would be negative. */
    public static final long MAX_EPOCH = Integer.MAX_VALUE;

    /** Counters have 32 bits. */
    public static final long MAX_COUNTER = 0xffff_ffffL;

    private Indices() {
    }

    /** The index at {@code counter} of {@code epoch}; throws IllegalArgumentException if either is out of range. */
    public static long of(long epoch, long counter) {
        if (epoch < 0 || epoch > MAX_EPOCH || counter < 0 || counter > MAX_COUNTER) {
            throw new IllegalArgumentException("no index at epoch " + epoch + ", counter " + counter);
        }
        return epoch << 32 | counter;
    }

    /** The start (e,0) of an epoch. */
    public static long first(long epoch) {
        return of(epoch, 0);
    }

    public static long epoch(long index) {
        return index >> 32;
    }

    public static long counter(long index) {
        return index & MAX_COUNTER;
    }

    /** "1:15", both parts decimal; "none" for {@link #NONE} and whatever else is no index. */
    public static String format(long index) {
        return index < 0 ? "none" : epoch(index) + ":" + counter(index);
    }

    /** The inverse of {@link #format}; throws IllegalArgumentException on anything else. */
    public static long parse(String text) {
        if (text.equals("none")) {
            return NONE;
        }
        int colon = text.indexOf(':');
        try {
            return of(Long.parseLong(text.substring(0, Math.max(colon, 0))), Long.parseLong(text.substring(colon + 1)));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("not an index (epoch:counter, for example 1:15): " + text);
        }
    }
}

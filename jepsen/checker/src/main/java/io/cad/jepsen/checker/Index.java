// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import java.math.BigInteger;

/** The position of an update: epoch first, then a counter of any size. */
public final class Index implements Comparable<Index> {
    /** What a read of something that never existed may state. */
    public static final Index NEVER = of(0, 0);

    private final long epoch;
    private final long counter;
    /** Only for a counter that is no long. */
    private final BigInteger large;

    private Index(long epoch, long counter, BigInteger large) {
        this.epoch = epoch;
        this.counter = counter;
        this.large = large;
    }

    public static Index of(long epoch, long counter) {
        return new Index(epoch, counter, null);
    }

    public static Index of(long epoch, BigInteger counter) {
        return counter.bitLength() < Long.SIZE ? of(epoch, counter.longValue()) : new Index(epoch, 0, counter);
    }

    public long epoch() {
        return epoch;
    }

    @Override
    public int compareTo(Index other) {
        if (epoch != other.epoch) {
            return Long.compare(epoch, other.epoch);
        }
        return large == null && other.large == null ? Long.compare(counter, other.counter)
                : counter().compareTo(other.counter());
    }

    public boolean isBelow(Index other) {
        return compareTo(other) < 0;
    }

    private BigInteger counter() {
        return large == null ? BigInteger.valueOf(counter) : large;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Index && compareTo((Index) other) == 0;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(epoch * 1_000_003 + (large == null ? counter : large.hashCode()));
    }

    @Override
    public String toString() {
        return "[" + epoch + " " + counter() + "]";
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.config;

import java.util.Locale;

/**
 * The durability mode of an epoch (protocol section 1): when a write is
 * acknowledged, how far it is replicated by then, and who may answer reads.
 * The leader dictates it; it is fixed for the epoch.
 */
public final class Mode {

    /** When a write is acknowledged. */
    public enum Durability { IMMEDIATE, EVENTUAL, CAD }

    /** How many servers hold a write in memory before an acknowledgement that precedes durability. */
    public enum Replication { SYNC, ASYNC }

    /** Which servers may answer reads. */
    public enum Reads { LEADER, ACTIVE_SET, ANY }

    /** What a stock leader offers: quorum-durable acknowledgements, unchecked reads everywhere. */
    public static final Mode STOCK = new Mode(Durability.IMMEDIATE, Replication.SYNC, Reads.ANY);

    public final Durability durability;
    public final Replication replication;
    public final Reads reads;

    public Mode(Durability durability, Replication replication, Reads reads) {
        this.durability = durability;
        this.replication = replication;
        this.reads = reads;
    }

    /** Writes are acknowledged before they are durable. */
    public boolean acknowledgesBeforeDurable() {
        return durability != Durability.IMMEDIATE;
    }

    /** Writes are acknowledged when only the leader holds them. */
    public boolean acknowledgesEarly() {
        return acknowledgesBeforeDurable() && replication == Replication.ASYNC;
    }

    /** How far the history is durable decides when something leaves. */
    public boolean tracksDurable() {
        return acknowledgesBeforeDurable() || reads == Reads.ACTIVE_SET;
    }

    /** Replies wait until what they show is durable (rule R2). */
    public boolean readsAreDurable() {
        return durability == Durability.CAD || reads == Reads.ACTIVE_SET;
    }

    /** A voter other than the leader has to ask the leader before it executes a read. */
    public boolean readsAtLeader() {
        return reads == Reads.LEADER;
    }

    /** An observer, which never has a lease, has to ask the leader before it executes a read. */
    public boolean observersAskLeader() {
        return reads != Reads.ANY;
    }

    @Override
    public String toString() {
        return name(durability) + "+" + name(replication) + "+" + name(reads);
    }

    /** The word that stands for a value in the configuration. */
    public static String name(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Mode
            && ((Mode) other).durability == durability
            && ((Mode) other).replication == replication
            && ((Mode) other).reads == reads;
    }

    @Override
    public int hashCode() {
        return (durability.ordinal() * 2 + replication.ordinal()) * 3 + reads.ordinal();
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.simulation;

/** Mistakes outside the pure core, one switch each; and the modes that promise less, which the checker must convict. */
public enum Flaw {
    /** Eventual durability, reads anywhere: nothing is awaited. */
    EVENTUAL_ANY,
    /** Stock: a write is acknowledged when a quorum has persisted it, reads anywhere. */
    IMMEDIATE_ANY,
    /** Replies require nothing. */
    GATE_AT_ZERO,
    /** A follower answers reads whether or not it holds a lease. */
    FOLLOWER_WITHOUT_A_LEASE,
    /** What is written counts as persisted. */
    UNSYNCED_COUNTS,
    /** The epoch is recorded and reported before the log is synced. */
    EPOCH_BEFORE_LOG,
    /** Elections compare only the last entry, not the recorded epoch. */
    VOTE_BY_LAST_ENTRY,
    /** A server that is elected does not wait for the promises of a majority. */
    VOTE_WITHOUT_A_MAJORITY,
    /** The promise of an epoch is not written to the disk. */
    PROMISE_NOT_DURABLE,
    /** Whoever has promised a newer epoch still joins a leader of an older one. */
    PROMISE_NOT_ONE_WAY,
    /** A promise comes with the recorded epoch of the server, but not with its last entry. */
    FALSE_KEY_WITH_A_PROMISE,
    /** Who is elected is decided by the membership that is known committed, not by the next one in the log as well. */
    VOTE_BY_COMMITTED_MEMBERSHIP,
    /** The memberships in the log are forgotten at a restart. */
    MEMBERSHIP_FORGOTTEN_AT_RESTART,
    /** A follower takes a membership of its leader's initial history for committed before the epoch is established. */
    INITIAL_MEMBERSHIP_COUNTS_AS_COMMITTED,
    /** A held reply leaves in a later epoch. */
    HELD_REPLY_OUTLIVES_THE_ROLE,
    /** A leader that starts again goes on in its epoch, without an election. */
    SAME_LEADER_GOES_ON,
    /** A snapshot is published whatever it holds. */
    SNAPSHOT_BEFORE_DURABLE,
    /** The event of a watch leaves when the change is applied. */
    WATCH_EVENT_BEFORE_DURABLE
}

// SPDX-License-Identifier: Apache-2.0
/**
 * Who may answer reads, and for how long: read leases of followers, the lease of the leader, and the promises by which
 * a new leader knows that the leases of older epochs are over. Pure like {@link io.cad.zookeeper.core}: no input or
 * output, no clock, no thread. Section 4.4 of the CAD paper; stricter than it, because here a lease counts from the
 * moment at which its holder <em>sent</em> the message that earned it.
 *
 * <h2>Objects</h2>
 * <pre>
 *   one per process    {@link io.cad.zookeeper.lease.Promise}     what this server owes to the leaders of older epochs
 *                      {@link io.cad.zookeeper.lease.ReadLease}   may this follower answer reads; answers to heartbeats
 *   one per led epoch  {@link io.cad.zookeeper.lease.LeaderLease} may this leader serve; when may it be established
 *                      {@link io.cad.zookeeper.lease.StuckLeader} does its work move
 *                      {@link io.cad.zookeeper.lease.ActiveSet}   which followers may answer reads
 *   values             {@link io.cad.zookeeper.lease.LeaseSettings}, {@link io.cad.zookeeper.lease.ActiveSetRules},
 *                      {@link io.cad.zookeeper.lease.Heartbeat}, {@link io.cad.zookeeper.lease.HeartbeatAnswer}
 * </pre>
 *
 * <h2>The shell around them</h2>
 * <p><b>Clocks.</b> {@code now} is the monotonic, {@code wall} the wall clock, both in nanoseconds, read for each call:
 * before a message is handed to the transport, after one was received, never cached. Between the two readings nothing
 * may happen; a shell that cannot be sure reads the monotonic clock again and repeats.
 *
 * <p><b>Start.</b> Read the recorded promise and the newest promised epoch; make Promise and ReadLease. The number of
 * the process (for tickets, and as incarnation) is higher than that of every earlier process of the server: the
 * recorded one plus one, at least the wall clock in milliseconds; durable before the first message.
 *
 * <p><b>One lock</b> guards Promise, ReadLease, the durable record of the promised epoch and the sending of answers, so
 * that after a promise nothing leaves for an older epoch. <b>One lock</b> guards LeaderLease, ActiveSet and LeaderCore.
 * Only the {@code holds} methods are for any thread. Where both locks are needed (a leader's heartbeat touches Promise)
 * the leader's is taken first; a process that never waits for a disk under them may use one for all.
 *
 * <p><b>Follower.</b> {@code disconnected} before the hello of a new connection is sent; {@code connected} when the
 * leader has named it; {@code synchronising} before the state is touched; {@code heartbeat} for each heartbeat, after
 * {@code FollowerCore.durableAnnounced}; {@code check} every few milliseconds. A read is executed only if {@code holds}
 * was true after it arrived. {@code promise} whenever the server promises an epoch, as candidate too: what it returns
 * is appended to the promise on the wire.
 *
 * <p><b>Leader, elected.</b> {@code promised} for each promise that carries what is owed, the own one included, until
 * {@code hasQuorum}; then {@code elected}. {@code LeaderCore.established} is called when the own initial history is
 * persisted and applied, the epoch recorded <em>and</em> {@code isWaitOver}; {@code LeaderLease.established} as soon as
 * {@code LeaderCore.isEstablished}. Nothing else waits.
 *
 * <p><b>Leader, in office.</b> {@code LeaderCore.activeSet(activeSet::applied)} once. Each heartbeat interval, on a
 * thread of its own: {@code StuckLeader.observe} for each kind of work, {@code number = LeaderLease.beat}, and if there
 * is one, {@code ActiveSet.heartbeat} for each connection. For each answer: {@code ActiveSet.answered}, and if it is
 * true {@code LeaderCore.report}. A few times per interval {@code ActiveSet.tick}, then {@code LeaderCore.tick}.
 * Reads and early acknowledgements need {@code LeaderLease.holds}. {@code LeaderLease.end} when the office ends.
 *
 * <p><b>Memberships.</b> A new one goes to LeaderCore and ActiveSet when it is appended. It commits only when
 * {@code answeredByQuorums} is above what {@code lastSent} was at that time.
 */
package io.cad.zookeeper.lease;

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * What one leader decides in one epoch: how far the history is durable, and when the data nodes must sync now.
 *
 * <p>Pure: each method is one event; the caller serialises the events and passes the time, in nanoseconds of a
 * monotonic clock. An action may call back into the core. The queries may be called by any thread.
 *
 * <p>The durable index is the lower one of "persisted by a quorum of every binding membership" and "applied by
 * every server that may answer reads", which is the leader alone as long as no other server does.
 */
public class LeaderCore {
    /** What the server has to do. */
    public interface Actions {
        /** The durable index rose to {@code index}: release what it covers, tell the others. */
        void durable(long index);

        /** A flush round begins: sync your own log and tell the data nodes to sync up to {@code target} at least. */
        void flush(long target);

        /** The round is over: everything up to {@code target} is durable, or the time is up. */
        void flushRoundEnded(long target, boolean reached);
    }

    /** What is known of one data node through its current connection. */
    private static final class Member {
        final long server;
        final long connection;
        long persisted = Indices.NONE;
        long applied = Indices.NONE;

        Member(long server, long connection) {
            this.server = server;
            this.connection = connection;
        }
    }

    private final long epoch;
    private final long start;
    private final long roundTimeoutNanos;
    private final Actions out;
    private final Member self;
    private final Map<Long, Member> byServer = new HashMap<>();
    private final Map<Long, Member> byConnection = new HashMap<>();

    private List<Quorum> configurations = List.of();
    private LongSupplier appliedByOthers = () -> Long.MAX_VALUE;
    private boolean ownPartEstablished;
    private boolean syncFailed;
    private long needed = Indices.NONE;
    private long roundTarget = Indices.NONE;
    private long roundStarted;

    private volatile long lastAppended;
    private volatile long quorumPersisted = Indices.NONE;
    private volatile long durable = Indices.NONE;

    /**
     * @param epoch the epoch that this server leads
     * @param self its server id
     * @param roundTimeoutNanos after that time a flush round no longer waits for a data node
     */
    public LeaderCore(long epoch, long self, long roundTimeoutNanos, Actions out) {
        if (roundTimeoutNanos <= 0) {
            throw new IllegalArgumentException(
                    "a flush round needs a time-out above 0, not " + roundTimeoutNanos + " ns");
        }
        this.epoch = epoch;
        this.start = Indices.first(epoch);
        this.roundTimeoutNanos = roundTimeoutNanos;
        this.out = out;
        this.self = new Member(self, Indices.NONE);
        this.lastAppended = start;
        byServer.put(self, this.self);
    }

    // --- events

    /**
     * Every membership that binds from now on: the newest committed one and all later ones in the log. Call it before
     * the first report and when a membership is appended or committed; D never falls, but rises further only by
     * quorums of all of them (at the next event that carries a time).
     */
    public void configurations(List<Quorum> all) {
        if (all.isEmpty()) {
            throw new IllegalArgumentException("without a membership there is no quorum");
        }
        configurations = List.copyOf(all);
        quorumPersisted = durable;
        raiseQuorumPersisted();
    }

    /**
     * Followers may answer reads, too. Call it before the first report.
     *
     * @param appliedByMembers the lowest index that one of those followers has applied, {@link Long#MAX_VALUE} if there
     *     is none; asked at each event, so who is one of them changes under the lock that serialises the events
     */
    public void activeSet(LongSupplier appliedByMembers) {
        appliedByOthers = appliedByMembers;
    }

    /**
     * A server registered. {@code connection} is a number of the caller that is never used twice. What was reported
     * on an older connection of the same server is forgotten.
     */
    public void memberConnected(long connection, long server) {
        if (byConnection.containsKey(connection)) {
            throw new IllegalArgumentException("connection " + connection + " is registered already");
        }
        if (server == self.server) {
            return; // a stranger under the leader's own id (copied configuration) never counts
        }
        Member member = new Member(server, connection);
        byConnection.put(connection, member);
        byServer.put(server, member);
    }

    /** The connection ended. What its server persisted stays persisted: D and the quorum-persisted index stay. */
    public void memberLost(long connection) {
        Member member = byConnection.remove(connection);
        if (member != null) {
            byServer.remove(member.server, member);
        }
    }

    /**
     * The leader's own part of the establishment is over: it persisted its initial history and recorded the epoch,
     * it applied that history, and every wait owed to older epochs has passed. The durable index is (epoch,0) as soon
     * as a quorum reports at least that, possibly within this call.
     */
    public void established(long now) {
        ownPartEstablished = true;
        self.applied = Math.max(self.applied, start);
        persisted(start, now);
    }

    /** The leader's log contains {@code index}. */
    public void appended(long index, long now) {
        if (index > lastAppended) {
            lastAppended = index;
        }
    }

    /** The leader's own log is persisted up to {@code index}: the sync call that covers it has succeeded. */
    public void persisted(long index, long now) {
        if (!syncFailed) {
            count(self, index, self.applied, now);
        }
    }

    /**
     * A sync call of the leader's own log failed. The leader is about to end; whatever a later call claims counts for
     * nothing, because the system may have dropped the data and reported the error only once.
     */
    public void syncFailed() {
        syncFailed = true;
    }

    /** Reads at the leader see everything up to {@code index}. */
    public void applied(long index, long now) {
        if (index > self.applied) {
            self.applied = index;
            settle(now);
        }
    }

    /**
     * A data node reports.
     *
     * @param reportedEpoch the epoch that it had durably recorded when it sent the report
     */
    public void report(long connection, long reportedEpoch, long persisted, long applied, long now) {
        Member sender = byConnection.get(connection);
        Member current = sender == null ? null : byServer.get(sender.server);
        if (current != null && isCurrent(connection, current.connection) && countsFrom(reportedEpoch)) {
            count(current, persisted, applied, now);
        }
    }

    /**
     * Somebody waits until {@code index} is durable: a held reply, a durable write, a barrier, a follower's request.
     * Starts a flush round, or joins the next one if the round in flight does not cover it.
     */
    public void needDurable(long index, long now) {
        if (Indices.epoch(index) > epoch) {
            throw new IllegalArgumentException(
                    "index " + Indices.format(index) + " is not of epoch " + epoch + " or older");
        }
        if (index > durable) {
            needed = Math.max(needed, neededInNextRound(index));
        }
        settle(now);
    }

    /** Call it a few times per round time-out: it ends rounds whose time is up. */
    public void tick(long now) {
        settle(now);
    }

    // --- queries, for any thread

    /** {@link Indices#NONE} before the epoch is established, then never below (epoch,0). */
    public long durable() {
        return durable;
    }

    /**
     * What a quorum has persisted; {@link Indices#NONE} before a quorum persisted the initial history. It may fall, not
     * below D, when memberships change.
     */
    public long quorumPersisted() {
        return quorumPersisted;
    }

    /** The last index that the leader's log contains, (epoch,0) at first. */
    public long lastAppended() {
        return lastAppended;
    }

    /** What would be durable if the leader alone answered reads: not for any thread, but under the events' lock. */
    public long reachable() {
        return Math.min(quorumPersisted, self.applied);
    }

    /** Whether reads, early acknowledgements and, with reads=leader, replies may begin. */
    public boolean isEstablished() {
        return durable != Indices.NONE;
    }

    // --- decisions; tests replace single ones by wrong ones to see that the vectors notice

    /** A report counts only on the current connection of its server. */
    boolean isCurrent(long connection, long currentConnection) {
        return connection == currentConnection;
    }

    /** A report counts only if its sender had recorded exactly this epoch. */
    boolean countsFrom(long reportedEpoch) {
        return reportedEpoch == epoch;
    }

    /** Whether these servers contain a quorum of every binding membership. */
    boolean isQuorum(Set<Long> servers) {
        return Quorum.ofEach(configurations, servers);
    }

    /** The highest index that a quorum has persisted, {@code atLeast} if there is none above it. */
    long persistedByQuorum(long atLeast) {
        long highest = atLeast;
        for (Member member : byServer.values()) {
            if (member.persisted > highest && isQuorum(holders(member.persisted))) {
                highest = member.persisted;
            }
        }
        return highest;
    }

    /** Applied by every server that may answer reads. */
    long appliedByActiveSet() {
        return Math.min(self.applied, appliedByOthers.getAsLong());
    }

    /** How far the history is durable, by what is known now. */
    long durableNow() {
        boolean begun = ownPartEstablished && quorumPersisted >= start;
        return begun ? Math.min(quorumPersisted, appliedByActiveSet()) : Indices.NONE;
    }

    /** Whether a changed value of {@link #durableNow} is taken over. */
    boolean moves(long from, long to) {
        return to > from;
    }

    /** The next reads profit when a round covers all that is appended, not only what is asked for. */
    long targetOf(long index) {
        return Math.max(lastAppended, index);
    }

    /** What a request adds to the needs of the next round. */
    long neededInNextRound(long index) {
        return index;
    }

    boolean isReached(long target) {
        return durable >= target;
    }

    boolean isExpired(long started, long now) {
        return now - started >= roundTimeoutNanos;
    }

    final boolean roundInFlight() {
        return roundTarget != Indices.NONE;
    }

    final Set<Long> holders(long index) {
        Set<Long> servers = new HashSet<>();
        for (Member member : byServer.values()) {
            if (member.persisted >= index) {
                servers.add(member.server);
            }
        }
        return servers;
    }

    // --- the step

    private void count(Member member, long persisted, long applied, long now) {
        member.applied = Math.max(member.applied, applied);
        // Below (epoch,0) the sender's initial history is not complete: nothing of it counts.
        if (persisted >= start && persisted > member.persisted) {
            member.persisted = persisted;
            raiseQuorumPersisted();
        }
        settle(now);
    }

    private void raiseQuorumPersisted() {
        long index = persistedByQuorum(quorumPersisted);
        if (index > quorumPersisted) {
            if (!isQuorum(holders(index))) {
                throw new InvariantViolation("DurableImpliesPersistedByQuorum", Indices.format(index)
                        + " is persisted only by " + holders(index));
            }
            quorumPersisted = index;
        }
    }

    /** Moves D and then the rounds. The state is complete before each action, because actions may call back. */
    private void settle(long now) {
        long index = durableNow();
        if (moves(durable, index)) {
            check(index);
            durable = index;
            out.durable(index);
        }
        if (roundInFlight()) {
            boolean reached = isReached(roundTarget);
            if (reached || isExpired(roundStarted, now)) {
                long target = roundTarget;
                roundTarget = Indices.NONE;
                out.flushRoundEnded(target, reached);
            }
        }
        if (!roundInFlight() && isEstablished() && needed > durable) {
            roundTarget = targetOf(needed);
            roundStarted = now;
            out.flush(roundTarget);
        }
    }

    private void check(long index) {
        if (index <= durable || index < start) {
            throw new InvariantViolation("DurableIndexMonotonic",
                    "from " + Indices.format(durable) + " to " + Indices.format(index) + " in epoch " + epoch);
        }
        if (index > quorumPersisted) {
            throw new InvariantViolation("DurableImpliesPersistedByQuorum",
                    Indices.format(index) + ", a quorum persisted " + Indices.format(quorumPersisted));
        }
        if (index > self.applied) {
            throw new InvariantViolation("DurableImpliesAppliedByActiveSet",
                    Indices.format(index) + ", the leader applied " + Indices.format(self.applied));
        }
        long others = appliedByOthers.getAsLong();
        if (index > others) {
            throw new InvariantViolation("DurableImpliesAppliedByActiveSet",
                    Indices.format(index) + ", a member of the active set applied " + Indices.format(others));
        }
    }
}

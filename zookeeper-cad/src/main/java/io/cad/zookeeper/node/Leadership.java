// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.node;

import io.cad.zookeeper.core.LeaderCore;
import io.cad.zookeeper.core.Quorum;
import io.cad.zookeeper.lease.ActiveSet;
import io.cad.zookeeper.lease.ActiveSetRules;
import io.cad.zookeeper.lease.Heartbeat;
import io.cad.zookeeper.lease.HeartbeatAnswer;
import io.cad.zookeeper.lease.LeaderLease;
import io.cad.zookeeper.lease.LeaseSettings;
import io.cad.zookeeper.lease.Leases;
import io.cad.zookeeper.lease.StuckLeader;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * One led epoch, from the first promise to the end of the office: it joins the leader's accounting, the leader lease,
 * the active set and the watch over a stuck leader. Its monitor is the lock of the epoch: it serialises the events of
 * all of them, and the actions are called under it. The monitor of {@link PeerLease} is taken inside it.
 */
public final class Leadership implements LeaderCore.Actions, LeaderLease.Actions, ActiveSet.Actions, ActiveSet.History {

    /** The server around it. All calls come under the lock of the epoch. */
    public interface Shell extends ActiveSet.Actions {
        /** The durable index rose: release what it covers, tell the learners. */
        void durable(long index);

        /** Sync the log now, and ask the voters to sync up to the target at least. */
        void flush(long target);

        void flushRoundEnded(long target, boolean reached);

        /** Sends a heartbeat on a connection. */
        void heartbeat(long connection, Heartbeat heartbeat);

        /** Shows how far each kind of work is. */
        void observe(StuckLeader stuck, long now);
    }

    /** Makes the accounting; tests make a wrong one. */
    public interface Accounting {
        LeaderCore make(long epoch, long self, long roundTimeoutNanos, LeaderCore.Actions out);
    }

    private final long epoch;
    private final long self;
    private final LeaseSettings settings;
    private final Leases leases;
    private final PeerLease peer;
    private final Clock clock;
    private final StuckLeader stuck;
    private final Set<Long> beating = new TreeSet<>();
    private LeaderLease lease;
    private final Clock.Lease held;
    private LeaderCore core;
    private ActiveSet members;
    private Shell shell;
    private boolean mayBeEstablished;
    private boolean ownPartOver;
    private boolean established;
    private volatile boolean ended;
    private volatile StuckLeader.Work stuckWork;

    /**
     * A server wants to lead an epoch.
     *
     * @param stuckAfter nanoseconds without progress after which a leader steps down
     * @param memberships every one that binds
     */
    public Leadership(LeaseSettings settings, Leases leases, long stuckAfter, long epoch, long self, PeerLease peer,
                      Clock clock, List<Quorum> memberships) {
        this.settings = settings;
        this.leases = leases;
        this.epoch = epoch;
        this.self = self;
        this.peer = peer;
        this.clock = clock;
        this.stuck = leases.stuckLeader(stuckAfter);
        clock.read((now, wall) ->
            lease = leases.leaderLease(epoch, self, settings, peer.promise(), stuck, now, wall, this));
        lease.configurations(memberships);
        held = lease::holds;
    }

    // ---- the election

    /**
     * A server, this one included, has promised the epoch and is bound by older ones for so many nanoseconds.
     *
     * @return whether those who have promised so far are a quorum
     */
    public synchronized boolean promised(long server, long owed) {
        lease.promised(server, owed, clock.now());
        boolean elected = lease.hasQuorum();
        if (elected) {
            lease.elected();
        }
        return elected;
    }

    // ---- in office

    /** The office begins. */
    public synchronized void begin(Accounting accounting, ActiveSetRules rules, List<Quorum> memberships,
                                   Shell around) {
        shell = around;
        core = accounting.make(epoch, self, settings.removal(), this);
        core.configurations(memberships);
        members = leases.activeSet(epoch, settings, rules, lease, peer.promise(), this, this);
        members.configurations(memberships);
        core.activeSet(members::applied);
    }

    /**
     * A quorum has persisted the initial history and recorded the epoch, or will report so; this server has applied it.
     * The epoch is established as soon as the leases of older ones are over.
     */
    public synchronized void historyComplete() {
        mayBeEstablished = true;
    }

    /** The memberships that bind have changed. */
    public synchronized void membershipChanged(List<Quorum> memberships) {
        core.configurations(memberships);
        members.configurations(memberships);
    }

    // ---- what learners say

    /**
     * A learner has registered: from here its reports count, and those on an older connection of the same server no
     * longer do.
     *
     * @param connection a number that is never used twice in the epoch
     * @param hasLeases whether it gets heartbeats, and may become a member of the active set
     * @return false if the connection is stale and must be closed
     */
    public synchronized boolean connected(long connection, long server, boolean hasLeases, long incarnation,
                                          long attempt) {
        if (hasLeases) {
            if (!members.connected(connection, server, incarnation, attempt, clock.now())) {
                return false;
            }
            beating.add(connection);
        }
        core.memberConnected(connection, server);
        return true;
    }

    public synchronized void disconnected(long connection) {
        core.memberLost(connection);
        beating.remove(connection);
        members.lost(connection, clock.now());
    }

    /**
     * A report came on a connection that is registered.
     *
     * @param reportedEpoch the epoch that its sender had durably recorded
     * @return whether it counts
     */
    public synchronized boolean reported(long connection, long reportedEpoch, long persisted, long applied) {
        if (ended) {
            return false;
        }
        long now = clock.now();
        if (reportedEpoch == epoch) {
            members.reported(connection, applied, now);
        }
        core.report(connection, reportedEpoch, persisted, applied, now);
        return reportedEpoch == epoch;
    }

    /**
     * A heartbeat was answered.
     *
     * @return whether the report in it counts
     */
    public synchronized boolean answered(HeartbeatAnswer answer) {
        if (ended) {
            return false;
        }
        boolean[] counts = new boolean[1];
        clock.read((now, wall) -> counts[0] = members.answered(answer, now, wall));
        if (counts[0]) {
            core.report(answer.connection(), answer.epoch(), answer.persisted(), answer.applied(), clock.now());
        }
        return counts[0];
    }

    // ---- this server

    public synchronized void appended(long index) {
        core.appended(index, clock.now());
    }

    public synchronized void persisted(long index) {
        if (!ended) {
            core.persisted(index, clock.now());
        }
    }

    public synchronized void applied(long index) {
        core.applied(index, clock.now());
    }

    public void need(long target) {
        if (target > core.durable()) {
            needMore(target);
        }
    }

    private synchronized void needMore(long target) {
        if (!ended) {
            core.needDurable(target, clock.now());
        }
    }

    // ---- time

    /** Several times per heartbeat interval. */
    public synchronized void tick() {
        clock.read((now, wall) -> {
            if (mayBeEstablished && !ownPartOver && lease.isWaitOver(now)) {
                ownPartOver = true;
                core.established(now);
            }
            members.tick(now, wall);
            core.tick(now);
        });
    }

    /** Once per heartbeat interval: a heartbeat on each connection, unless this leader is {@link #stuck}. */
    public synchronized void beat() {
        clock.read((now, wall) -> {
            shell.observe(stuck, now);
            synchronized (peer) {
                long number = lease.beat(now, wall);
                if (number != LeaderLease.NONE) {
                    for (long connection : beating) {
                        Heartbeat heartbeat = members.heartbeat(connection, number, now, wall);
                        if (heartbeat != null) {
                            shell.heartbeat(connection, heartbeat);
                        }
                    }
                }
            }
        });
    }

    /** The office is over. */
    public void end() {
        ended = true;
        synchronized (this) {
            lease.end();
        }
    }

    // ---- for any thread

    /** Whether this leader may serve at this moment. */
    public boolean holds() {
        return clock.holds(held);
    }

    @Override
    public long durable() {
        return core.durable();
    }

    public long quorumPersisted() {
        return core.quorumPersisted();
    }

    public long lastAppended() {
        return core.lastAppended();
    }

    public boolean isEstablished() {
        return core.isEstablished();
    }

    /** The work that makes no progress, so that this leader has to step down; null if there is none. */
    public StuckLeader.Work stuck() {
        return stuckWork;
    }

    /** Nanoseconds until the lease ends unless it is renewed. */
    public long remaining() {
        return lease.remaining(clock.now());
    }

    // ---- queries under the lock of the epoch

    /** Whether the leases of older epochs are over. */
    public synchronized boolean isWaitOver() {
        return lease.isWaitOver(clock.now());
    }

    /** The number of the newest heartbeat sent. */
    public synchronized long lastSent() {
        return lease.lastSent();
    }

    /** The newest heartbeat that quorums of every membership have answered. */
    public synchronized long answeredByQuorums() {
        return lease.answeredByQuorums();
    }

    /** Whether the connection belongs to a member of the active set. */
    public synchronized boolean isMember(long connection) {
        return members != null && members.isMember(connection);
    }

    /** Server to connection of the followers that may answer reads. */
    public synchronized Map<Long, Long> members() {
        return members == null ? new TreeMap<>() : members.members();
    }

    /** The servers that were too slow for the set and have not kept up for long enough since. */
    public synchronized Set<Long> onProbation() {
        return members == null ? new TreeSet<>() : members.onProbation();
    }

    // ---- actions and history

    @Override
    public void durable(long index) {
        if (!established) {
            established = true;
            lease.established(clock.now());
        }
        peer.witness.heard(index);
        shell.durable(index);
    }

    @Override
    public void flush(long target) {
        shell.flush(target);
    }

    @Override
    public void flushRoundEnded(long target, boolean reached) {
        shell.flushRoundEnded(target, reached);
    }

    @Override
    public long reachable() {
        return core.reachable();
    }

    @Override
    public void stepDown(StuckLeader.Work work) {
        stuckWork = work;
    }

    @Override
    public void admitted(long server, long connection) {
        shell.admitted(server, connection);
    }

    @Override
    public void removed(long server, long connection, ActiveSet.Removal why) {
        shell.removed(server, connection, why);
    }

    @Override
    public void toldToLeave(long server, long connection, ActiveSet.Reason why) {
        shell.toldToLeave(server, connection, why);
    }
}

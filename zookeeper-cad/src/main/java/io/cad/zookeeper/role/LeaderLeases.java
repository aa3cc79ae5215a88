// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.role;

import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.core.LeaderCore;
import io.cad.zookeeper.core.Quorum;
import io.cad.zookeeper.lease.ActiveSet;
import io.cad.zookeeper.lease.ActiveSetRules;
import io.cad.zookeeper.lease.Heartbeat;
import io.cad.zookeeper.lease.HeartbeatAnswer;
import io.cad.zookeeper.lease.LeaderLease;
import io.cad.zookeeper.lease.StuckLeader;
import io.cad.zookeeper.metrics.CadMetrics;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The leases of one led epoch, from the first promise to the end of the office: the shell of {@link LeaderLease},
 * {@link StuckLeader} and {@link ActiveSet}, and the thread that sends heartbeats. Its monitor is the lock of the epoch:
 * it guards these three and the accounting of {@link LeaderRole}. That of {@link PeerLease} is taken inside it.
 */
public final class LeaderLeases implements LeaderLease.Actions, ActiveSet.Actions, ActiveSet.History {

    /** Who receives heartbeats, and how far the leader's work is. All calls but the last come under the lock of the epoch. */
    interface Office {
        /** Sends what {@code heartbeats} has for each connection. */
        void heartbeat(Heartbeats heartbeats);

        /** Shows how far each kind of work is. */
        void observe(StuckLeader stuck, long now);

        /** A moment has passed: time-outs, and the establishment of the epoch if it may be. */
        void tick(boolean waitOver, long now);

        /** A round is over. */
        void beaten();
    }

    /** The heartbeat of one round for each connection. */
    interface Heartbeats {
        /** Null if none is due on the connection. */
        Heartbeat of(long connection);
    }

    private static final Logger LOG = LoggerFactory.getLogger(LeaderLeases.class);
    /** The set of members is looked at several times per heartbeat interval. */
    private static final int TICKS = 4;

    private final CadConfig config;
    private final long epoch;
    private final PeerLease peer;
    private final StuckLeader stuck;
    private final Runnable stepDown;
    private final Thread thread;
    private LeaderLease lease;
    private final LeaseClock.Lease held;
    private LeaderCore core;
    private ActiveSet members;
    private Office office;
    private boolean established;
    private volatile boolean ended;
    private volatile StuckLeader.Work stuckWork;

    /**
     * @param memberships every one that binds
     * @param stepDown ends the office; called by the thread of the heartbeats, without locks
     */
    public LeaderLeases(CadConfig config, long epoch, long self, PeerLease peer, List<Quorum> memberships,
                        Runnable stepDown) {
        this.config = config;
        this.epoch = epoch;
        this.peer = peer;
        // A record may rest for a whole flush interval without anything being stuck.
        this.stuck = new StuckLeader(config.stuck + config.flushInterval);
        this.stepDown = stepDown;
        this.thread = new Thread(this::beatUntilEnded, "cad-heartbeat-" + self);
        thread.setDaemon(true);
        LeaseClock.read((now, wall) ->
            lease = new LeaderLease(epoch, self, config.leases, peer.promise(), stuck, now, wall, this));
        lease.configurations(memberships);
        held = lease::holds;
    }

    // ---- the election

    /** A server, this one included, has promised the epoch and is bound by older ones for so long. */
    public synchronized void promised(long server, long owed) {
        lease.promised(server, owed, System.nanoTime());
        CadMetrics.get().promiseWait(owed);
        if (lease.hasQuorum()) {
            lease.elected();
        }
    }

    // ---- in office

    /** The role begins: heartbeats start. */
    synchronized void begin(LeaderCore accounting, boolean followersRead, List<Quorum> memberships, Office role) {
        core = accounting;
        office = role;
        ActiveSetRules rules = followersRead ? config.activeSet : config.activeSet.leaderOnly();
        members = new ActiveSet(epoch, config.leases, rules, lease, peer.promise(), this, this);
        members.configurations(memberships);
        core.activeSet(members::applied);
    }

    void start() {
        thread.start();
    }

    /** Under the lock of the epoch, as the next six. */
    void membershipChanged(List<Quorum> memberships) {
        members.configurations(memberships);
    }

    /** @return false if the connection is stale and must be closed */
    boolean connected(long connection, long server, long incarnation, long attempt) {
        return members.connected(connection, server, incarnation, attempt, System.nanoTime());
    }

    void disconnected(long connection) {
        members.lost(connection, System.nanoTime());
    }

    /** @return whether the report in the answer counts */
    boolean answered(HeartbeatAnswer answer) {
        boolean[] counts = new boolean[1];
        LeaseClock.read((now, wall) -> counts[0] = members.answered(answer, now, wall));
        return counts[0];
    }

    /** The durable index has risen: with its first value the epoch is established. */
    void accountingMoved() {
        if (!established) {
            established = true;
            lease.established(System.nanoTime());
        }
    }

    void reported(long connection, long applied, long now) {
        members.reported(connection, applied, now);
    }

    /** For any thread: whether this leader may serve at this moment. */
    public boolean holds() {
        return LeaseClock.holds(held);
    }

    /** The number of the newest heartbeat sent; under the lock of the epoch. */
    long lastSent() {
        return lease.lastSent();
    }

    /** The newest heartbeat that quorums of every membership have answered; under the lock of the epoch. */
    long answeredByQuorums() {
        return lease.answeredByQuorums();
    }

    /** The office is over. */
    public void end() {
        ended = true;
        synchronized (this) {
            lease.end();
        }
        thread.interrupt();
    }

    private void beatUntilEnded() {
        long interval = Math.max(1, config.leases.heartbeat() / TICKS);
        for (long turn = 0; !ended; turn++) {
            beat(turn % TICKS == 0);
            office.beaten();
            if (stuckWork != null) {
                LOG.error("No {} has been done for {} ms (cad.stuck) although there is work: this leader steps down",
                    stuckWork, config.stuck / 1_000_000);
                stepDown.run();
                return;
            }
            try {
                Thread.sleep(interval / 1_000_000, (int) (interval % 1_000_000));
            } catch (InterruptedException e) {
                LOG.debug("Interrupted; only end() ends this thread");
            }
        }
    }

    private synchronized void beat(boolean heartbeat) {
        LeaseClock.read((now, wall) -> {
            office.tick(lease.isWaitOver(now), now);
            members.tick(now, wall);
            core.tick(now);
        });
        if (heartbeat) {
            LeaseClock.read((now, wall) -> {
                office.observe(stuck, now);
                synchronized (peer) {
                    long number = lease.beat(now, wall);
                    if (number != LeaderLease.NONE) {
                        office.heartbeat(connection -> members.heartbeat(connection, number, now, wall));
                    }
                }
            });
        }
    }

    // ---- actions and history

    @Override
    public void stepDown(StuckLeader.Work work) {
        stuckWork = work;
    }

    @Override
    public long durable() {
        return core.durable();
    }

    @Override
    public long reachable() {
        return core.reachable();
    }

    @Override
    public void admitted(long server, long connection) {
        CadMetrics.get().admitted();
        LOG.info("Server {} joins the active set", server);
    }

    @Override
    public void removed(long server, long connection, ActiveSet.Removal why) {
        CadMetrics.get().removed(why);
        LOG.info("Server {} has left the active set: {}", server, why);
    }

    @Override
    public void toldToLeave(long server, long connection, ActiveSet.Reason why) {
        CadMetrics.get().toldToLeave(why);
        LOG.info("Server {} is told to leave the active set: {}", server, why);
    }

    // ---- what operators see

    /** Server to connection of the followers that may answer reads. */
    public synchronized Map<Long, Long> activeFollowers() {
        return members == null ? new TreeMap<>() : members.members();
    }

    /** Nanoseconds until the lease ends unless it is renewed. */
    public long remaining() {
        return lease.remaining(System.nanoTime());
    }

    @Override
    public String toString() {
        return "leases of epoch " + Indices.format(Indices.first(epoch));
    }
}

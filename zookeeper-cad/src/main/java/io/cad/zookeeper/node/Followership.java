// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.node;

import io.cad.zookeeper.core.FollowerCore;
import io.cad.zookeeper.lease.Heartbeat;
import io.cad.zookeeper.lease.HeartbeatAnswer;

/**
 * One connection of this server to one leader: it joins the follower's accounting to the lease of the process. Its
 * monitor serialises the events of the accounting, whose actions are called under it.
 */
public final class Followership {

    private final FollowerCore core;
    private final PeerLease lease;
    private final Clock clock;
    private volatile boolean ended;

    public Followership(FollowerCore core, PeerLease lease, Clock clock) {
        this.core = core;
        this.lease = lease;
        this.clock = clock;
    }

    /** The history is persisted up to an index and the epoch is recorded: reports count from here. */
    public synchronized void synchronised(long persisted, long applied) {
        core.synchronised(persisted, applied, clock.now());
    }

    // ---- what the leader says

    public synchronized void durableAnnounced(long epoch, long durable) {
        core.durableAnnounced(epoch, durable, clock.now());
        lease.witness.heard(core.durable());
    }

    /**
     * On this connection, after the synchronisation.
     *
     * @return what to answer, or null
     */
    public HeartbeatAnswer heartbeat(Heartbeat heartbeat) throws PeerLease.RefusedException {
        long persisted;
        long applied;
        synchronized (this) {
            durableAnnounced(heartbeat.epoch(), heartbeat.durable());
            persisted = core.reportablePersisted();
            applied = core.reportableApplied();
        }
        return lease.heartbeat(heartbeat, persisted, applied);
    }

    public synchronized void flushAsked(long target) {
        core.flushAsked(target, clock.now());
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

    /** Many times a second. */
    public void tick() {
        lease.check();
        tickAccounting();
    }

    private synchronized void tickAccounting() {
        if (!ended) {
            core.tick(clock.now());
        }
    }

    /** The connection is over. */
    public void end() {
        ended = true;
    }

    // ---- for any thread

    public long durable() {
        return core.durable();
    }

    /** Whether reads may be executed at this moment by the lease. */
    public boolean mayRead() {
        return lease.mayRead();
    }

    public PeerLease lease() {
        return lease;
    }
}

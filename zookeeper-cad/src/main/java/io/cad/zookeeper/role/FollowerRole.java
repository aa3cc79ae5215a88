// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.role;

import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.config.Mode;
import io.cad.zookeeper.core.FollowerCore;
import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.lease.Heartbeat;
import io.cad.zookeeper.lease.HeartbeatAnswer;

/** This server as follower or observer on one connection to one leader: it reports, and believes D. */
public final class FollowerRole extends Role implements FollowerCore.Actions {

    /** The connection to the leader. */
    public interface Link {
        /** Sends what this server has persisted and applied; observers send nothing. */
        void report(long persisted, long applied);

        void requestFlush(long target);
    }

    private final FollowerCore core;
    private final Link link;
    private final String name;
    private final PeerLease lease;
    private final boolean readsByLease;

    /** @param votes false for an observer, which is never a member of the active set */
    public FollowerRole(CadConfig config, Mode mode, long epoch, long self, long lastApplied, Files files, Link link,
                        String name, PeerLease lease, boolean votes) {
        super(config, mode, epoch, lastApplied, files, "cad-" + name + "-" + self);
        this.link = link;
        this.name = name;
        this.lease = lease;
        this.readsByLease = votes && mode.reads == Mode.Reads.ACTIVE_SET;
        this.core = new FollowerCore(epoch, this);
    }

    /** The history is persisted up to an index and the epoch is recorded: reports count from here. */
    public void synchronised(long persisted, long applied) {
        synchronized (core) {
            core.synchronised(persisted, applied, System.nanoTime());
        }
    }

    // ---- what the leader says

    public void durableAnnounced(long announcedEpoch, long durable) {
        synchronized (core) {
            core.durableAnnounced(announcedEpoch, durable, System.nanoTime());
        }
    }

    /**
     * On this connection, after the synchronisation.
     *
     * @return what to answer, or null
     */
    public HeartbeatAnswer heartbeat(Heartbeat heartbeat) throws PeerLease.RefusedException {
        long persisted;
        long applied;
        synchronized (core) {
            core.durableAnnounced(heartbeat.epoch(), heartbeat.durable(), System.nanoTime());
            persisted = core.reportablePersisted();
            applied = core.reportableApplied();
        }
        HeartbeatAnswer answer = lease.heartbeat(heartbeat, persisted, applied);
        pollReads();
        return answer;
    }

    public void flushAsked(long target) {
        synchronized (core) {
            core.flushAsked(target, System.nanoTime());
        }
    }

    // ---- this server

    @Override
    public void written(long zxid) {
        synchronized (core) {
            core.appended(zxid, System.nanoTime());
        }
    }

    @Override
    public void persisted(long zxid) {
        synchronized (core) {
            if (!isStopped()) {
                core.persisted(zxid, System.nanoTime());
            }
        }
    }

    @Override
    public void applied(long zxid) {
        if (!mode.tracksDurable()) {
            return;
        }
        synchronized (core) {
            core.applied(zxid, System.nanoTime());
        }
    }

    @Override
    public long durable() {
        return core.durable();
    }

    @Override
    public void need(long target) {
        if (target <= core.durable()) {
            return;
        }
        synchronized (core) {
            if (!isStopped()) {
                core.needDurable(target, System.nanoTime());
            }
        }
    }

    /**
     * With reads at the leader each one asks for its position, which only an established leader gives; until then it
     * waits here.
     */
    @Override
    public boolean mayRead() {
        return readsByLease ? lease.mayRead() : core.durable() != Indices.NONE;
    }

    public PeerLease lease() {
        return lease;
    }

    @Override
    protected void tick(long now) {
        lease.check();
        synchronized (core) {
            if (!isStopped()) {
                core.tick(now);
            }
        }
    }

    // ---- actions of the core

    @Override
    public void report(long persisted, long applied) {
        link.report(persisted, applied);
    }

    @Override
    public void flush(long target) {
        if (flusher != null) {
            flusher.demand();
        }
    }

    @Override
    public void flushRequest(long target) {
        link.requestFlush(target);
    }

    @Override
    public void durable(long moved) {
        if (!isStopped()) {
            durableMoved(moved);
        }
    }

    @Override
    public String name() {
        return name;
    }
}

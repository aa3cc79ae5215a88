// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.role;

import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.config.Mode;
import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.core.LeaderCore;
import io.cad.zookeeper.core.Quorum;
import io.cad.zookeeper.metrics.CadMetrics;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** This server as leader of one epoch: it counts what the data nodes report and moves D. */
public final class LeaderRole extends Role implements LeaderCore.Actions {

    /** The learners, as the leader reaches them. */
    public interface Learners {
        /** Tells every capable learner how far the history is durable. */
        void announceDurable(long index);

        /** Asks every capable voter to sync at least up to the index. */
        void askFlush(long target);
    }

    /** A flush round waits no longer than this for a data node. */
    private static final long ROUND_TIMEOUT = 200_000_000L;

    private final LeaderCore core;
    private final Learners learners;

    /** One registration of a learner with this leader, and what it last reported. */
    private static final class Connection {
        final long id;
        final long server;
        long persisted = Indices.NONE;

        Connection(long id, long server) {
            this.id = id;
            this.server = server;
        }
    }

    // Guarded by the monitor of the core.
    private final Map<Object, Connection> connections = new IdentityHashMap<>();
    private long nextConnection = 1;
    private long roundStarted;

    public LeaderRole(CadConfig config, Mode mode, long epoch, long self, long lastApplied, List<Quorum> memberships,
                      Files files, Learners learners) {
        super(config, mode, epoch, lastApplied, files, "cad-leader-" + self);
        this.learners = learners;
        this.core = new LeaderCore(epoch, self, ROUND_TIMEOUT, this);
        core.configurations(memberships);
    }

    /** A quorum has persisted the initial history and recorded the epoch; this server has applied it. */
    public void established() {
        synchronized (core) {
            core.established(System.nanoTime());
        }
    }

    // ---- what learners say

    /**
     * A learner has registered: from here its reports count, and those on an
     * older connection of the same server no longer do.
     *
     * @param connection the object that serves it
     */
    public void connected(Object connection, long server) {
        synchronized (core) {
            Connection registered = new Connection(nextConnection++, server);
            connections.put(connection, registered);
            core.memberConnected(registered.id, server);
        }
    }

    public void report(Object connection, long reportedEpoch, long persisted, long applied) {
        long now = System.nanoTime();
        synchronized (core) {
            Connection sender = connections.get(connection);
            if (sender == null || isStopped()) {
                return;
            }
            if (reportedEpoch == epoch) {
                sender.persisted = persisted;
            }
            core.report(sender.id, reportedEpoch, persisted, applied, now);
        }
    }

    public void disconnected(Object connection) {
        synchronized (core) {
            Connection lost = connections.remove(connection);
            if (lost != null) {
                core.memberLost(lost.id);
            }
        }
    }

    /** The memberships that bind have changed. */
    public void membershipChanged(List<Quorum> memberships) {
        synchronized (core) {
            core.configurations(memberships);
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
        if (!mode.acknowledgesBeforeDurable()) {
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

    @Override
    protected void tick(long now) {
        synchronized (core) {
            core.tick(now);
        }
    }

    // ---- actions of the core

    @Override
    public void durable(long moved) {
        if (isStopped()) {
            return;
        }
        learners.announceDurable(moved);
        durableMoved(moved);
    }

    @Override
    public void flush(long target) {
        roundStarted = System.nanoTime();
        if (flusher != null) {
            flusher.demand();
        }
        learners.askFlush(target);
    }

    @Override
    public void flushRoundEnded(long target, boolean reached) {
        CadMetrics.get().flushRound(reached, System.nanoTime() - roundStarted);
    }

    // ---- what operators see

    /** Persisted index by server id, as far as reported on current connections. */
    public Map<Long, Long> persistedByServer() {
        Map<Long, Long> persisted = new TreeMap<>();
        synchronized (core) {
            for (Connection connection : connections.values()) {
                if (connection.persisted != Indices.NONE) {
                    persisted.merge(connection.server, connection.persisted, Math::max);
                }
            }
        }
        return persisted;
    }

    public long quorumPersisted() {
        return core.quorumPersisted();
    }

    public long lastAppended() {
        return core.lastAppended();
    }

    @Override
    public String name() {
        return "leader";
    }
}

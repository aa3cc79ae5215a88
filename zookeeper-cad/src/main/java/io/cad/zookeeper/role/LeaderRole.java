// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.role;

import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.config.Mode;
import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.core.LeaderCore;
import io.cad.zookeeper.core.Quorum;
import io.cad.zookeeper.lease.Heartbeat;
import io.cad.zookeeper.lease.HeartbeatAnswer;
import io.cad.zookeeper.lease.StuckLeader;
import io.cad.zookeeper.metrics.CadMetrics;
import io.cad.zookeeper.wire.Hello;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.apache.zookeeper.server.Request;

/** This server as leader of one epoch: it counts what the data nodes report and moves D. */
public final class LeaderRole extends Role implements LeaderCore.Actions, LeaderLeases.Office {

    /** The learners, as the leader reaches them. */
    public interface Learners {
        /** Tells every capable learner how far the history is durable. */
        void announceDurable(long index);

        /** Asks every capable voter to sync at least up to the index. */
        void askFlush(long target);

        void heartbeat(Object connection, Heartbeat heartbeat);

        /** Heartbeats were sent or answered; called without locks. */
        void heartbeatsMoved();

        /** Whether a server without the plugin votes here, so that no lease means anything. */
        boolean haveStockVoters();

        /** The newest index proposed, (epoch,0) at first. */
        long lastProposed();

        /** The newest index committed, (epoch,0) at first. */
        long lastCommitted();
    }

    private final LeaderCore core;
    private final LeaderLeases leases;
    private final Learners learners;

    /** One registration of a learner with this leader, and what it last reported. */
    private static final class Connection {
        final long id;
        final long server;
        final boolean hasLeases;
        long persisted = Indices.NONE;

        Connection(long id, long server, boolean hasLeases) {
            this.id = id;
            this.server = server;
            this.hasLeases = hasLeases;
        }
    }

    // Guarded by the monitor of the leases.
    private final Map<Object, Connection> connections = new IdentityHashMap<>();
    private final long self;
    private boolean ownPartOver;
    private boolean mayBeEstablished;
    private long ownPersisted;
    private long roundStarted;

    public LeaderRole(CadConfig config, Mode mode, long epoch, long self, long lastApplied, List<Quorum> memberships,
                      Files files, Learners learners, LeaderLeases leases) {
        super(config, mode, epoch, lastApplied, files, "cad-leader-" + self);
        this.self = self;
        this.learners = learners;
        this.leases = leases;
        this.core = new LeaderCore(epoch, self, config.leases.removal(), this);
        core.configurations(memberships);
        leases.begin(core, mode.reads == Mode.Reads.ACTIVE_SET, memberships, this);
    }

    /**
     * A quorum has persisted the initial history and recorded the epoch; this server has applied it. The epoch is
     * established as soon as the leases of older ones are over.
     */
    public void historyComplete() {
        synchronized (leases) {
            mayBeEstablished = true;
        }
        leases.start();
        stockVotersChanged();
    }

    @Override
    public void tick(boolean waitOver, long now) {
        if (mayBeEstablished && waitOver && !ownPartOver) {
            ownPartOver = true;
            core.established(now);
        }
    }

    // ---- what learners say

    /**
     * A learner has registered: from here its reports count, and those on an
     * older connection of the same server no longer do.
     *
     * @param connection the object that serves it
     * @param id a number that is never used twice in the epoch
     * @param hello what it said of itself
     * @return false if a newer connection of that server is known
     */
    public boolean connected(Object connection, long id, long server, boolean votes, Hello hello) {
        synchronized (leases) {
            boolean hasLeases = votes && hello.hasLeases() && server != self;
            if (hasLeases && !leases.connected(id, server, hello.incarnation, hello.attempt)) {
                return false;
            }
            connections.put(connection, new Connection(id, server, hasLeases));
            core.memberConnected(id, server);
            return true;
        }
    }

    public void report(Object connection, long reportedEpoch, long persisted, long applied) {
        long now = System.nanoTime();
        synchronized (leases) {
            Connection sender = connections.get(connection);
            if (sender == null || isStopped()) {
                return;
            }
            if (reportedEpoch == epoch) {
                sender.persisted = persisted;
                leases.reported(sender.id, applied, now);
            }
            core.report(sender.id, reportedEpoch, persisted, applied, now);
        }
    }

    /** A heartbeat was answered. */
    public void answered(Object connection, HeartbeatAnswer answer) {
        synchronized (leases) {
            Connection sender = connections.get(connection);
            if (sender == null || sender.id != answer.connection() || isStopped()) {
                return;
            }
            if (leases.answered(answer) && answer.persisted() != Indices.NONE) {
                sender.persisted = answer.persisted();
                core.report(sender.id, answer.epoch(), answer.persisted(), answer.applied(), System.nanoTime());
            }
        }
        pollReads();
    }

    public void disconnected(Object connection) {
        synchronized (leases) {
            Connection lost = connections.remove(connection);
            if (lost != null) {
                core.memberLost(lost.id);
                leases.disconnected(lost.id);
            }
        }
    }

    /** The memberships that bind have changed. */
    public void membershipChanged(List<Quorum> memberships) {
        synchronized (leases) {
            core.configurations(memberships);
            leases.membershipChanged(memberships);
        }
    }

    /** The number of the newest heartbeat sent. */
    public long lastHeartbeat() {
        synchronized (leases) {
            return leases.lastSent();
        }
    }

    /** Whether quorums have answered a heartbeat that was sent after that one (rule E9). */
    public boolean isAnsweredAfter(long heartbeat) {
        synchronized (leases) {
            return leases.answeredByQuorums() > heartbeat;
        }
    }

    /** A server without the plugin has come or gone. */
    public void stockVotersChanged() {
        if (goesWithoutLeases()) {
            learners.announceDurable(durable());
            durableMoved(durable());
        }
    }

    /**
     * While servers without the plugin vote, as during an upgrade, nobody's reads are checked, and those of immediate
     * mode need no lease either: it would come only when a quorum has the plugin.
     */
    private boolean goesWithoutLeases() {
        return !mode.tracksDurable() && learners.haveStockVoters();
    }

    @Override
    public boolean mayRead() {
        return leases.holds() || goesWithoutLeases();
    }

    /**
     * Where the questions of learners wait until this leader may confirm its position, and the later requests of the
     * same learner behind them, because a learner relies on their order.
     *
     * @param next takes a request without blocking
     */
    public LeaseGate<Request> gateLearners(Consumer<Request> next) {
        return gate(0, next, next);
    }

    /** Whether nobody else can have been established, so that a write may be acknowledged before others have it. */
    public boolean mayAcknowledgeEarly() {
        return leases.holds();
    }

    // ---- heartbeats

    @Override
    public void heartbeat(LeaderLeases.Heartbeats heartbeats) {
        connections.forEach((object, connection) -> {
            if (connection.hasLeases) {
                Heartbeat heartbeat = heartbeats.of(connection.id);
                if (heartbeat != null) {
                    learners.heartbeat(object, heartbeat);
                }
            }
        });
    }

    @Override
    public void beaten() {
        learners.heartbeatsMoved();
    }

    @Override
    public void observe(StuckLeader stuck, long now) {
        long committed = learners.lastCommitted();
        stuck.observe(StuckLeader.Work.REPLICATION, learners.lastProposed(), committed, now);
        stuck.observe(StuckLeader.Work.FLUSH, core.lastAppended(), Math.max(ownPersisted, Indices.first(epoch)), now);
        stuck.observe(StuckLeader.Work.APPLICATION, committed, Math.max(applying(), Indices.first(epoch)), now);
    }

    // ---- this server

    @Override
    public void written(long zxid) {
        synchronized (leases) {
            core.appended(zxid, System.nanoTime());
        }
    }

    @Override
    public void persisted(long zxid) {
        synchronized (leases) {
            if (!isStopped()) {
                ownPersisted = zxid;
                core.persisted(zxid, System.nanoTime());
            }
        }
    }

    @Override
    public void applied(long zxid) {
        if (!mode.tracksDurable()) {
            return;
        }
        synchronized (leases) {
            core.applied(zxid, System.nanoTime());
        }
    }

    @Override
    public long durable() {
        long durable = core.durable();
        return durable == Indices.NONE && goesWithoutLeases() ? Indices.first(epoch) : durable;
    }

    @Override
    public void need(long target) {
        if (target <= core.durable()) {
            return;
        }
        synchronized (leases) {
            if (!isStopped()) {
                core.needDurable(target, System.nanoTime());
            }
        }
    }

    @Override
    public void stop() {
        leases.end();
        super.stop();
    }

    // ---- actions of the core

    @Override
    public void durable(long moved) {
        if (isStopped()) {
            return;
        }
        leases.accountingMoved();
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
        synchronized (leases) {
            for (Connection connection : connections.values()) {
                if (connection.persisted != Indices.NONE) {
                    persisted.merge(connection.server, connection.persisted, Math::max);
                }
            }
        }
        return persisted;
    }

    /** The servers that may answer reads by a lease, this one among them. */
    public Set<Long> activeSet() {
        Set<Long> servers = new TreeSet<>(leases.activeFollowers().keySet());
        servers.add(self);
        return servers;
    }

    public LeaderLeases leases() {
        return leases;
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

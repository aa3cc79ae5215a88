// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.role;

import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.config.Mode;
import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.core.LeaderCore;
import io.cad.zookeeper.core.Quorum;
import io.cad.zookeeper.lease.ActiveSet;
import io.cad.zookeeper.lease.Heartbeat;
import io.cad.zookeeper.lease.HeartbeatAnswer;
import io.cad.zookeeper.lease.StuckLeader;
import io.cad.zookeeper.metrics.CadMetrics;
import io.cad.zookeeper.node.Leadership;
import io.cad.zookeeper.node.LeaseGate;
import io.cad.zookeeper.wire.Hello;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.apache.zookeeper.server.Request;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** This server as leader of one epoch: it counts what the data nodes report and moves D. */
public final class LeaderRole extends Role implements Leadership.Shell {

    private static final Logger LOG = LoggerFactory.getLogger(LeaderRole.class);

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

    final LeaderLeases leases;
    /** Its monitor guards the connections, too. */
    private final Leadership leadership;
    private final Learners learners;

    /** One registration of a learner with this leader, and what it last reported. */
    private static final class Connection {
        final Object object;
        final long id;
        final long server;
        long persisted = Indices.NONE;

        Connection(Object object, long id, long server) {
            this.object = object;
            this.id = id;
            this.server = server;
        }
    }

    private final Map<Object, Connection> connections = new IdentityHashMap<>();
    private final Map<Long, Connection> byId = new HashMap<>();
    private final long self;
    private long ownPersisted;
    private long roundStarted;

    public LeaderRole(CadConfig config, Mode mode, long epoch, long self, long lastApplied, List<Quorum> memberships,
                      Files files, Learners learners, LeaderLeases leases) {
        super(config, mode, epoch, lastApplied, files, "cad-leader-" + self);
        this.self = self;
        this.learners = learners;
        this.leases = leases;
        this.leadership = leases.leadership;
        boolean followersRead = mode.reads == Mode.Reads.ACTIVE_SET;
        leadership.begin(LeaderCore::new, followersRead ? config.activeSet : config.activeSet.leaderOnly(), memberships,
            this);
    }

    /**
     * A quorum has persisted the initial history and recorded the epoch; this server has applied it. The epoch is
     * established as soon as the leases of older ones are over.
     */
    public void historyComplete() {
        leadership.historyComplete();
        leases.start(learners::heartbeatsMoved);
        stockVotersChanged();
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
        boolean hasLeases = votes && hello.hasLeases() && server != self;
        synchronized (leadership) {
            if (!leadership.connected(id, server, hasLeases, hello.incarnation, hello.attempt)) {
                return false;
            }
            Connection connected = new Connection(connection, id, server);
            connections.put(connection, connected);
            byId.put(id, connected);
            return true;
        }
    }

    public void report(Object connection, long reportedEpoch, long persisted, long applied) {
        synchronized (leadership) {
            Connection sender = connections.get(connection);
            if (sender != null && leadership.reported(sender.id, reportedEpoch, persisted, applied)) {
                sender.persisted = persisted;
            }
        }
    }

    /** A heartbeat was answered. */
    public void answered(Object connection, HeartbeatAnswer answer) {
        synchronized (leadership) {
            Connection sender = connections.get(connection);
            if (sender == null || sender.id != answer.connection()) {
                return;
            }
            if (leadership.answered(answer) && answer.persisted() != Indices.NONE) {
                sender.persisted = answer.persisted();
            }
        }
        pollReads();
    }

    public void disconnected(Object connection) {
        synchronized (leadership) {
            Connection lost = connections.remove(connection);
            if (lost != null) {
                byId.remove(lost.id);
                leadership.disconnected(lost.id);
            }
        }
    }

    /** The memberships that bind have changed. */
    public void membershipChanged(List<Quorum> memberships) {
        leadership.membershipChanged(memberships);
    }

    /** The number of the newest heartbeat sent. */
    public long lastHeartbeat() {
        return leadership.lastSent();
    }

    /** Whether quorums have answered a heartbeat that was sent after that one (rule E9). */
    public boolean isAnsweredAfter(long heartbeat) {
        return leadership.answeredByQuorums() > heartbeat;
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
        return leadership.holds() || goesWithoutLeases();
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
        return leadership.holds();
    }

    // ---- heartbeats

    @Override
    public void heartbeat(long connection, Heartbeat heartbeat) {
        Connection to = byId.get(connection);
        if (to != null) {
            learners.heartbeat(to.object, heartbeat);
        }
    }

    @Override
    public void observe(StuckLeader stuck, long now) {
        long committed = learners.lastCommitted();
        stuck.observe(StuckLeader.Work.REPLICATION, learners.lastProposed(), committed, now);
        stuck.observe(StuckLeader.Work.FLUSH, leadership.lastAppended(), Math.max(ownPersisted, Indices.first(epoch)), now);
        stuck.observe(StuckLeader.Work.APPLICATION, committed, Math.max(applying(), Indices.first(epoch)), now);
    }

    // ---- this server

    @Override
    public void written(long zxid) {
        leadership.appended(zxid);
    }

    @Override
    public void persisted(long zxid) {
        synchronized (leadership) {
            ownPersisted = zxid;
            leadership.persisted(zxid);
        }
    }

    @Override
    public void applied(long zxid) {
        if (mode.tracksDurable()) {
            leadership.applied(zxid);
        }
    }

    @Override
    public long durable() {
        long durable = leadership.durable();
        return durable == Indices.NONE && goesWithoutLeases() ? Indices.first(epoch) : durable;
    }

    @Override
    public void need(long target) {
        leadership.need(target);
    }

    @Override
    public void stop() {
        leases.end();
        super.stop();
    }

    // ---- actions of the leadership, under its lock

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

    /** Persisted index by server id, as far as reported on current connections. */
    public Map<Long, Long> persistedByServer() {
        Map<Long, Long> persisted = new TreeMap<>();
        synchronized (leadership) {
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
        Set<Long> servers = new TreeSet<>(leadership.members().keySet());
        servers.add(self);
        return servers;
    }

    /** The servers that were told to leave it because they were slow, and may not come back yet. */
    public Set<Long> onProbation() {
        return leadership.onProbation();
    }

    /** How many followers may answer reads. */
    public int activeFollowers() {
        return leadership.members().size();
    }

    /** Nanoseconds until the leader lease ends unless it is renewed. */
    public long leaseRemaining() {
        return leadership.remaining();
    }

    public long quorumPersisted() {
        return leadership.quorumPersisted();
    }

    public long lastAppended() {
        return leadership.lastAppended();
    }

    @Override
    public String name() {
        return "leader";
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.simulation;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.core.LeaderCore;
import io.cad.zookeeper.lease.ActiveSet;
import io.cad.zookeeper.lease.ActiveSetRules;
import io.cad.zookeeper.lease.Heartbeat;
import io.cad.zookeeper.lease.HeartbeatAnswer;
import io.cad.zookeeper.lease.LeaderLease;
import io.cad.zookeeper.lease.StuckLeader;
import io.cad.zookeeper.simulation.Simulation.Count;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** One server as leader of one epoch, around the real leader core, leader lease and active set. */
final class Office extends Serving
        implements LeaderCore.Actions, LeaderLease.Actions, ActiveSet.Actions, ActiveSet.History {
    private static final long MS = Simulation.MS;

    final Node leader;
    final long epoch;
    final LeaderLease lease;
    final ActiveSet set;
    final LeaderCore core;

    private final Simulation world;
    private final Map<Long, Node> links = new TreeMap<>();
    /** Length of the history that a connection has in memory. */
    private final Map<Long, Integer> appended = new TreeMap<>();
    private final Map<Long, Client.Op> waiting = new TreeMap<>();
    private long connections;
    private long counter;
    private boolean ownPart;
    private long lostSince;

    Office(Simulation world, Node leader, long epoch) {
        super(world.cores, Entry.index(leader.last));
        this.world = world;
        this.leader = leader;
        this.epoch = epoch;
        lease = world.leases.leaderLease(epoch, leader.id, leader.settings, leader.promise,
                world.leases.stuckLeader(3_600_000 * MS), leader.now(), leader.wall(), this);
        int max = world.chance(4) ? 2 : Integer.MAX_VALUE;
        ActiveSetRules rules = new ActiveSetRules(max, List.of(), 100 * MS, 200 * MS);
        set = world.leases.activeSet(epoch, leader.settings, rules, lease, leader.promise, this, this);
        set.configurations(List.of(world.quorum));
        core = world.cores.leader(epoch, leader.id, 200 * MS, this);
        core.configurations(List.of(world.quorum));
        core.activeSet(set::applied);
    }

    private boolean isOver() {
        return leader.office != this;
    }

    void takeOffice() {
        world.count(Count.ELECTION);
        world.elected(this);
        lostSince = leader.now();
        leader.recordEpoch(epoch);
        core.applied(Entry.index(leader.last), leader.now());
        beat();
    }

    void beat() {
        if (isOver()) {
            return;
        }
        leader.after(leader.settings.heartbeat(), this::beat);
        tick();
        long number = lease.beat(leader.now(), leader.wall());
        lostSince = lease.holds(leader.now(), leader.wall()) ? leader.now() : lostSince;
        if (leader.now() - lostSince > leader.patience) {
            leader.look();
            return;
        }
        for (Map.Entry<Long, Node> link : links.entrySet()) {
            if (number != LeaderLease.NONE) {
                sendHeartbeat(link.getKey(), link.getValue(), number);
            }
            replicate(link.getKey(), link.getValue());
        }
        for (Node other : world.nodes) {
            if (other != leader) {
                world.send(leader, other, () -> other.announced(this));
            }
        }
    }

    private void sendHeartbeat(long connection, Node follower, long number) {
        Heartbeat heartbeat = set.heartbeat(connection, number, leader.now(), leader.wall());
        if (heartbeat != null) {
            byte[] bytes = heartbeat.encode();
            world.send(leader, follower, () -> follower.heartbeat(this, Heartbeat.decode(bytes)));
        }
    }

    private void replicate(long connection, Node follower) {
        Entry last = leader.last;
        Entry committed = leader.applied;
        world.send(leader, follower, () -> follower.append(this, connection, last, committed));
    }

    void tick() {
        long now = leader.now();
        if (!ownPart && lease.isWaitOver(now)) {
            ownPart = true;
            core.established(now);
        } else if (!ownPart) {
            world.count(Count.PROMISE_WAIT);
        }
        set.tick(now, leader.wall());
        core.tick(now);
        if (core.isEstablished()) {
            lease.established(now);
        }
        commit();
    }

    // --- followers

    void hello(Node server, long incarnation, long attempt, boolean wantsFullState) {
        if (isOver()) {
            return;
        }
        long connection = epoch * 1_000 + connections++;
        if (!set.connected(connection, server.id, incarnation, attempt, leader.now())) {
            world.count(Count.STALE_HELLO);
            return;
        }
        links.values().removeIf(other -> other == server);
        links.put(connection, server);
        core.memberConnected(connection, server.id);
        core.tick(leader.now());
        synchronise(connection, server, attempt, leader.applied != null && (wantsFullState || world.chance(8)));
    }

    /** After establishment a snapshot that is sent must hold nothing that may be rolled back (rule E4). */
    private void synchronise(long connection, Node server, long attempt, boolean fullState) {
        if (isOver() || links.get(connection) != server) {
            return;
        }
        if (fullState && core.isEstablished() && core.durable() < Entry.index(leader.applied)) {
            need(Entry.index(leader.applied));
            leader.after(5 * MS, () -> synchronise(connection, server, attempt, true));
            return;
        }
        Entry last = leader.last;
        Entry committed = leader.applied;
        byte[] state = fullState ? leader.storage.wholeState() : null;
        world.send(leader, server, () -> server.synchronise(this, connection, attempt, last, committed, state));
    }

    void lost(long connection) {
        links.remove(connection);
        appended.remove(connection);
        set.lost(connection, leader.now());
        core.memberLost(connection);
    }

    void reported(long connection, long recordedEpoch, long persisted, long applied) {
        if (!isOver()) {
            set.reported(connection, applied, leader.now());
            core.report(connection, recordedEpoch, persisted, applied, leader.now());
            tick();
        }
    }

    void answered(HeartbeatAnswer answer) {
        if (!isOver() && set.answered(answer, leader.now(), leader.wall())) {
            core.report(answer.connection(), answer.epoch(), answer.persisted(), answer.applied(), leader.now());
        }
        if (!isOver()) {
            tick();
        }
    }

    void acknowledged(long connection, Entry last) {
        if (!isOver() && links.containsKey(connection)) {
            appended.merge(connection, Entry.length(last), Math::max);
            commit();
        }
    }

    // --- writes

    void write(Client.Op op) {
        if (!op.take()) {
            return;
        }
        Entry before = Entry.of(leader.last, op.path);
        boolean deletesNothing = op.value == null && (before == null || before.value == null);
        if (isOver() || !core.isEstablished() || deletesNothing) {
            op.refused();
            return;
        }
        Entry entry = world.entry(Indices.of(epoch, ++counter), leader.last, op.path, op.value);
        leader.last = entry;
        leader.storage.append(entry);
        core.appended(entry.index, leader.now());
        if (world.has(Flaw.UNSYNCED_COUNTS)) {
            core.persisted(entry.index, leader.now());
        }
        waiting.put(entry.index, op);
        links.forEach(this::replicate);
        commit();
    }

    /** What a quorum has in memory, in async mode what the leader has while its lease holds, is committed. */
    private void commit() {
        if (!core.isEstablished() || leader.applied == leader.last) {
            return;
        }
        Entry upTo;
        if (world.has(Flaw.IMMEDIATE_ANY)) {
            upTo = Entry.upTo(leader.last, core.quorumPersisted());
        } else if (world.async && lease.holds(leader.now(), leader.wall())) {
            upTo = leader.last;
        } else {
            int[] lengths = links.keySet().stream().mapToInt(one -> appended.getOrDefault(one, 0)).sorted().toArray();
            int needed = world.nodes.size() / 2;
            upTo = lengths.length < needed ? null : Entry.cut(leader.last, lengths[lengths.length - needed]);
        }
        if (Entry.length(upTo) <= Entry.length(leader.applied)) {
            return;
        }
        leader.apply(upTo);
        core.applied(upTo.index, leader.now());
        for (var pending = waiting.entrySet().iterator(); pending.hasNext();) {
            Map.Entry<Long, Client.Op> one = pending.next();
            if (one.getKey() <= upTo.index) {
                one.getValue().acknowledged(Entry.upTo(upTo, one.getKey()));
                world.count(Count.ACKNOWLEDGED);
                pending.remove();
            }
        }
        links.forEach(this::replicate);
    }

    // --- actions of core, lease and set

    @Override
    public void durable(long index) {
        world.durable(this, index);
        release(index);
        links.values().forEach(follower ->
                world.send(leader, follower, () -> follower.durableAnnounced(epoch, index)));
    }

    @Override
    public long durable() {
        return core.durable();
    }

    @Override
    void need(long target) {
        core.needDurable(target, leader.now());
    }

    void flushRequested(long target) {
        if (!isOver()) {
            need(target);
            long durable = core.durable();
            links.values().forEach(follower ->
                    world.send(leader, follower, () -> follower.durableAnnounced(epoch, durable)));
        }
    }

    @Override
    public long reachable() {
        return core.reachable();
    }

    @Override
    public void flush(long target) {
        leader.syncSoon();
        links.values().forEach(follower -> world.send(leader, follower, () -> follower.flushAsked(this, target)));
    }

    @Override
    public void flushRoundEnded(long target, boolean reached) {
        world.count(Count.FLUSH_ROUND);
    }

    @Override
    public void stepDown(StuckLeader.Work stuck) {
        throw new AssertionError("nothing is stuck here");
    }

    @Override
    public void admitted(long server, long connection) {
        world.count(Count.ADMISSION);
    }

    @Override
    public void removed(long server, long connection, ActiveSet.Removal why) {
        switch (why) {
            case LEFT -> world.count(Count.REMOVAL_LEFT);
            case SILENT -> world.count(Count.REMOVAL_SILENT);
            case RECONNECTED -> world.count(Count.REMOVAL_RECONNECTED);
            default -> { }
        }
    }

    @Override
    public void toldToLeave(long server, long connection, ActiveSet.Reason why) {
    }
}

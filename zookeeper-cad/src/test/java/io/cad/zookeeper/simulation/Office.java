// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.simulation;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.core.Quorum;
import io.cad.zookeeper.core.VectorQuorum;
import io.cad.zookeeper.lease.ActiveSet;
import io.cad.zookeeper.lease.ActiveSetRules;
import io.cad.zookeeper.lease.Heartbeat;
import io.cad.zookeeper.lease.HeartbeatAnswer;
import io.cad.zookeeper.lease.StuckLeader;
import io.cad.zookeeper.node.Candidacy;
import io.cad.zookeeper.node.History;
import io.cad.zookeeper.node.Leadership;
import io.cad.zookeeper.simulation.Simulation.Count;
import io.cad.zookeeper.wire.EpochAck;
import io.cad.zookeeper.wire.Hello;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** One server as leader of one epoch, around the real accounting, leader lease and active set. */
final class Office extends Serving implements Leadership.Shell {
    private static final long MS = Simulation.MS;

    final Node leader;
    final long epoch;
    final Leadership leadership;
    final Candidacy candidacy;

    private final Simulation world;
    private final Map<Long, Node> links = new TreeMap<>();
    /** Length of the history that a connection has in memory. */
    private final Map<Long, Integer> appended = new TreeMap<>();
    private final Map<Long, Client.Op> waiting = new TreeMap<>();
    private long connections;
    private long counter;
    private long lostSince;
    /** The history that the office began with, committed when the epoch is established. */
    private Entry initial;
    private boolean initialCommitted;
    /** The newest heartbeat sent when the last membership was appended. */
    private long membershipAppended;

    Office(Simulation world, Node leader, long epoch, History history) {
        super(leader, world.cores, Entry.index(leader.last));
        this.world = world;
        this.leader = leader;
        this.epoch = epoch;
        leadership = new Leadership(leader.settings, world.leases, 3_600_000 * MS, epoch, leader.id, leader.lease,
                leader.machine, leader.electorates());
        candidacy = new Candidacy(leader.id, history);
    }

    /** The server is elected. */
    void begin() {
        int max = world.chance(4) ? 2 : Integer.MAX_VALUE;
        ActiveSetRules rules = new ActiveSetRules(max, List.of(), 100 * MS, 200 * MS);
        initial = leader.last;
        counter = Indices.epoch(Entry.index(initial)) == epoch ? Indices.counter(initial.index) : 0;
        leadership.begin(world.cores::leader, rules, leader.memberships(), this);
    }

    private boolean isOver() {
        return leader.office != this;
    }

    void takeOffice() {
        world.count(Count.ELECTION);
        world.elected(this);
        lostSince = leader.now();
        leader.recordEpoch(epoch);
        leadership.historyComplete();
        beat();
        world.faults.elected(leader);
    }

    void beat() {
        if (isOver()) {
            return;
        }
        leader.after(leader.settings.heartbeat(), this::beat);
        tick();
        leadership.beat();
        lostSince = leadership.holds() ? leader.now() : lostSince;
        if (leader.now() - lostSince > leader.patience) {
            leader.look();
            return;
        }
        links.forEach(this::replicate);
        for (Node other : world.nodes) {
            if (other != leader) {
                world.send(leader, other, () -> other.announced(this));
            }
        }
    }

    @Override
    public void heartbeat(long connection, Heartbeat heartbeat) {
        Node follower = links.get(connection);
        if (follower != null) {
            byte[] bytes = heartbeat.encode();
            world.send(leader, follower, () -> follower.heartbeat(this, Heartbeat.decode(bytes)));
        }
    }

    private void replicate(long connection, Node follower) {
        Entry last = leader.last;
        Entry committed = leader.applied;
        long membership = knownCommitted();
        world.send(leader, follower, () -> follower.append(this, connection, last, committed, membership));
    }

    /** Index of the newest membership that is: what a leader has applied holds its initial history, which may not be. */
    private long knownCommitted() {
        return world.has(Flaw.INITIAL_MEMBERSHIP_COUNTS_AS_COMMITTED)
                ? Entry.index(Entry.membershipOf(leader.applied)) : leader.committedMembership;
    }

    void tick() {
        if (!leadership.isWaitOver()) {
            world.count(Count.PROMISE_WAIT);
        }
        leadership.tick();
        commit();
    }

    // --- followers

    void hello(Node server, byte[] info, byte[] statement) {
        if (isOver()) {
            return;
        }
        Hello hello = Hello.read(info, Hello.LEARNER_INFO_LENGTH);
        long connection = epoch * 1_000 + connections++;
        boolean hasLeases = hello.hasLeases() && !world.memberships.isObserver(server.id);
        if (!leadership.connected(connection, server.id, hasLeases, hello.incarnation, hello.attempt)) {
            world.count(Count.STALE_HELLO);
            return;
        }
        links.values().removeIf(other -> other == server);
        links.put(connection, server);
        leadership.tick();
        boolean needsFullState = EpochAck.read(statement).fullState;
        synchronise(connection, server, hello, leader.applied != null && (needsFullState || world.chance(8)));
    }

    /** After establishment a snapshot that is sent must hold nothing that may be rolled back (rule E4). */
    private void synchronise(long connection, Node server, Hello hello, boolean fullState) {
        if (isOver() || links.get(connection) != server) {
            return;
        }
        if (fullState && leadership.isEstablished() && leadership.durable() < Entry.index(leader.applied)) {
            need(Entry.index(leader.applied));
            leader.after(5 * MS, () -> synchronise(connection, server, hello, true));
            return;
        }
        Entry last = leader.last;
        Entry committed = leader.applied;
        long membership = knownCommitted();
        byte[] state = fullState ? leader.storage.wholeState() : null;
        byte[] welcome = Hello.ofLeader(world.mode, connection, leader.history()).appendTo(new byte[Hello.LEADER_INFO_LENGTH]);
        world.send(leader, server, () -> server.synchronise(this, welcome, hello, last, committed, membership, state));
    }

    void lost(long connection) {
        links.remove(connection);
        appended.remove(connection);
        leadership.disconnected(connection);
    }

    void reported(long connection, long recordedEpoch, long persisted, long applied) {
        if (!isOver()) {
            leadership.reported(connection, recordedEpoch, persisted, applied);
            tick();
        }
    }

    void answered(HeartbeatAnswer answer) {
        if (!isOver()) {
            leadership.answered(answer);
            tick();
            gate.poll(leader.now());
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
        if (isOver() || !leadership.isEstablished() || deletesNothing) {
            op.refused();
            return;
        }
        Entry entry = append(op.path, op.value);
        waiting.put(entry.index, op);
        links.forEach(this::replicate);
        commit();
    }

    private Entry append(String path, String value) {
        Entry entry = world.entry(Indices.of(epoch, ++counter), leader.last, path, value);
        leader.last = entry;
        leader.storage.append(entry);
        leadership.appended(entry.index);
        if (world.has(Flaw.UNSYNCED_COUNTS)) {
            leadership.persisted(entry.index);
        }
        return entry;
    }

    /** One change at a time (rule E9). */
    void changeMembership() {
        if (isOver() || !initialCommitted || leader.memberships().size() > 1) {
            return;
        }
        VectorQuorum before = world.memberships.of(Entry.membershipOf(leader.last));
        Entry entry = append(Memberships.PATH, world.memberships.another(leader.id));
        leadership.membershipChanged(leader.memberships());
        membershipAppended = leadership.lastSent();
        Set<Long> leaving = new TreeSet<>(before.voters());
        leaving.removeAll(world.memberships.of(entry).voters());
        world.faults.leaving(leader, leaving);
        links.forEach(this::replicate);
    }

    /** What a quorum has in memory, in async mode what the leader has while its lease holds, is committed. */
    private void commit() {
        if (!leadership.isEstablished()) {
            return;
        }
        if (!initialCommitted) {
            initialCommitted = true;
            membershipsCommitted(initial);
        }
        if (leader.applied == leader.last) {
            return;
        }
        Entry upTo;
        if (world.has(Flaw.IMMEDIATE_ANY)) {
            upTo = Entry.upTo(leader.last, leadership.quorumPersisted());
        } else if (world.async && leadership.holds()) {
            upTo = leader.last;
        } else {
            upTo = heldByQuorums();
        }
        upTo = unlessMembershipWaits(upTo);
        if (Entry.length(upTo) <= Entry.length(leader.applied)) {
            return;
        }
        leader.apply(upTo);
        leadership.applied(upTo.index);
        membershipsCommitted(upTo);
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

    /** The longest history that quorums have in memory, the leader among them. */
    private Entry heldByQuorums() {
        List<Integer> lengths = new ArrayList<>(List.of(Entry.length(leader.last)));
        links.keySet().forEach(one -> lengths.add(appended.getOrDefault(one, 0)));
        lengths.sort(Comparator.reverseOrder());
        for (int length : lengths) {
            Set<Long> holders = new TreeSet<>(Set.of((long) leader.id));
            links.forEach((connection, server) -> {
                if (appended.getOrDefault(connection, 0) >= length) {
                    holders.add((long) server.id);
                }
            });
            if (Quorum.ofEach(leader.memberships(), holders)) {
                return Entry.cut(leader.last, length);
            }
        }
        return null;
    }

    /** A membership waits for disks and for answers to later heartbeats, and what follows waits for it (rule E9). */
    private Entry unlessMembershipWaits(Entry upTo) {
        Entry membership = Entry.membershipOf(upTo);
        if (membership == null || membership.index <= leader.committedMembership) {
            return upTo;
        }
        boolean may = leadership.quorumPersisted() >= membership.index
                && leadership.answeredByQuorums() > membershipAppended;
        return may ? membership : membership.previous;
    }

    private void membershipsCommitted(Entry upTo) {
        Entry membership = Entry.membershipOf(upTo);
        if (membership != null && membership.index > leader.committedMembership) {
            leader.committedMembership = membership.index;
            leadership.membershipChanged(leader.memberships());
            world.count(Count.MEMBERSHIP);
        }
    }

    // --- actions of the leadership

    @Override
    public void durable(long index) {
        if (index == Indices.first(epoch)) {
            world.faults.established(leader);
        }
        world.durable(this, index);
        release(index);
        links.values().forEach(follower ->
                world.send(leader, follower, () -> follower.durableAnnounced(epoch, index)));
    }

    @Override
    public long durable() {
        return leadership.durable();
    }

    @Override
    void need(long target) {
        leadership.need(target);
    }

    void flushRequested(long target) {
        if (!isOver()) {
            need(target);
            long durable = leadership.durable();
            links.values().forEach(follower ->
                    world.send(leader, follower, () -> follower.durableAnnounced(epoch, durable)));
        }
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
    public void observe(StuckLeader stuck, long now) {
        // Nothing is stuck here.
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

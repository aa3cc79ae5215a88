// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.simulation;

import io.cad.jepsen.checker.Facts;
import io.cad.jepsen.checker.Operation.Kind;
import io.cad.zookeeper.core.FollowerCore;
import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.core.InvariantViolation;
import io.cad.zookeeper.core.Quorum;
import io.cad.zookeeper.lease.Heartbeat;
import io.cad.zookeeper.lease.HeartbeatAnswer;
import io.cad.zookeeper.lease.LeaseSettings;
import io.cad.zookeeper.lease.ReadLease;
import io.cad.zookeeper.node.Followership;
import io.cad.zookeeper.node.History;
import io.cad.zookeeper.node.PeerLease;
import io.cad.zookeeper.simulation.Simulation.Count;
import io.cad.zookeeper.wire.EpochAck;
import io.cad.zookeeper.wire.Hello;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.zookeeper.server.DataNode;

/** One server: its machine, its disk, its process, and what that is at the moment. */
final class Node implements PeerLease.Shell, Storage.Owner {
    enum Role { LOOKING, CANDIDATE, JOINING, FOLLOWING, LEADING }

    private static final long MS = Simulation.MS;

    final int id;
    final LeaseSettings settings;
    final Machine machine;
    private final Simulation world;
    private final PowerLossDisk disk;

    // On the disk, beside what the storage holds.
    private long recordedPromise;
    private long incarnation;
    /** The last epoch that it led. */
    private long led;

    // The process.
    boolean up;
    final Set<Client.Op> connections = new LinkedHashSet<>();
    private int life;
    private int pauses;
    private final Deque<Runnable> waiting = new ArrayDeque<>();
    Storage storage;
    /** End of the log; the last entry that is in memory; the last that is known to be synced. */
    Entry last;
    Entry applied;
    Entry synced;
    /** Index of the newest membership that this process knows committed. */
    long committedMembership;
    private long recoveredMembership;
    long promisedEpoch;
    long recordedEpoch;
    PeerLease lease;
    Role role = Role.LOOKING;
    long epoch;
    long connection;
    long patience;
    private long attempt;
    private long heardAt;
    private long slowApply;
    private boolean syncing;
    private long syncInterval;
    Office office;
    private Office candidacy;
    Following following;
    private Serving former;

    Node(Simulation world, int id, LeaseSettings settings, PowerLossDisk disk) {
        this.world = world;
        this.id = id;
        this.settings = settings;
        this.recordedPromise = settings.promise();
        this.disk = disk;
        this.machine = new Machine(world::time);
    }

    long now() {
        return machine.now();
    }

    long wall() {
        return machine.wall();
    }

    int itemsListed() {
        return world.itemsListed;
    }

    // --- machine and process

    void changeRate() {
        machine.runAt(world.chance(3) ? 0.9 + 0.2 * world.random.nextDouble()
                : world.random.nextBoolean() ? 0.9001 : 1.0999);
    }

    void start() {
        disk.enter();
        machine.boot(world.between(0, 1_000_000 * MS));
        changeRate();
        try {
            storage = new Storage(disk, this);
        } catch (UncheckedIOException e) {
            if (world.checks()) {
                throw e;
            }
            return; // a wrong server may destroy what it needs to start
        }
        up = true;
        life++;
        incarnation++;
        Entry recovered = world.entryAt(storage.last());
        world.require(Entry.isPrefix(synced, recovered), "PersistedSurvives: server " + id + " had synced "
                + Long.toHexString(Entry.index(synced)) + " and starts with "
                + Long.toHexString(Entry.index(recovered)));
        inMemory(recovered);
        synced = recovered;
        committedMembership = 0;
        recoveredMembership = Entry.index(Entry.membershipOf(recovered));
        promisedEpoch = storage.acceptedEpoch();
        recordedEpoch = storage.currentEpoch();
        lease = new PeerLease(settings, world.leases, incarnation, promisedEpoch, recordedPromise, machine, this);
        attempt = 0;
        slowApply = world.returns ? slowApply : 0;
        syncing = false;
        syncInterval = world.chance(2) ? 40 * MS : world.between(60 * MS, 900 * MS);
        patience = world.between(12 * settings.heartbeat(), 80 * settings.heartbeat());
        role = Role.LOOKING;
        after(world.between(0, 10 * MS), this::tick);
        after(world.between(5 * MS, 60 * MS), this::syncInBackground);
        after(world.between(100 * MS, 900 * MS), this::snapshot);
        boolean goesOn = world.has(Flaw.SAME_LEADER_GOES_ON) && led > 0 && led == promisedEpoch && led == recordedEpoch;
        long untilElection = world.between(2 * MS, 120 * MS);
        after(goesOn ? 0 : untilElection, goesOn ? this::lead : this::elect);
    }

    /** The tree was read from the files: it must be what that history made. */
    private void inMemory(Entry history) {
        last = history;
        applied = history;
        if (world.checks()) {
            String difference = storage.differsFrom(history, world.paths);
            world.require(difference == null, "RecoveredStateIsAHistory: at server " + id + " " + difference);
        }
    }

    void restart(boolean losesPower) {
        if (!up) {
            return;
        }
        disk.enter();
        world.count(losesPower ? Count.POWER_LOSS : Count.RESTART);
        up = false;
        life++;
        endRole();
        former = null;
        closeConnections();
        waiting.clear();
        pauses = 0;
        world.count(Count.BYTES_LOST, storage.crash(losesPower, world.random));
        storage = null;
        world.later(world.between(MS, 60 * MS), this::start);
    }

    void pause(long duration) {
        int mine = life;
        pauses++;
        world.later(duration, () -> resume(mine));
    }

    void suspend(long duration) {
        if (up && !machine.isSuspended()) {
            world.count(Count.SUSPENSION);
            machine.suspend(true);
            int mine = life;
            pauses++;
            world.later(duration, () -> {
                machine.suspend(false);
                resume(mine);
            });
        }
    }

    private void resume(int pausedLife) {
        if (life != pausedLife) {
            return;
        }
        pauses--;
        while (pauses == 0 && !waiting.isEmpty()) {
            run(waiting.remove());
        }
    }

    /** Runs now, or when the process runs again; never if it is not there. */
    void receive(Runnable action) {
        if (up && pauses > 0) {
            waiting.add(action);
        } else if (up) {
            run(action);
        }
    }

    private void run(Runnable action) {
        disk.enter();
        try {
            action.run();
        } catch (InvariantViolation e) {
            if (world.checks()) {
                throw e;
            }
            restart(false); // a server stops rather than go on
        }
    }

    /** In this process, after so long by its clock. */
    void after(long delay, Runnable action) {
        int mine = life;
        world.later(machine.trueTime(delay), () -> {
            if (life == mine) {
                receive(() -> {
                    if (life == mine) {
                        action.run();
                    }
                });
            }
        });
    }

    private void tick() {
        after(world.between(5 * MS, 20 * MS), this::tick);
        lease.check();
        if (office != null) {
            office.tick();
        }
        if (serving() != null) {
            serving().gate.poll(now());
        }
        if (following != null) {
            following.link.tick();
            if (now() - heardAt > patience / 4) {
                look();
            }
        }
    }

    // --- log and snapshots

    private void syncInBackground() {
        after(world.between(syncInterval / 8, syncInterval), this::syncInBackground);
        storage.sync();
    }

    /** On demand: after as long as a sync takes. */
    void syncSoon() {
        if (!syncing) {
            syncing = true;
            after(world.between(MS / 2, 8 * MS), () -> {
                syncing = false;
                storage.sync();
            });
        }
    }

    @Override
    public void persisted(long index) {
        synced = Entry.upTo(last, index);
        world.synced();
        if (office != null) {
            office.leadership.persisted(index);
        }
        if (following != null) {
            following.link.persisted(index);
        }
    }

    private Serving serving() {
        return office != null ? office : following;
    }

    private void snapshot() {
        after(world.between(200 * MS, 1_500 * MS), this::snapshot);
        Serving serving = serving();
        if (serving == null || applied == null) {
            return;
        }
        if (serving.durable() < applied.index) {
            serving.need(Math.min(applied.index, Indices.of(epoch, Indices.MAX_COUNTER)));
            after(3 * MS, this::snapshotIfDurable);
        } else {
            snapshotIfDurable();
        }
    }

    private void snapshotIfDurable() {
        if (serving() != null && applied != null) {
            storage.snapshot();
        }
    }

    @Override
    public boolean awaitDurable(long index) {
        boolean durable = serving() != null && serving().durable() >= index
                || world.has(Flaw.SNAPSHOT_BEFORE_DURABLE);
        world.count(durable ? Count.SNAPSHOT : Count.SNAPSHOT_DROPPED);
        return durable;
    }

    @Override
    public long applying() {
        return Entry.index(applied);
    }

    /** Applies what is committed. */
    void apply(Entry upTo) {
        List<Entry> entries = new ArrayList<>();
        for (Entry at = upTo; Entry.length(at) > Entry.length(applied); at = at.previous) {
            entries.add(at);
        }
        for (int i = entries.size() - 1; i >= 0; i--) {
            storage.apply(entries.get(i), serving().index);
            applied = entries.get(i);
            notifyWatchers(applied, serving());
        }
    }

    private void notifyWatchers(Entry entry, Serving serving) {
        for (Client.Watch watch : serving.watchers(entry.path)) {
            world.count(Count.WATCH_EVENT);
            serving.reply(watch.client(), world.has(Flaw.WATCH_EVENT_BEFORE_DURABLE) ? Indices.NONE : entry.index, () -> {
                world.shown(this, serving, entry);
                watch.fired(entry);
            }, now());
        }
    }

    // --- elections

    private void endRole() {
        Serving ended = serving();
        if (office != null) {
            office.leadership.end();
        }
        if (following != null) {
            following.link.end();
        }
        office = null;
        candidacy = null;
        following = null;
        if (ended != null && world.has(Flaw.HELD_REPLY_OUTLIVES_THE_ROLE)) {
            former = ended;
        } else if (ended != null) {
            ended.discard();
            closeConnections();
        }
    }

    private void closeConnections() {
        new ArrayList<>(connections).forEach(Client.Op::closed);
        connections.clear();
    }

    /** A role begins. */
    private <T extends Serving> T begin(T serving) {
        if (former != null) {
            serving.inherit(former);
            former = null;
        }
        return serving;
    }

    void look() {
        if (role == Role.FOLLOWING && world.chance(2)) {
            Office to = world.office(epoch);
            long mine = connection;
            world.send(this, to.leader, () -> to.lost(mine));
        }
        endRole();
        if (applied != last) {
            storage.fastForward();
            inMemory(last);
        }
        role = Role.LOOKING;
        lease.disconnected();
        after(world.between(2 * MS, 120 * MS), this::elect);
    }

    void breakOff() {
        if (role == Role.FOLLOWING || role == Role.LEADING) {
            look();
        }
    }

    private long makePromise(long newEpoch) {
        long owed = lease.promise(newEpoch);
        promisedEpoch = newEpoch;
        if (!world.has(Flaw.PROMISE_NOT_DURABLE)) {
            storage.accept(newEpoch);
        }
        return owed;
    }

    private void elect() {
        if (role != Role.LOOKING) {
            return;
        }
        if (!votes(id)) {
            after(world.between(20 * MS, 100 * MS), this::elect); // until then it may have become a voter
            return;
        }
        role = Role.CANDIDATE;
        long newEpoch = world.newEpoch(promisedEpoch);
        long owed = makePromise(newEpoch);
        Office mine = new Office(world, this, newEpoch, history());
        candidacy = mine;
        promised(mine, id, statement(owed), history());
        if (world.has(Flaw.VOTE_WITHOUT_A_MAJORITY)) {
            world.nodes.forEach(other -> promised(mine, other.id, statement(0), new History(0, 0)));
            return;
        }
        for (Node other : world.nodes) {
            if (other != this && votes(other.id)) {
                world.send(this, other, () -> other.asked(mine));
            }
        }
        after(world.between(20 * MS, 100 * MS), () -> {
            if (candidacy == mine) {
                look();
            }
        });
    }

    private void asked(Office candidate) {
        if (role == Role.LOOKING && candidate.epoch > promisedEpoch) {
            byte[] statement = statement(makePromise(candidate.epoch));
            boolean isTrue = !world.has(Flaw.FALSE_KEY_WITH_A_PROMISE);
            History its = isTrue ? history() : new History(recordedEpoch, Indices.NONE);
            world.send(this, candidate.leader, () -> candidate.leader.promised(candidate, id, statement, its));
            world.faults.promised(this, candidate.leader);
        }
    }

    /** Those that bind this server, by its log and what it knows committed. */
    List<Quorum> memberships() {
        boolean forgotten = world.has(Flaw.MEMBERSHIP_FORGOTTEN_AT_RESTART) && committedMembership == 0
                && Entry.index(Entry.membershipOf(last)) <= recoveredMembership;
        return forgotten ? List.of(world.memberships.of(null)) : world.memberships.binding(last, committedMembership);
    }

    /** Those whose quorums elect this server. */
    List<Quorum> electorates() {
        List<Quorum> all = memberships();
        return world.has(Flaw.VOTE_BY_COMMITTED_MEMBERSHIP) ? all.subList(0, 1) : all;
    }

    private boolean votes(long server) {
        return memberships().stream().anyMatch(one -> one.votes(server));
    }

    void changeMembership() {
        if (office != null) {
            office.changeMembership();
        }
    }

    History history() {
        return new History(world.has(Flaw.VOTE_BY_LAST_ENTRY) ? 0 : recordedEpoch, Entry.index(last));
    }

    /** What goes with a promise, as it is on the wire. */
    private byte[] statement(long owed) {
        return new EpochAck(storage.needsFullState(), owed).appendTo(new byte[Integer.BYTES]);
    }

    private void promised(Office mine, long server, byte[] statement, History its) {
        if (candidacy != mine) {
            return;
        }
        if (!mine.candidacy.promised(server, its)) {
            look();
            return;
        }
        mine.leadership.promised(server, EpochAck.read(statement).owed);
        if (mine.candidacy.isElected(electorates())) {
            candidacy = null;
            lead(mine);
        }
    }

    private void lead(Office mine) {
        role = Role.LEADING;
        epoch = mine.epoch;
        led = epoch;
        mine.begin();
        office = begin(mine);
        mine.takeOffice();
    }

    /** As a wrong server does it. */
    private void lead() {
        if (role == Role.LOOKING) {
            lead(new Office(world, this, led, history()));
        }
    }

    void announced(Office other) {
        if (role != Role.LOOKING) {
            return;
        }
        if (promisedEpoch > other.epoch && !world.has(Flaw.PROMISE_NOT_ONE_WAY)) {
            world.send(this, other.leader, () -> {
                if (other.leader.office == other && world.chance(4)) {
                    other.leader.look(); // a server that is locked out needs a new epoch
                }
            });
            return;
        }
        if (promisedEpoch < other.epoch) {
            makePromise(other.epoch);
        }
        role = Role.JOINING;
        long mine = lease.connecting();
        attempt = mine;
        byte[] hello = Hello.ofLearner(world.mode, incarnation, mine).appendTo(new byte[Hello.LEARNER_INFO_LENGTH]);
        byte[] statement = statement(lease.owed());
        Runnable knock = () -> world.send(this, other.leader, () -> other.hello(this, hello, statement));
        long late = world.faults.unheardFor();
        if (late == 0) {
            knock.run();
        } else {
            world.later(late, knock);
        }
        after(world.between(20 * MS, 150 * MS), () -> {
            if (role == Role.JOINING && attempt == mine) {
                look();
            }
        });
    }

    // --- following

    /** The history of the leader, whole or from where both agree. */
    void synchronise(Office leader, byte[] welcome, Hello toWhom, Entry end, Entry committed, long membership,
            byte[] state) {
        // A connection ends with its process: the next one, whose attempts begin anew, gets nothing of it.
        if (role != Role.JOINING || toWhom.incarnation != incarnation || toWhom.attempt != attempt
                || promisedEpoch != leader.epoch && !world.has(Flaw.PROMISE_NOT_ONE_WAY)) {
            return;
        }
        Hello welcomed = Hello.read(welcome, Hello.LEADER_INFO_LENGTH);
        // Nothing is refused here (rule E7): wrong elections shall show in what clients read. Right ones never come to it.
        if (world.checks() && !welcomed.history.contains(lease.witness.durable())) {
            throw new InvariantViolation("LeaderHasWhatIsDurable",
                welcomed.history + ", durable " + Indices.format(lease.witness.durable()));
        }
        long newConnection = welcomed.connection;
        lease.connected(leader.epoch, newConnection);
        lease.synchronising();
        Entry common = Entry.commonPrefix(last, end);
        if (common != last) {
            world.count(Count.ROLLBACK);
        }
        if (state != null) {
            world.count(Count.FULL_STATE);
            storage.adopt(state, committed.index);
            inMemory(committed);
            synced = committed;
        } else if (common != last) {
            if (!storage.cut(Entry.index(common))) {
                look();
                return;
            }
            inMemory(common);
            synced = common;
        }
        appendUpTo(end);
        if (world.has(Flaw.EPOCH_BEFORE_LOG)) {
            storage.recordAlone(leader.epoch);
            recordedEpoch = leader.epoch;
        } else {
            recordEpoch(leader.epoch);
        }
        role = Role.FOLLOWING;
        epoch = leader.epoch;
        connection = newConnection;
        heardAt = now();
        following = begin(new Following(Entry.index(last)));
        following.link.synchronised(Entry.index(last), Entry.index(applied));
        append(leader, newConnection, end, committed, membership);
        world.faults.joined(this, leader.leader);
    }

    /** The log is durable before it. */
    void recordEpoch(long newEpoch) {
        if (world.has(Flaw.PROMISE_NOT_DURABLE)) {
            storage.accept(newEpoch); // an epoch that is recorded must have been accepted
        }
        storage.record(newEpoch);
        recordedEpoch = newEpoch;
        synced = last;
        world.synced();
    }

    private void appendUpTo(Entry end) {
        List<Entry> entries = new ArrayList<>();
        for (Entry at = end; at != last; at = at.previous) {
            entries.add(at);
        }
        for (int i = entries.size() - 1; i >= 0; i--) {
            storage.append(entries.get(i));
        }
        last = end;
    }

    private boolean follows(Office leader, long itsConnection) {
        return role == Role.FOLLOWING && epoch == leader.epoch && connection == itsConnection;
    }

    void append(Office leader, long itsConnection, Entry end, Entry committed, long membership) {
        if (!follows(leader, itsConnection)) {
            return;
        }
        if (world.memberships.isObserver(id)) {
            heardAt = now(); // it gets no heartbeats
        }
        if (Entry.length(end) > Entry.length(last)) {
            appendUpTo(end);
            following.link.appended(end.index);
            if (world.has(Flaw.UNSYNCED_COUNTS)) {
                following.link.persisted(end.index);
            }
        }
        committedMembership = Math.max(committedMembership, membership);
        Entry reached = last;
        world.send(this, leader.leader, () -> leader.acknowledged(itsConnection, reached));
        if (Entry.length(committed) > Entry.length(applied)) {
            Following mine = following;
            long delay = slowApply + (world.chance(4) ? world.between(0, 30 * MS) : 0);
            Runnable step = () -> {
                if (following == mine && Entry.length(committed) > Entry.length(applied)) {
                    apply(committed);
                    mine.link.applied(committed.index);
                }
            };
            if (delay == 0) {
                step.run();
            } else {
                after(delay, step);
            }
        }
    }

    void heartbeat(Office leader, Heartbeat heartbeat) {
        HeartbeatAnswer answer;
        try {
            if (follows(leader, heartbeat.connection())) {
                heardAt = now();
                answer = following.link.heartbeat(heartbeat);
                following.gate.poll(now());
            } else {
                answer = lease.heartbeat(heartbeat, Indices.NONE, Indices.NONE);
            }
        } catch (PeerLease.RefusedException e) {
            throw new AssertionError(e);
        }
        if (answer != null) {
            byte[] bytes = answer.encode();
            world.send(this, leader.leader, () -> leader.answered(HeartbeatAnswer.decode(bytes)));
        }
    }

    void durableAnnounced(long itsEpoch, long index) {
        if (following != null) {
            following.link.durableAnnounced(itsEpoch, index);
        }
    }

    void flushAsked(Office leader, long target) {
        if (following != null && epoch == leader.epoch) {
            following.link.flushAsked(target);
        }
    }

    void slowDown(long delay) {
        slowApply = delay;
    }

    /** One connection to one leader, around the real accounting and lease. */
    final class Following extends Serving implements FollowerCore.Actions {
        final Followership link;
        private final long mine = connection;

        Following(long barrier) {
            super(Node.this, world.cores, barrier);
            link = new Followership(world.cores.follower(epoch, 200 * MS, this), lease, machine);
        }

        @Override
        long durable() {
            return link.durable();
        }

        @Override
        void need(long target) {
            link.need(target);
        }

        @Override
        public void report(long itsPersisted, long itsVisible) {
            Office to = world.office(epoch);
            long itsEpoch = recordedEpoch;
            world.send(Node.this, to.leader, () -> to.reported(mine, itsEpoch, itsPersisted, itsVisible));
        }

        @Override
        public void flush(long target) {
            syncSoon();
        }

        @Override
        public void flushRequest(long index) {
            world.count(Count.FLUSH_REQUEST);
            Office to = world.office(epoch);
            world.send(Node.this, to.leader, () -> to.flushRequested(index));
        }

        @Override
        public void durable(long index) {
            release(index);
        }
    }

    // --- leases

    @Override
    public void markedOut(ReadLease.MarkOut why) {
        if (why == ReadLease.MarkOut.EXPIRED) {
            world.count(Count.EXPIRED_LEASE);
        }
    }

    @Override
    public void refused(String why) {
        throw new AssertionError(why);
    }

    @Override
    public void record(long nanos, Runnable done) {
        if (nanos > recordedPromise) {
            world.count(Count.LARGER_PROMISE);
        }
        after(world.between(MS / 2, 10 * MS), () -> {
            recordedPromise = nanos;
            done.run();
        });
    }

    // --- clients

    private boolean servesAnything() {
        return world.has(Flaw.EVENTUAL_ANY) || world.has(Flaw.IMMEDIATE_ANY);
    }

    boolean mayServe() {
        if (servesAnything() || world.has(Flaw.FOLLOWER_WITHOUT_A_LEASE) && following != null) {
            return serving() != null;
        }
        return office != null ? office.leadership.holds()
                : following != null && lease.mayRead();
    }

    void handle(Client.Op op) {
        if (serving() == null) {
            refuse(op);
        } else {
            serving().gate.submit(op, op.client(), op.kind == Kind.READ);
        }
    }

    /** Neither now nor later: its client tries another server. */
    void refuse(Client.Op op) {
        if (op.kind == Kind.READ) {
            world.count(Count.REFUSED_READ);
        }
        op.refused();
    }

    void execute(Client.Op op, Serving serving) {
        if (op.kind == Kind.READ) {
            maybePause(op, serving);
        } else if (office != null) {
            office.write(op);
        } else if (following != null) {
            Office to = world.office(epoch);
            world.send(this, to.leader, () -> to.write(op));
        }
    }

    private void maybePause(Client.Op op, Serving serving) {
        if (world.chance(300)) {
            pause(world.between(0, 400 * MS)); // between the check and the execution
            waiting.addFirst(() -> {
                if (serving() == serving) {
                    read(op, serving);
                }
            });
        } else {
            read(op, serving);
        }
    }

    private void read(Client.Op op, Serving serving) {
        world.count(office != null ? Count.LEADER_READ : Count.GRANTED_READ);
        long required = servesAnything() || world.has(Flaw.GATE_AT_ZERO) ? Indices.NONE
                : serving.index.required(op.path);
        DataNode node = storage.node(op.path);
        Facts facts = node == null ? Facts.absent(null)
                : Facts.present(Storage.value(node), Client.indexOf(node.stat.getMzxid()), node.stat.getVersion(),
                        Client.indexOf(node.stat.getCzxid()));
        if (world.watches) {
            serving.watch(op.watch());
        }
        Entry shown = Entry.of(applied, op.path);
        if (serving.reply(op.client(), required, () -> {
            world.shown(this, serving, shown);
            op.read(facts);
        }, now())) {
            world.count(Count.HELD_REPLY);
        }
    }

    void close() {
        disk.enter();
        if (storage != null) {
            storage.close();
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.lease;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.core.LeaderCore;
import io.cad.zookeeper.core.Quorum;
import io.cad.zookeeper.lease.Recorder.Version;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;

/**
 * A few seconds in the life of three to five servers and their clients around the real leases and the leader's real
 * accounting, driven by one seed: clocks that drift as far as they may, messages that are late, lost, doubled or
 * overtaken, partitions in one or both directions, paused processes, suspended machines, restarts with and without loss
 * of what was not synced, and elections among all that. The log is abstract: a list in memory, of which a part is on
 * the disk.
 *
 * <p>Clients read at every server and record what they get. Time is in nanoseconds of a true clock that nobody has.
 */
final class LeaseSimulation implements Runnable {
    /** What makes a batch of runs worth something; each has to happen. */
    enum Count {
        ELECTION, GRANTED_READ, LEADER_READ, REFUSED_READ, HELD_REPLY, ADMISSION, REMOVAL_LEFT, REMOVAL_SILENT,
        REMOVAL_RECONNECTED, EXPIRED_LEASE, SUSPENSION, RESTART, POWER_LOSS, PROMISE_WAIT, STALE_HELLO, LARGER_PROMISE
    }

    private static final long MS = 1_000_000;
    private static final int ITEMS = 8;

    private enum Role { LOOKING, CANDIDATE, JOINING, FOLLOWING, LEADING }

    private record Event(long time, long order, Runnable action) implements Comparable<Event> {
        @Override
        public int compareTo(Event other) {
            return time != other.time ? Long.compare(time, other.time) : Long.compare(order, other.order);
        }
    }

    private final Random random;
    private final Leases leases;
    private final boolean checksInvariants;
    private final Map<Count, Integer> counts = new EnumMap<>(Count.class);
    private final PriorityQueue<Event> events = new PriorityQueue<>();
    private final List<Server> servers = new ArrayList<>();
    private final Map<Long, Office> offices = new TreeMap<>();
    private final Recorder recorder = new Recorder(ITEMS);
    private final Quorum quorum;
    private final boolean[][] cut;
    private final long[][] slow;
    private long time;
    private long order;
    private long epochs;
    private final long pace;
    private final long end;

    /**
     * @param checksInvariants compare the leases with what is true of all servers, after each event; otherwise only
     *     what clients recorded counts
     */
    LeaseSimulation(Random random, Leases leases, boolean checksInvariants) {
        this.random = new Random(random.nextLong()); // neighbouring seeds begin alike
        this.leases = leases;
        this.checksInvariants = checksInvariants;
        int size = 3 + 2 * random.nextInt(2);
        cut = new boolean[size][size];
        slow = new long[size][size];
        quorum = new Quorum() {
            @Override
            public boolean votes(long server) {
                return server < size;
            }

            @Override
            public boolean containsQuorum(Set<Long> some) {
                return some.size() > size / 2;
            }
        };
        pace = random.nextBoolean() ? 300 * MS : 1_500 * MS;
        boolean unequal = random.nextInt(3) == 0;
        end = unequal ? 10_000 * MS : 6_000 * MS;
        for (int id = 0; id < size; id++) {
            long leaderLease = unequal && random.nextBoolean() ? 2_500 * MS : 300 * MS;
            servers.add(new Server(id, LeaseSettings.derived(50 * MS, 150 * MS, leaderLease, 100_000)));
        }
    }

    Map<Count, Integer> counts() {
        return counts;
    }

    @Override
    public void run() {
        servers.forEach(Server::start);
        later(0, this::client);
        later(0, this::fault);
        while (time < end) {
            Event event = events.remove();
            time = event.time;
            event.action.run();
            if (checksInvariants) {
                check();
            }
        }
    }

    private void later(long delay, Runnable action) {
        events.add(new Event(time + delay, order++, action));
    }

    private void count(Count what) {
        counts.merge(what, 1, Integer::sum);
    }

    private long between(long low, long high) {
        return low + (long) (random.nextDouble() * (high - low));
    }

    private boolean chance(int oneIn) {
        return random.nextInt(oneIn) == 0;
    }

    /** Delayed, and perhaps lost or doubled. Each copy travels alone, so messages overtake one another. */
    private void send(Server from, Server to, Runnable receipt) {
        if (cut[from.id][to.id] || chance(50)) {
            return;
        }
        for (int copies = chance(30) ? 2 : 1; copies > 0; copies--) {
            long delay = between(MS / 10, 2 * MS) + slow[from.id][to.id];
            later(chance(40) ? delay + between(0, 300 * MS) : delay, () -> to.receive(receipt));
        }
    }

    // --- clients and faults

    private void client() {
        later(between(MS / 2, 3 * MS), this::client);
        Server server = servers.get(random.nextInt(servers.size()));
        if (chance(8)) {
            server.receive(server::write);
        } else {
            Recorder.Read read = recorder.begin(random.nextInt(ITEMS));
            server.receive(() -> server.read(read));
        }
    }

    private void fault() {
        later(between(20 * MS, pace), this::fault);
        Server server = servers.get(random.nextInt(servers.size()));
        Server leader = servers.stream().filter(one -> one.role == Role.LEADING).findFirst().orElse(server);
        Server victim = chance(3) ? leader : server;
        switch (random.nextInt(14)) {
            case 0 -> victim.pause(between(5 * MS, 700 * MS));
            case 1 -> victim.suspend(between(MS, chance(2) ? 200 * MS : 2_500 * MS));
            case 2 -> victim.restart(random.nextBoolean());
            case 3, 4 -> isolate(victim, random.nextInt(3));
            case 5, 8 -> victim.receive(victim::breakOff);
            case 9, 10 -> restartOthers(leader);
            case 6 -> server.changeRate();
            case 7 -> slowDown(victim, servers.get(random.nextInt(servers.size())));
            default -> server.slowApply = chance(3) ? 0 : between(50 * MS, 400 * MS);
        }
    }

    /** All but one lose their processes at once, and that one loses the others. */
    private void restartOthers(Server survivor) {
        isolate(survivor, random.nextInt(2));
        for (Server server : servers) {
            if (server != survivor) {
                server.restart(random.nextBoolean());
            }
        }
    }

    /** 0: in both directions; 1: nothing goes out; 2: nothing comes in. */
    private void isolate(Server victim, int direction) {
        setCut(victim, direction, true);
        later(between(30 * MS, 2_500 * MS), () -> setCut(victim, direction, false));
    }

    private void setCut(Server victim, int direction, boolean value) {
        for (Server other : servers) {
            if (other != victim) {
                cut[victim.id][other.id] = direction == 2 ? cut[victim.id][other.id] : value;
                cut[other.id][victim.id] = direction == 1 ? cut[other.id][victim.id] : value;
            }
        }
    }

    private void slowDown(Server from, Server to) {
        slow[from.id][to.id] = between(10 * MS, 250 * MS);
        later(between(100 * MS, 800 * MS), () -> slow[from.id][to.id] = 0);
    }

    // --- what must hold

    private void check() {
        long serving = -1;
        for (Server server : servers) {
            if (!server.up) {
                continue;
            }
            if (server.role == Role.LEADING && server.office.lease.holds(server.now(), server.wall())) {
                serving = serves(serving, server.office.epoch, server);
            }
            if (server.role == Role.FOLLOWING && server.readLease.holds(server.now(), server.wall())) {
                serving = serves(serving, server.epoch, server);
                require(offices.get(server.epoch).set.isMember(server.connection),
                        "LeaseImpliesMember: server " + server.id + " on connection " + server.connection);
            } else {
                require(server.role == Role.FOLLOWING || !server.readLease.holds(server.now(), server.wall()),
                        "LeaseImpliesMember: server " + server.id + " holds a lease as " + server.role);
            }
        }
    }

    private long serves(long serving, long epoch, Server server) {
        require(serving == -1 || serving == epoch,
                "AtMostOneServingEpoch: " + serving + " and, at server " + server.id + ", " + epoch);
        return epoch;
    }

    private void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise + " (at " + time / MS + " ms)");
        }
    }

    /** One server as leader of one epoch. It is kept when the office is over, to compare with. */
    private final class Office
            implements LeaderCore.Actions, LeaderLease.Actions, ActiveSet.Actions, ActiveSet.History {
        final Server leader;
        final long epoch;
        final List<Version> log;
        final LeaderLease lease;
        final ActiveSet set;
        final LeaderCore core;
        final Map<Long, Server> links = new TreeMap<>();
        final int historyEnd;
        long connections;
        long counter;
        boolean ownPart;
        long lostSince;

        Office(Server leader, long epoch) {
            this.leader = leader;
            this.epoch = epoch;
            this.log = leader.log;
            this.historyEnd = log.size();
            lease = leases.leaderLease(epoch, leader.id, leader.settings, leader.promise, leases.stuckLeader(end),
                    leader.now(), leader.wall(), this);
            int max = chance(4) ? 2 : Integer.MAX_VALUE;
            ActiveSetRules rules = new ActiveSetRules(max, List.of(), 100 * MS, 200 * MS);
            set = leases.activeSet(epoch, leader.settings, rules, lease, leader.promise, this, this);
            set.configurations(List.of(quorum));
            core = new LeaderCore(epoch, leader.id, 200 * MS, this);
            core.configurations(List.of(quorum));
            core.activeSet(set::applied);
        }

        void takeOffice() {
            count(Count.ELECTION);
            offices.put(epoch, this);
            lostSince = leader.now();
            leader.applied = log.size();
            beat();
        }

        void beat() {
            if (leader.office != this) {
                return;
            }
            leader.after(leader.settings.heartbeat(), this::beat);
            tick();
            long number = lease.beat(leader.now(), leader.wall());
            boolean serves = lease.holds(leader.now(), leader.wall());
            lostSince = serves ? leader.now() : lostSince;
            if (leader.now() - lostSince > leader.patience) {
                leader.look();
                return;
            }
            if (number != LeaderLease.NONE) {
                links.forEach((connection, follower) -> sendHeartbeat(connection, follower, number));
            }
            for (Server other : servers) {
                if (other != leader) {
                    send(leader, other, () -> other.announced(this));
                }
            }
        }

        private void sendHeartbeat(long connection, Server follower, long number) {
            Heartbeat heartbeat = set.heartbeat(connection, number, leader.now(), leader.wall());
            if (heartbeat != null) {
                byte[] bytes = heartbeat.encode();
                send(leader, follower, () -> follower.heartbeat(this, Heartbeat.decode(bytes)));
            }
            replicate(connection, follower);
        }

        void replicate(long connection, Server follower) {
            int length = log.size();
            send(leader, follower, () -> follower.append(this, connection, length));
        }

        void tick() {
            long now = leader.now();
            if (!ownPart && lease.isWaitOver(now)) {
                ownPart = true;
                core.established(now);
            } else if (!ownPart) {
                count(Count.PROMISE_WAIT);
            }
            set.tick(now, leader.wall());
            core.tick(now);
            if (core.isEstablished()) {
                lease.established(now);
            }
        }

        void hello(Server server, long incarnation, long attempt) {
            long connection = epoch * 1_000 + connections++;
            if (!set.connected(connection, server.id, incarnation, attempt, leader.now())) {
                count(Count.STALE_HELLO);
                return;
            }
            links.values().removeIf(other -> other == server);
            links.put(connection, server);
            core.memberConnected(connection, server.id);
            core.tick(leader.now());
            int length = log.size();
            send(leader, server, () -> server.synchronise(this, connection, length, attempt));
        }

        void lost(long connection) {
            links.remove(connection);
            set.lost(connection, leader.now());
            core.memberLost(connection);
        }

        void reported(long connection, long recordedEpoch, long persisted, long applied) {
            if (leader.office == this) {
                set.reported(connection, applied, leader.now());
                core.report(connection, recordedEpoch, persisted, applied, leader.now());
                tick();
            }
        }

        void answered(HeartbeatAnswer answer) {
            if (leader.office == this && set.answered(answer, leader.now(), leader.wall())) {
                core.report(answer.connection(), answer.epoch(), answer.persisted(), answer.applied(), leader.now());
            }
            if (leader.office == this) {
                tick();
            }
        }

        void write(int item) {
            Version previous = Server.latest(log, item, log.size());
            Version version = new Version(Indices.of(epoch, ++counter), item, previous);
            log.add(version);
            leader.applied = log.size();
            core.appended(version.index, leader.now());
            core.applied(version.index, leader.now());
            links.forEach(this::replicate);
        }

        @Override
        public void durable(long index) {
            leader.durable(index);
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
        public void flush(long target) {
        }

        @Override
        public void flushRoundEnded(long target, boolean reached) {
        }

        @Override
        public void stepDown(StuckLeader.Work stuck) {
            throw new AssertionError("nothing is stuck here");
        }

        @Override
        public void admitted(long server, long connection) {
            count(Count.ADMISSION);
        }

        @Override
        public void removed(long server, long connection, ActiveSet.Removal why) {
            switch (why) {
                case LEFT -> count(Count.REMOVAL_LEFT);
                case SILENT -> count(Count.REMOVAL_SILENT);
                case RECONNECTED -> count(Count.REMOVAL_RECONNECTED);
                default -> { }
            }
        }

        @Override
        public void toldToLeave(long server, long connection, ActiveSet.Reason why) {
        }
    }

    private final class Server implements Promise.Actions, ReadLease.Actions {
        private record Held(Recorder.Read read, Version version) {
        }

        final int id;
        final LeaseSettings settings;

        // The machine: its clocks run at a rate between 0.9 and 1.1, the monotonic one stops when it is suspended.
        private double rate = 1;
        private double monotonic;
        private double wallAhead = 1e15;
        private long since;
        private boolean suspended;
        private int pauses;
        private final Deque<Runnable> waiting = new ArrayDeque<>();

        // The disk.
        long promisedEpoch;
        long recordedEpoch;
        long recordedPromise;
        long incarnation;
        int persisted;
        List<Version> log = new ArrayList<>();

        // The process.
        boolean up;
        int life;
        Promise promise;
        ReadLease readLease;
        Role role = Role.LOOKING;
        long epoch;
        long connection;
        long attempt;
        int applied;
        int historyEnd;
        long durable = Indices.NONE;
        long heardAt;
        long patience;
        long slowApply;
        Office office;
        Office candidacy;
        final List<Held> held = new ArrayList<>();

        Server(int id, LeaseSettings settings) {
            this.id = id;
            this.settings = settings;
            this.recordedPromise = LeaseSettings.lan().promise();
        }

        // --- machine and process

        private double elapsed() {
            return (time - since) * rate;
        }

        long now() {
            return (long) (suspended ? monotonic : monotonic + elapsed());
        }

        long wall() {
            return (long) (wallAhead + monotonic + elapsed());
        }

        private void settleClock() {
            if (suspended) {
                wallAhead += elapsed();
            } else {
                monotonic += elapsed();
            }
            since = time;
        }

        void changeRate() {
            settleClock();
            rate = chance(3) ? 0.9 + 0.2 * random.nextDouble() : random.nextBoolean() ? 0.9001 : 1.0999;
        }

        void start() {
            settleClock();
            up = true;
            life++;
            incarnation++;
            monotonic = between(0, 1_000_000 * MS);
            changeRate();
            promise = leases.promise(settings, promisedEpoch, recordedPromise, now(), this);
            readLease = leases.readLease(incarnation, settings, promise, now(), wall(), this);
            attempt = 0;
            applied = 0;
            durable = Indices.NONE;
            slowApply = 0;
            patience = between(600 * MS, 4_000 * MS);
            role = Role.LOOKING;
            office = null;
            candidacy = null;
            held.clear();
            after(between(0, 10 * MS), this::tick);
            after(between(5 * MS, 60 * MS), this::disk);
            after(between(2 * MS, 120 * MS), this::elect);
        }

        void restart(boolean losesPower) {
            if (!up) {
                return;
            }
            count(losesPower ? Count.POWER_LOSS : Count.RESTART);
            up = false;
            held.clear();
            waiting.clear();
            log = new ArrayList<>(losesPower ? log.subList(0, persisted) : log);
            office = null;
            later(between(MS, 60 * MS), this::start);
        }

        void pause(long duration) {
            pauses++;
            later(duration, this::resume);
        }

        void suspend(long duration) {
            if (!suspended) {
                count(Count.SUSPENSION);
                settleClock();
                suspended = true;
                pauses++;
                later(duration, () -> {
                    settleClock();
                    suspended = false;
                    resume();
                });
            }
        }

        private void resume() {
            pauses--;
            while (pauses == 0 && !waiting.isEmpty()) {
                waiting.remove().run();
            }
        }

        /** Runs now, or when the process runs again; never if it is not there. */
        void receive(Runnable action) {
            if (up && pauses > 0) {
                waiting.add(action);
            } else if (up) {
                action.run();
            }
        }

        /** In this process, after so long by its clock. */
        void after(long delay, Runnable action) {
            int mine = life;
            later((long) (delay / rate), () -> {
                if (life == mine) {
                    receive(() -> {
                        if (life == mine) {
                            action.run();
                        }
                    });
                }
            });
        }

        // --- log

        static Version latest(List<Version> log, int item, int length) {
            for (int i = length - 1; i >= 0; i--) {
                if (log.get(i).item == item) {
                    return log.get(i);
                }
            }
            return null;
        }

        private long lastIndex(int length) {
            return length == 0 ? Indices.NONE : log.get(length - 1).index;
        }

        private long counting(int length, int whole) {
            return length >= whole ? Math.max(lastIndex(length), Indices.first(recordedEpoch)) : lastIndex(length);
        }

        private void disk() {
            after(between(2 * MS, 40 * MS), this::disk);
            int length = log.size();
            List<Version> synced = log;
            after(between(MS / 2, 8 * MS), () -> {
                if (log == synced) {
                    persisted = Math.max(persisted, length);
                    if (office != null) {
                        office.core.persisted(counting(persisted, office.historyEnd), now());
                    }
                    report();
                }
            });
        }

        // --- elections

        void look() {
            if (office != null) {
                office.lease.end();
                log = new ArrayList<>(log);
            }
            if (role == Role.FOLLOWING && chance(2)) {
                Office to = offices.get(epoch);
                long mine = connection;
                send(this, to.leader, () -> to.lost(mine));
            }
            office = null;
            candidacy = null;
            held.clear();
            durable = Indices.NONE;
            role = Role.LOOKING;
            readLease.disconnected();
            after(between(2 * MS, 120 * MS), this::elect);
        }

        void breakOff() {
            if (role == Role.FOLLOWING || role == Role.LEADING) {
                look();
            }
        }

        private long makePromise(long newEpoch) {
            long owed = readLease.promise(newEpoch, now());
            promisedEpoch = newEpoch;
            return owed;
        }

        private void elect() {
            if (role != Role.LOOKING) {
                return;
            }
            role = Role.CANDIDATE;
            epochs = Math.max(epochs, promisedEpoch) + 1;
            long owed = makePromise(epochs);
            Office mine = new Office(this, epochs);
            candidacy = mine;
            mine.lease.promised(id, owed, now());
            for (Server other : servers) {
                if (other != this) {
                    send(this, other, () -> other.asked(mine));
                }
            }
            after(between(20 * MS, 100 * MS), () -> {
                if (candidacy == mine) {
                    look();
                }
            });
        }

        private void asked(Office candidate) {
            if (role == Role.LOOKING && candidate.epoch > promisedEpoch) {
                long owed = makePromise(candidate.epoch);
                long itsEpoch = recordedEpoch;
                long itsLast = lastIndex(log.size());
                send(this, candidate.leader, () -> candidate.leader.promised(candidate, id, owed, itsEpoch, itsLast));
            }
        }

        private void promised(Office mine, long server, long owed, long itsEpoch, long itsLast) {
            if (candidacy != mine) {
                return;
            }
            long last = lastIndex(log.size());
            if (itsEpoch > recordedEpoch || itsEpoch == recordedEpoch && itsLast > last) {
                look();
                return;
            }
            mine.lease.promised(server, owed, now());
            if (mine.lease.hasQuorum()) {
                mine.lease.elected();
                candidacy = null;
                office = mine;
                role = Role.LEADING;
                persisted = log.size();
                recordedEpoch = mine.epoch;
                mine.takeOffice();
            }
        }

        private void announced(Office other) {
            if (role == Role.LOOKING && promisedEpoch > other.epoch) {
                send(this, other.leader, () -> {
                    if (other.leader.office == other && chance(4)) {
                        other.leader.look(); // a server that is locked out needs a new epoch
                    }
                });
            } else if (role == Role.LOOKING) {
                if (promisedEpoch < other.epoch) {
                    makePromise(other.epoch);
                }
                role = Role.JOINING;
                readLease.disconnected();
                long mine = ++attempt;
                long process = incarnation;
                send(this, other.leader, () -> {
                    if (other.leader.office == other) {
                        other.hello(this, process, mine);
                    }
                });
                after(between(10 * MS, 120 * MS), () -> {
                    if (role == Role.JOINING && attempt == mine) {
                        look();
                    }
                });
            }
        }

        private void synchronise(Office leader, long newConnection, int length, long itsAttempt) {
            if (role != Role.JOINING || itsAttempt != attempt || promisedEpoch != leader.epoch) {
                return;
            }
            readLease.connected(leader.epoch, newConnection);
            readLease.synchronising();
            role = Role.FOLLOWING;
            epoch = leader.epoch;
            connection = newConnection;
            log = new ArrayList<>(leader.log.subList(0, length));
            persisted = length;
            recordedEpoch = epoch;
            applied = length;
            historyEnd = length;
            durable = Indices.NONE;
            heardAt = now();
            report();
        }

        // --- following

        private void report() {
            if (role == Role.FOLLOWING) {
                Office to = offices.get(epoch);
                long mine = connection;
                long itsEpoch = recordedEpoch;
                long itsPersisted = counting(persisted, historyEnd);
                long itsApplied = counting(applied, historyEnd);
                send(this, to.leader, () -> to.reported(mine, itsEpoch, itsPersisted, itsApplied));
            }
        }

        private boolean follows(Office leader, long itsConnection) {
            return role == Role.FOLLOWING && epoch == leader.epoch && connection == itsConnection;
        }

        private void append(Office leader, long itsConnection, int length) {
            if (follows(leader, itsConnection) && length > log.size()) {
                log.addAll(leader.log.subList(log.size(), length));
                long delay = slowApply + (chance(4) ? between(0, 30 * MS) : 0);
                List<Version> mine = log;
                after(delay, () -> applied = log == mine ? Math.max(applied, length) : applied);
            }
        }

        private void heartbeat(Office leader, Heartbeat heartbeat) {
            if (follows(leader, heartbeat.connection())) {
                heardAt = now();
                durable(heartbeat.durable());
            }
            readLease.heartbeat(heartbeat, now(), wall());
        }

        @Override
        public void answer(Heartbeat heartbeat, Ticket ticket, long left) {
            boolean joined = role == Role.FOLLOWING && recordedEpoch == heartbeat.epoch();
            byte[] bytes = new HeartbeatAnswer(heartbeat.epoch(), heartbeat.connection(), heartbeat.number(), ticket,
                    joined ? counting(persisted, historyEnd) : Indices.NONE,
                    joined ? counting(applied, historyEnd) : Indices.NONE, left, HeartbeatAnswer.ROLE_FULL,
                    incarnation).encode();
            Office to = offices.get(heartbeat.epoch());
            send(this, to.leader, () -> to.answered(HeartbeatAnswer.decode(bytes)));
        }

        @Override
        public void markedOut(ReadLease.MarkOut why) {
            if (why == ReadLease.MarkOut.EXPIRED) {
                count(Count.EXPIRED_LEASE);
            }
        }

        @Override
        public void refuse(String why) {
            throw new AssertionError(why);
        }

        @Override
        public void record(long nanos) {
            if (nanos > recordedPromise) {
                count(Count.LARGER_PROMISE);
            }
            after(between(MS / 2, 10 * MS), () -> {
                recordedPromise = nanos;
                promise.recorded(nanos);
            });
        }

        private void tick() {
            after(between(5 * MS, 20 * MS), this::tick);
            readLease.check(now(), wall());
            if (office != null) {
                office.tick();
            }
            if (role == Role.FOLLOWING && now() - heardAt > patience / 4) {
                look();
            }
        }

        // --- clients

        private void write() {
            if (role == Role.LEADING) {
                office.write(random.nextInt(ITEMS));
            }
        }

        private boolean mayServe() {
            return role == Role.LEADING ? office.lease.holds(now(), wall())
                    : role == Role.FOLLOWING && readLease.holds(now(), wall());
        }

        private void read(Recorder.Read read) {
            if (!mayServe()) {
                count(Count.REFUSED_READ);
            } else if (chance(300)) {
                Office before = office;
                long registration = connection;
                int mine = life;
                pause(between(0, 400 * MS)); // between the check and the execution
                waiting.addFirst(() -> {
                    if (life == mine && office == before && connection == registration) {
                        execute(read);
                    }
                });
            } else {
                execute(read);
            }
        }

        private void execute(Recorder.Read read) {
            count(role == Role.LEADING ? Count.LEADER_READ : Count.GRANTED_READ);
            Version version = latest(log, read.item, applied);
            if (version == null || version.index <= durable) {
                complete(read, version);
            } else {
                count(Count.HELD_REPLY);
                held.add(new Held(read, version));
            }
        }

        private void complete(Recorder.Read read, Version version) {
            recorder.complete(read, version, "server " + id + ", " + time / MS + " ms");
        }

        private void durable(long index) {
            if (index > durable) {
                durable = index;
                held.removeIf(one -> {
                    boolean leaves = one.version.index <= index;
                    if (leaves) {
                        complete(one.read, one.version);
                    }
                    return leaves;
                });
            }
        }
    }
}

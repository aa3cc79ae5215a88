// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import io.cad.zookeeper.index.DirtyIndex;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

/**
 * One epoch of a small ensemble around the real cores, driven by a seeded random: servers lose what was not synced and
 * come back, connections are replaced while messages of the old one still arrive, memberships change, clocks run,
 * clients read everywhere. After each event the cores are compared with what is true of the disks, not with what
 * anybody has reported.
 *
 * <p>Server 1 leads; the last server is an observer.
 */
final class Cluster implements LeaderCore.Actions {
    private static final long EPOCH = 7;
    private static final long START = Indices.first(EPOCH);
    private static final long HISTORY = Indices.of(EPOCH - 1, 40);
    private static final long LEADER = 1;
    private static final long TIMEOUT = 100;

    private final Random random;
    private final Cores cores;
    private final LeaderCore leader;
    private final List<Follower> followers = new ArrayList<>();
    /** Messages to the leader; each waits in the queue of its connection, also when that is over. */
    private final Map<Long, Deque<Runnable>> toLeader = new HashMap<>();
    private List<Quorum> configurations;

    private long now;
    private long connections = 100;
    private long proposed = START;
    private final Disk leaderDisk = new Disk();
    private final Readers readers;
    private long leaderApplied = Indices.NONE;
    private boolean ownPart;

    private long durable = Indices.NONE;
    private long needed = Indices.NONE;
    private long round = Indices.NONE;
    private long roundSince;

    /** What is true of the log of one server. In memory up to appended, on the disk up to persisted. */
    private static final class Disk {
        long appended = HISTORY;
        long persisted = Indices.NONE;
        long syncing = Indices.NONE;
        boolean epochRecorded;

        /** What counts in this epoch: nothing before the epoch is recorded. */
        long counting() {
            return epochRecorded ? Math.max(persisted, START) : Indices.NONE;
        }

        void losePower() {
            appended = persisted;
            syncing = Indices.NONE;
        }
    }

    /** A server's readers: the values that its state shows, what they require, and the replies that wait. */
    private final class Readers {
        private static final int ITEMS = 6;

        private final DirtyIndex dirty;
        private final ReplyQueue<String> replies = cores.replies();
        private final long[] shown = new long[ITEMS];
        private final Deque<Long> exposed = new ArrayDeque<>();
        private int next;
        private int sent;

        /** The state after a synchronisation up to {@code end}, whose entries are not listed. */
        Readers(long end) {
            dirty = cores.dirty(1 + random.nextInt(ITEMS), end);
            Arrays.fill(shown, HISTORY);
            for (long index = START + 1; index <= end; index++) {
                shown[item(index)] = index;
            }
        }

        private int item(long index) {
            return (int) (Indices.counter(index) % ITEMS);
        }

        void apply(long index) {
            dirty.touch("/" + item(index), index);
            shown[item(index)] = index;
        }

        /** Returns what has to become durable for the reply, {@link Indices#NONE} if it left at once. */
        long read(long durable) {
            int item = random.nextInt(ITEMS);
            boolean all = random.nextInt(8) == 0;
            long required = all ? dirty.requiredUnder("/") : dirty.required("/" + item);
            exposed.add(all ? Arrays.stream(shown).max().getAsLong() : shown[item]);
            String reply = Integer.toString(next++);
            if (replies.passes(required, durable)) {
                send(reply);
                return Indices.NONE;
            }
            replies.hold(reply, required, 1, now);
            return replies.maxRequired();
        }

        void durable(long index) {
            dirty.durable(index);
            for (String reply = replies.pollReady(index); reply != null; reply = replies.pollReady(index)) {
                send(reply);
            }
        }

        private void send(String reply) {
            require(reply.equals(Integer.toString(sent++)), "replies leave in another order");
            require(exposed.remove() <= durable, "a reply shows what is not durable");
        }

    }

    private final class Follower implements FollowerCore.Actions {
        final long server;
        final Disk disk = new Disk();
        final Deque<Runnable> fromLeader = new ArrayDeque<>();
        /** Announcements of D that travel beside the log: they may arrive in any order. */
        final List<Runnable> beside = new ArrayList<>();
        FollowerCore core;
        Readers readers;
        long connection;
        boolean synchronised;
        long historyEnd;
        long applied = Indices.NONE;
        long believed = Indices.NONE;
        long requested = Indices.NONE;
        long requestedAt;

        Follower(long server) {
            this.server = server;
        }

        void connect() {
            disconnect();
            connection = connections++;
            toLeader.put(connection, new ArrayDeque<>());
            leader.memberConnected(connection, server);
            core = cores.follower(EPOCH, TIMEOUT, this);
            synchronised = false;
            believed = Indices.NONE;
            requested = Indices.NONE;
            disk.appended = Math.max(disk.appended, proposed > START ? proposed : HISTORY);
            historyEnd = disk.appended;
            applied = Indices.NONE;
        }

        void disconnect() {
            core = null;
            fromLeader.clear();
            beside.clear();
        }

        /** The whole log is synced, then the epoch is recorded, then this server belongs to it. */
        void synchronise() {
            disk.persisted = disk.appended;
            disk.syncing = Indices.NONE;
            disk.epochRecorded = true;
            historyEnd = disk.persisted;
            applied = random.nextBoolean() ? historyEnd : HISTORY - 5;
            synchronised = true;
            readers = new Readers(historyEnd);
            core.synchronised(disk.persisted, applied, now);
        }

        void append(long index) {
            if (index > disk.appended) {
                disk.appended = index;
                core.appended(index, now);
            }
        }

        void finishSync() {
            if (disk.syncing > disk.persisted) {
                disk.persisted = disk.syncing;
                core.persisted(disk.persisted, now);
            }
            disk.syncing = Indices.NONE;
        }

        @Override
        public void report(long persisted, long applied) {
            require(synchronised, "reports before the epoch is recorded");
            require(persisted <= disk.counting(), "reports more than is on the disk");
            boolean all = this.applied >= historyEnd;
            require(applied <= (all ? Math.max(this.applied, START) : this.applied), "reports more than is applied");
            long from = connection;
            toLeader.get(from).add(() -> leader.report(from, EPOCH, persisted, applied, now));
        }

        @Override
        public void flush(long target) {
            require(target <= disk.appended, "syncs what is not there");
            disk.syncing = disk.appended;
        }

        @Override
        public void flushRequest(long index) {
            require(requested <= believed || now - requestedAt >= TIMEOUT, "two requests in flight");
            requested = index;
            requestedAt = now;
            toLeader.get(connection).add(() -> need(index));
        }

        @Override
        public void durable(long index) {
            require(synchronised, "believes the leader before it is synchronised");
            require(index > believed, "its durable index falls");
            require(index <= Cluster.this.durable, "believes more than the leader said");
            believed = index;
            readers.durable(index);
        }
    }

    Cluster(Random random, Cores cores) {
        this.random = random;
        this.cores = cores;
        int servers = 3 + random.nextInt(3);
        for (long server = 2; server <= servers + 1; server++) {
            followers.add(new Follower(server));
        }
        leader = cores.leader(EPOCH, LEADER, TIMEOUT, this);
        configurations = randomConfigurations(1);
        leader.configurations(configurations);
        readers = new Readers(HISTORY);
        leaderDisk.persisted = HISTORY;
        leaderDisk.epochRecorded = true;
    }

    /** A random life, then quiet: everybody connects, all disks work, and everything must become durable. */
    void run(int steps) {
        for (int i = 0; i < steps; i++) {
            step();
            check();
        }
        heal();
    }

    private void step() {
        now += random.nextInt(5);
        Follower follower = followers.get(random.nextInt(followers.size()));
        switch (random.nextInt(20)) {
            case 0, 1 -> propose();
            case 2 -> leaderAppends();
            case 3 -> leaderSyncs();
            case 4 -> leaderApplies();
            case 5, 6 -> connectOrSynchronise(follower);
            case 7 -> {
                if (random.nextInt(4) == 0) {
                    losePower(follower);
                }
            }
            case 8, 9 -> deliver(follower.fromLeader);
            case 10, 11 -> deliverToLeader();
            case 12 -> followerDisk(follower);
            case 13 -> followerApplies(follower);
            case 14 -> someoneNeeds(follower);
            case 15 -> leaderShell(follower);
            case 16 -> forgedReport(follower);
            case 17, 18 -> read(follower);
            default -> tick(follower);
        }
    }

    private void propose() {
        proposed++;
        long index = proposed;
        for (Follower follower : followers) {
            if (follower.core != null) {
                follower.fromLeader.add(() -> follower.append(index));
            }
        }
    }

    private void leaderAppends() {
        if (leaderDisk.appended < proposed) {
            leaderDisk.appended = Math.max(leaderDisk.appended, START) + 1;
            leader.appended(leaderDisk.appended, now);
        }
    }

    private void leaderSyncs() {
        if (leaderDisk.syncing == Indices.NONE) {
            leaderDisk.syncing = leaderDisk.appended;
        } else {
            leaderDisk.persisted = Math.max(leaderDisk.persisted, leaderDisk.syncing);
            leaderDisk.syncing = Indices.NONE;
            if (leaderDisk.persisted > START) {
                leader.persisted(leaderDisk.persisted, now);
            }
        }
    }

    private void leaderApplies() {
        if (!ownPart && random.nextInt(3) == 0) {
            ownPart = true;
            leaderApplied = Math.max(leaderApplied, START);
            leader.established(now);
        } else if (proposed > Math.max(leaderApplied, START)) {
            leaderApplied = Math.max(leaderApplied, START) + 1;
            readers.apply(leaderApplied);
            leader.applied(leaderApplied, now);
        }
    }

    private void connectOrSynchronise(Follower follower) {
        if (follower.core == null || random.nextInt(10) == 0) {
            follower.connect();
        } else if (!follower.synchronised) {
            follower.synchronise();
        }
    }

    private void losePower(Follower follower) {
        follower.disk.losePower();
        follower.disconnect();
    }

    private void deliver(Deque<Runnable> messages) {
        Runnable message = messages.poll();
        if (message != null) {
            message.run();
        }
    }

    private void deliverToLeader() {
        List<Long> all = new ArrayList<>(toLeader.keySet());
        if (!all.isEmpty()) {
            long connection = all.get(random.nextInt(all.size()));
            deliver(toLeader.get(connection));
            boolean over = followers.stream().noneMatch(f -> f.core != null && f.connection == connection);
            if (over && random.nextInt(3) == 0) {
                toLeader.remove(connection);
                leader.memberLost(connection);
            }
        }
    }

    private void followerDisk(Follower follower) {
        if (follower.core != null) {
            if (follower.disk.syncing == Indices.NONE) {
                follower.disk.syncing = follower.disk.appended;
            } else {
                follower.finishSync();
            }
        }
    }

    private void followerApplies(Follower follower) {
        if (follower.synchronised && follower.core != null && follower.applied < proposed) {
            if (follower.applied < follower.historyEnd) {
                follower.applied = follower.historyEnd;
            } else {
                follower.applied = Math.max(follower.applied, START) + 1;
                follower.readers.apply(follower.applied);
            }
            follower.core.applied(follower.applied, now);
        }
    }

    private void someoneNeeds(Follower follower) {
        long index = Math.max(HISTORY, proposed - random.nextInt(4));
        if (random.nextBoolean()) {
            need(index);
        } else if (follower.core != null) {
            follower.core.needDurable(Math.min(index, follower.disk.appended), now);
        }
    }

    private void read(Follower follower) {
        if (random.nextBoolean()) {
            need(readers.read(leader.durable()));
        } else if (follower.core != null && follower.synchronised && follower.applied >= follower.historyEnd) {
            follower.core.needDurable(follower.readers.read(follower.core.durable()), now);
        }
    }

    private void need(long index) {
        needed = Math.max(needed, index);
        leader.needDurable(index, now);
    }

    /** What the shell around the leader does now and then. */
    private void leaderShell(Follower follower) {
        if (random.nextInt(8) == 0) {
            configurations = randomConfigurations(1 + random.nextInt(2));
            leader.configurations(configurations);
        } else if (follower.core != null) {
            announce(follower, durable);
        }
    }

    private void announce(Follower follower, long index) {
        FollowerCore core = follower.core;
        follower.beside.add(() -> core.durableAnnounced(EPOCH, index, now));
        core.durableAnnounced(EPOCH - 1, HISTORY, now);
    }

    /** From somebody who had not recorded the epoch when it was sent. */
    private void forgedReport(Follower follower) {
        if (follower.connection != 0) {
            leader.report(follower.connection, EPOCH - 1, proposed, proposed, now);
        }
    }

    private void tick(Follower follower) {
        leader.tick(now);
        require(round == Indices.NONE || now - roundSince < TIMEOUT, "a round outlives its time");
        if (follower.core != null) {
            follower.core.tick(now);
            if (!follower.beside.isEmpty()) {
                follower.beside.remove(random.nextInt(follower.beside.size())).run();
            }
        }
    }

    private List<Quorum> randomConfigurations(int count) {
        List<Quorum> all = new ArrayList<>();
        int voters = followers.size(); // and the leader, without the last server
        for (int i = 0; i < count; i++) {
            Map<Long, Long> group = new HashMap<>();
            Map<Long, Long> other = new HashMap<>();
            for (long server = 1; server <= voters; server++) {
                (random.nextInt(3) == 0 ? other : group).put(server, (long) random.nextInt(3));
            }
            Set<Long> members = new HashSet<>(group.keySet());
            members.addAll(other.keySet());
            boolean weights = random.nextBoolean() && group.values().stream().anyMatch(weight -> weight > 0);
            all.add(weights ? VectorQuorum.groups(List.of(group, other)) : VectorQuorum.majority(members));
        }
        return all;
    }

    private void heal() {
        followers.forEach(Follower::connect);
        followers.forEach(Follower::synchronise);
        if (!ownPart) {
            ownPart = true;
            leaderApplied = Math.max(leaderApplied, START);
            leader.established(now);
        }
        proposed++;
        leaderDisk.appended = proposed;
        leader.appended(proposed, now);
        for (Follower follower : followers) {
            follower.append(proposed);
        }
        while (leaderApplied < proposed) {
            readers.apply(++leaderApplied);
        }
        leader.applied(proposed, now);
        need(proposed);
        for (int i = 0; i < 10 && durable < proposed; i++) {
            now += TIMEOUT;
            leader.tick(now);
            leaderSyncs();
            for (Follower follower : followers) {
                deliver(follower.fromLeader);
                followerDisk(follower);
                Deque<Runnable> messages = toLeader.get(follower.connection);
                while (!messages.isEmpty()) {
                    deliver(messages);
                }
            }
            check();
        }
        require(durable == proposed, "not everything is durable after the repair");
        require(readers.replies.size() == 0, "the leader still holds replies after the repair");
        for (Follower follower : followers) {
            announce(follower, durable);
            follower.beside.forEach(Runnable::run);
            require(follower.core.durable() == durable, "a follower does not learn what is durable");
            require(follower.readers.replies.size() == 0, "a follower still holds replies after the repair");
        }
    }

    // --- what must hold

    @Override
    public void durable(long index) {
        require(index > durable, "D falls");
        require(ownPart, "D before the leader's own part of the establishment");
        require(index <= leaderApplied, "D above what the leader applied");
        for (Quorum configuration : configurations) {
            Set<Long> holders = new HashSet<>();
            if (leaderDisk.counting() >= index && configuration.votes(LEADER)) {
                holders.add(LEADER);
            }
            for (Follower follower : followers) {
                if (follower.disk.counting() >= index && configuration.votes(follower.server)) {
                    holders.add(follower.server);
                }
            }
            require(configuration.containsQuorum(holders), "D is persisted only by " + holders);
        }
        durable = index;
        readers.durable(index);
    }

    @Override
    public void flush(long target) {
        require(round == Indices.NONE, "two rounds in flight");
        require(needed > durable, "a round that nobody needs");
        require(target >= needed && target >= leader.lastAppended(), "a round that does not cover what is asked for");
        round = target;
        roundSince = now;
        leaderDisk.syncing = leaderDisk.appended;
        for (Follower follower : followers) {
            if (follower.core != null) {
                follower.fromLeader.add(() -> follower.core.flushAsked(target, now));
            }
        }
    }

    @Override
    public void flushRoundEnded(long target, boolean reached) {
        require(target == round, "the end of a round that was not in flight");
        require(reached ? durable >= target : now - roundSince >= TIMEOUT, "a round ends too early");
        round = Indices.NONE;
    }

    private void check() {
        require(leader.durable() == durable, "the published durable index is another one");
        require(leader.isEstablished() == (durable != Indices.NONE), "established without D, or D without it");
        require(durable <= leader.quorumPersisted(), "D above the quorum-persisted index");
        require(round != Indices.NONE || durable == Indices.NONE || needed <= durable, "somebody waits, and no round");
    }

    private void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise + " (time " + now + ", D " + Indices.format(durable) + ")");
        }
    }
}

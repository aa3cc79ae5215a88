// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.simulation;

import io.cad.jepsen.checker.Checker;
import io.cad.jepsen.checker.HistoryBuilder;
import io.cad.jepsen.checker.Operation;
import io.cad.jepsen.checker.Verdict;
import io.cad.zookeeper.config.Mode;
import io.cad.zookeeper.config.Mode.Durability;
import io.cad.zookeeper.config.Mode.Reads;
import io.cad.zookeeper.config.Mode.Replication;
import io.cad.zookeeper.core.Cores;
import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.core.Quorum;
import io.cad.zookeeper.lease.LeaseSettings;
import io.cad.zookeeper.lease.Leases;
import io.cad.zookeeper.simulation.Memberships.Kind;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.IntFunction;
import java.util.stream.Collectors;

/**
 * A few seconds in the life of three or five servers and their clients: the real core, the real leases, the real log,
 * snapshots and recovery in real files, in one thread and driven by one seed. Clocks drift as far as they may; messages
 * are late, lost, doubled or overtaken; links are cut in one or both directions; processes pause and die, machines are
 * suspended, power fails and takes what was not synced.
 *
 * <p>Clients read everywhere; what they record is checked when the life is over. Time is in nanoseconds of a true clock
 * that nobody has.
 */
final class Simulation implements Runnable {
    /** What makes a batch of lives worth something; each has to happen. */
    enum Count {
        OPERATION, ACKNOWLEDGED, ELECTION, POWER_LOSS, BYTES_LOST, RESTART, ROLLBACK, FULL_STATE, SNAPSHOT,
        SNAPSHOT_DROPPED, HELD_REPLY, GRANTED_READ, LEADER_READ, REFUSED_READ, EXPIRED_LEASE, FLUSH_REQUEST,
        FLUSH_ROUND, ADMISSION, REMOVAL_LEFT, REMOVAL_SILENT, REMOVAL_RECONNECTED, SUSPENSION, PROMISE_WAIT,
        STALE_HELLO, LARGER_PROMISE, CRASH_AFTER_PROMISE, CRASH_AFTER_JOINING, CUT_OFF_IN_OFFICE, OUTLIVED,
        OUTLIVED_TWICE, LATE_HELLO, UNEQUAL_VOTES, MEMBERSHIP, CRASH_BEFORE_LEAVING,
        CUT_OFF_BEFORE_LEAVING, SLOW_RETURN, WATCH_EVENT
    }

    /** What clients recorded contradicts the promise. */
    static final class Convicted extends AssertionError {
        private static final long serialVersionUID = 1;

        Convicted(Verdict.Violation violation) {
            super(violation.toString());
        }
    }

    static final long MS = 1_000_000;
    static final int CLIENTS = 10;
    /** Processes from here on are watches. */
    private static final long WATCHERS = 1L << 40;
    /** What is drawn from it leaves alone what is drawn for the rest. */
    private static final long OTHER = 1L << 40;
    private static final int PLAIN = 48;
    private static final int LEAST_OPERATIONS = 200;
    private static final int MOST_EVENTS = 500_000;
    private static final int ITEMS = 6;

    private record Event(long time, long order, Runnable action) implements Comparable<Event> {
        @Override
        public int compareTo(Event other) {
            return time != other.time ? Long.compare(time, other.time) : Long.compare(order, other.order);
        }
    }

    final Random random;
    final Cores cores;
    final Leases leases;
    final List<Node> nodes = new ArrayList<>();
    final List<String> paths = new ArrayList<>();
    final Memberships memberships;
    /** How many items that are not durable a server lists, in some lives fewer than there are. */
    final int itemsListed;
    /** Readers that apply late come back at once, again and again. */
    final boolean returns;
    /** Each read leaves a watch. */
    final boolean watches;
    final boolean async;
    /** As in the records of a handshake. */
    final Mode mode;

    private final Set<Flaw> flaws;
    private final boolean checks;
    private final Map<Count, Long> counts = new EnumMap<>(Count.class);
    private final PriorityQueue<Event> events = new PriorityQueue<>();
    private final List<Client> clients = new ArrayList<>();
    private final Network network;
    final Faults faults;
    private final HistoryBuilder history = new HistoryBuilder();
    private final Map<Long, Entry> entries = new TreeMap<>();
    private final Map<Long, Office> offices = new TreeMap<>();
    private final long end;
    private long time;
    private long order;
    private long epochs;
    private int recorded;
    private long watchers;
    private long trace;
    /** The longest history that was ever durable. */
    private Entry durable;
    /** As much of it as each epoch had made durable. */
    private final NavigableMap<Long, Entry> durableBy = new TreeMap<>();

    /**
     * @param directory an empty one for the disks
     * @param flaws mistakes of the shell; those of the core are in {@code cores}
     * @param checks compare the servers with what is true of all of them, after each event; otherwise only what clients
     *     recorded counts
     * @param skipped faults that do not happen, by number: to find out which ones matter
     */
    Simulation(long seed, Path directory, Cores cores, Set<Flaw> flaws, boolean checks, Set<Integer> skipped) {
        this.random = new Random(new Random(seed).nextLong()); // neighbouring seeds begin alike
        this.cores = cores;
        this.leases = cores.leases();
        this.flaws = flaws;
        this.checks = checks;
        boolean five = random.nextInt(3) == 0;
        Random other = new Random(new Random(seed + OTHER).nextLong());
        int kind = Faults.outlives(seed) ? PLAIN : other.nextInt(PLAIN);
        Kind votes = switch (kind) {
            case 0, 1 -> Kind.UNEQUAL;
            case 2, 3 -> Kind.OBSERVERS;
            case 4, 5, 6 -> Kind.CHANGE;
            default -> Kind.EQUAL;
        };
        itemsListed = kind == 7 ? 3 : 1_000;
        returns = kind == 8 || kind == 9;
        watches = kind == 10 || kind == 12;
        int size = five || votes != Kind.EQUAL ? 5 : 3;
        memberships = new Memberships(votes, size, other);
        async = random.nextBoolean();
        mode = new Mode(Durability.CAD, async ? Replication.ASYNC : Replication.SYNC, Reads.ACTIVE_SET);
        network = new Network(size, random, this::later);
        end = between(2_500 * MS, 4_500 * MS);
        for (int item = 0; item < ITEMS; item++) {
            paths.add("/" + (char) ('a' + item));
        }
        boolean unequal = random.nextInt(4) == 0;
        boolean brisk = unequal || random.nextInt(4) != 0;
        int mostGenerous = random.nextInt(size);
        for (int id = 0; id < size; id++) {
            long heartbeat = (brisk ? 20 : 50) * MS;
            boolean generous = unequal && (id == mostGenerous || random.nextInt(4) == 0);
            long leaderLease = (generous ? 50 : 6) * heartbeat;
            LeaseSettings settings = LeaseSettings.derived(heartbeat, 3 * heartbeat, leaderLease, 100_000);
            nodes.add(new Node(this, id, settings, new PowerLossDisk(directory.resolve("server-" + id))));
        }
        faults = new Faults(this, network, seed, end - 1_200 * MS, skipped);
    }

    @Override
    public void run() {
        try {
            nodes.forEach(Node::start);
            for (int number = 0; number < CLIENTS; number++) {
                Client client = new Client(this, number);
                clients.add(client);
                later(between(0, 20 * MS), client::next);
            }
            faults.begin();
            count(Count.UNEQUAL_VOTES, memberships.isKind(Kind.UNEQUAL) ? 1 : 0);
            if (memberships.isKind(Kind.CHANGE)) {
                later(between(200 * MS, 600 * MS), this::changeMembership);
            }
            while (time < end || recorded < LEAST_OPERATIONS && time < 4 * end) {
                if (order > MOST_EVENTS || events.size() > MOST_EVENTS / 10) {
                    throw new IllegalStateException("a life of too many events, " + events.size() + " to come");
                }
                Event event = events.remove();
                time = event.time;
                trace = 31 * trace + time;
                event.action.run();
                if (checks) {
                    check();
                }
            }
        } finally {
            nodes.forEach(Node::close);
        }
        judge();
    }

    private void changeMembership() {
        later(between(50 * MS, 500 * MS), this::changeMembership);
        List<Node> leaders = nodes.stream().filter(node -> node.up && node.office != null).toList();
        if (!leaders.isEmpty()) {
            Node leader = leaders.get(random.nextInt(leaders.size()));
            leader.receive(leader::changeMembership);
        }
    }

    private void judge() {
        clients.forEach(Client::giveUp);
        Verdict verdict = Checker.check(history.build());
        if (!verdict.isValid()) {
            throw new Convicted(verdict.violations().get(0));
        }
        if (checks) {
            require(recorded >= LEAST_OPERATIONS, "only " + recorded + " operations");
            require(counts.containsKey(Count.POWER_LOSS), "no power loss");
            require(counts.containsKey(Count.ELECTION), "no election");
        }
    }

    Map<Count, Long> counts() {
        return counts;
    }

    /** Equal for two lives in which the same happened at the same times, unequal for others; in one JVM only. */
    long trace() {
        return trace;
    }

    // --- time and chance

    long time() {
        return time;
    }

    void later(long delay, Runnable action) {
        events.add(new Event(time + delay, order++, action));
    }

    long between(long low, long high) {
        return low + (long) (random.nextDouble() * (high - low));
    }

    boolean chance(int oneIn) {
        return random.nextInt(oneIn) == 0;
    }

    void send(Node from, Node to, Runnable receipt) {
        network.send(from.id, to.id, () -> to.receive(receipt));
    }

    boolean has(Flaw flaw) {
        return flaws.contains(flaw);
    }

    boolean checks() {
        return checks;
    }

    // --- what happened

    void count(Count what) {
        count(what, 1);
    }

    void count(Count what, long times) {
        if (times > 0) {
            counts.merge(what, times, Long::sum);
        }
    }

    long recorded() {
        return recorded;
    }

    void record(String path, IntFunction<Operation> operation) {
        Operation recording = operation.apply(history.key(path));
        history.add(recording);
        trace = 31 * trace + recording.hashCode();
        recorded++;
        count(Count.OPERATION);
    }

    /** A process for one event of a watch. */
    long watcher() {
        return WATCHERS + watchers++;
    }

    long newEpoch(long promised) {
        epochs = Math.max(epochs, promised) + 1;
        return epochs;
    }

    Office office(long epoch) {
        return offices.get(epoch);
    }

    Entry entry(long index, Entry previous, String path, String value) {
        Entry entry = new Entry(index, previous, path, value);
        entries.put(index, entry);
        return entry;
    }

    /** The history that ends at an index. */
    Entry entryAt(long index) {
        require(index == 0 || entries.containsKey(index), "a server holds the unknown index " + Indices.format(index));
        return entries.get(index);
    }

    // --- what must hold

    void elected(Office office) {
        offices.put(office.epoch, office);
        // Not what later epochs made durable: one who was suspended as a candidate takes an office that is over.
        durableBy.headMap(office.epoch).forEach((epoch, covered) -> require(
                Entry.isPrefix(covered, office.leader.last), "DurableSurvivesElection: server " + office.leader.id
                        + " leads epoch " + office.epoch + " with " + Long.toHexString(Entry.index(office.leader.last))
                        + ", durable in epoch " + epoch + " was " + Long.toHexString(Entry.index(covered))));
    }

    /** A leader moved D. */
    void durable(Office office, long index) {
        Entry covered = Entry.upTo(office.leader.last, index);
        require(Entry.isPrefix(durable, covered) || Entry.isPrefix(covered, durable),
                "DurableSurvivesElection: two durable histories");
        if (Entry.length(covered) > Entry.length(durable)) {
            durable = covered;
            durableBy.put(office.epoch, covered);
        }
        synced();
    }

    /** What servers have synced has changed, or what is durable. */
    void synced() {
        if (checks) {
            Set<Long> holders = nodes.stream().filter(node -> Entry.isPrefix(durable, node.synced))
                    .map(node -> (long) node.id).collect(Collectors.toSet());
            // A membership that is durable was so by the one before, too.
            require(Quorum.ofEach(List.of(memberships.of(Entry.membershipOf(durable))), holders),
                    "DurableImpliesPersistedByQuorum: " + Long.toHexString(Entry.index(durable))
                    + " is on the disks of " + holders);
        }
    }

    /** A client is shown the last change of an item. */
    void shown(Node node, Serving serving, Entry entry) {
        if (checks && entry != null) {
            require(entry.index <= serving.durable() && Entry.isPrefix(entry, durable), "NoReplyAboveDurable: server "
                    + node.id + " shows " + Long.toHexString(entry.index));
        }
    }

    private void check() {
        long serving = -1;
        for (Node node : nodes) {
            boolean mayServe = node.up && (node.office != null || node.following != null) && node.mayServe();
            if (mayServe) {
                require(serving == -1 || serving == node.epoch, "AtMostOneServingEpoch: " + serving
                        + " and, at server " + node.id + ", " + node.epoch);
                serving = node.epoch;
            }
            if (node.up && node.lease.mayRead()) {
                require(node.following != null && office(node.epoch).leadership.isMember(node.connection),
                        "LeaseImpliesMember: server " + node.id + " as " + node.role);
            }
        }
        for (Node node : nodes) {
            if (node.up && node.office != null && node.office.leadership.isEstablished()) {
                checkActiveSet(node.office);
            }
        }
    }

    private void checkActiveSet(Office office) {
        office.leadership.members().forEach((server, connection) -> {
            Node member = nodes.get(server.intValue());
            boolean serves = member.up && member.connection == connection && member.following != null
                    && member.lease.mayRead();
            require(!serves || Entry.length(member.applied)
                    >= Entry.length(Entry.upTo(office.leader.last, office.leadership.durable())),
                    "DurableImpliesAppliedByActiveSet: server " + server);
        });
    }

    void require(boolean holds, String otherwise) {
        if (checks && !holds) {
            throw new AssertionError(otherwise + " (at " + time / MS + " ms)");
        }
    }
}

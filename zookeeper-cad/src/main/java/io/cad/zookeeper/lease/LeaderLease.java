// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.lease;

import io.cad.zookeeper.core.InvariantViolation;
import io.cad.zookeeper.core.Quorum;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Until when the leader of one epoch may execute reads, grant read leases and acknowledge early: as long as nobody else
 * can have been established. Also when it may establish its own epoch.
 *
 * <p>Pure: each method is one event; the caller serialises the events and passes the monotonic and the wall clock, in
 * nanoseconds, read <em>before</em> something is sent and <em>after</em> something was received. {@link #holds} may be
 * called by any thread.
 */
public class LeaderLease {
    /** No heartbeat. */
    public static final long NONE = 0;

    /** What the server has to do. */
    public interface Actions {
        /** Give up the office: heartbeats have stopped for good. */
        void stepDown(StuckLeader.Work stuck);
    }

    private static final long NEVER = Long.MIN_VALUE;
    /** Heartbeats whose answer may still count; an older one proves nothing that lasts. */
    private static final int SENT = 1024;

    private final long epoch;
    private final long self;
    private final LeaseSettings settings;
    private final Promise promise;
    private final StuckLeader stuck;
    private final Suspension suspension;
    private final Actions out;

    private List<Quorum> configurations = List.of();
    private final Set<Long> electors = new HashSet<>();
    private boolean elected;
    private boolean waits;
    private long waitUntil;
    private boolean established;
    private boolean ended;

    private final long[] sentAt = new long[SENT];
    private long lastSent = NONE;
    private long firstCounting = 1;
    /** Server to the newest heartbeat that it answered. */
    private final Map<Long, Long> answered = new HashMap<>();
    private long proven = NONE;
    private volatile long validUntil = NEVER;

    /** @param epoch that this server leads, once in the life of its process */
    public LeaderLease(long epoch, long self, LeaseSettings settings, Promise promise, StuckLeader stuck, long now,
            long wall, Actions out) {
        this.epoch = epoch;
        this.self = self;
        this.settings = settings;
        this.promise = promise;
        this.stuck = stuck;
        this.suspension = new Suspension(now, wall);
        this.out = out;
    }

    // --- the election

    /** Every membership that binds from now on; the first call comes before everything else. */
    public void configurations(List<Quorum> all) {
        if (all.isEmpty()) {
            throw new IllegalArgumentException("without a membership there is no quorum");
        }
        configurations = List.copyOf(all);
        evaluate();
    }

    /**
     * A server, this one included, promised this epoch and stated for how long it is bound by older ones. A promise
     * without such a statement does not count and is not passed here. Ignored once {@link #elected} was called.
     *
     * @param owed nanoseconds of the other's clock
     * @param now after the receipt
     */
    public void promised(long server, long owed, long now) {
        if (owed < 0 || owed > 4 * LeaseSettings.MAX_NANOS) {
            throw new IllegalArgumentException("server " + server + " states that it is bound for " + owed + " ns");
        }
        if (!elected) {
            electors.add(server);
            long until = now + waitFor(owed);
            if (!waits || until - waitUntil > 0) {
                waitUntil = until;
            }
            waits = true;
        }
    }

    /** Whether those who promised contain a quorum of every membership. */
    public boolean hasQuorum() {
        return isQuorum(electors);
    }

    /** The promises so far elect this server: whoever joins later adds nothing. */
    public void elected() {
        if (!hasQuorum()) {
            throw new IllegalStateException("promises of " + electors + " are no quorum");
        }
        elected = true;
    }

    /** Whether the leases of older epochs are over, so that the epoch may be established. */
    public boolean isWaitOver(long now) {
        return elected && now - waitUntil >= 0;
    }

    /** The epoch is established; from now on the lease lets this server serve. */
    public void established(long now) {
        if (!isWaitOver(now)) {
            throw new InvariantViolation("AtMostOneServingEpoch", "epoch " + epoch + " is established "
                    + (elected ? waitUntil - now + " ns before older leases are over" : "without an election"));
        }
        established = true;
        evaluate();
    }

    // --- heartbeats

    /**
     * A heartbeat is about to be sent to everybody. Returns its number; {@link #NONE} if none may be sent: the promise
     * that it asks for is not durably recorded here yet, this server has promised a newer epoch, or it is stuck.
     */
    public long beat(long now, long wall) {
        check(now, wall);
        if (ended || !promise.maySend(epoch, settings.promise(), now)) {
            return NONE;
        }
        StuckLeader.Work work = stuck.stuck(now);
        if (work != null) {
            end();
            out.stepDown(work);
            return NONE;
        }
        lastSent++;
        sentAt[(int) (lastSent % SENT)] = now;
        answered.put(self, lastSent);
        evaluate();
        return lastSent;
    }

    /** A server answered the heartbeat, on its current connection. Its promise binds it even when that ends. */
    public void answered(long server, long number, long now, long wall) {
        check(now, wall);
        if (number >= firstCounting && number <= lastSent && server != self) {
            answered.merge(server, number, Math::max);
            evaluate();
        }
    }

    /** Drops everything if the machine was suspended: call it with each tick. */
    public void check(long now, long wall) {
        if (suspension.happened(now, wall)) {
            if (dropsAtSuspension()) {
                firstCounting = lastSent + 1;
                evaluate();
            }
            suspension.restart(now, wall);
        }
    }

    /** The office is over: the server promises a newer epoch, steps down or stops. */
    public void end() {
        ended = true;
        validUntil = NEVER;
    }

    // --- queries

    /** For any thread: whether this server may serve at this moment; the clocks are read for this call. */
    public boolean holds(long now, long wall) {
        boolean suspended = suspension.happened(now, wall); // before the lease is read: check() drops it first
        long until = validUntil;
        return until != NEVER && isWithin(until, now) && !suspended;
    }

    /** For any thread: nanoseconds until the lease ends unless it is renewed; 0 without a lease. For metrics. */
    public long remaining(long now) {
        long until = validUntil;
        return until == NEVER ? 0 : Math.max(0, until - now);
    }

    /** The number of the newest heartbeat sent. */
    public long lastSent() {
        return lastSent;
    }

    /**
     * The newest heartbeat that quorums of every membership answered. A membership commits only when this is above what
     * {@link #lastSent} was when it was appended.
     */
    public long answeredByQuorums() {
        return proven;
    }

    // --- decisions; tests replace single ones by wrong ones

    boolean isQuorum(Set<Long> servers) {
        return Quorum.ofEach(configurations, servers);
    }

    /** What another server's clock calls {@code owed} may be longer by this one. */
    long waitFor(long owed) {
        return settings.stretch(owed);
    }

    boolean dropsAtSuspension() {
        return true;
    }

    boolean isWithin(long until, long now) {
        return now - until < 0;
    }

    // --- the step

    private void evaluate() {
        proven = newestProven();
        boolean serves = established && !ended && proven >= firstCounting && lastSent - proven < SENT;
        validUntil = serves ? sentAt[(int) (proven % SENT)] + settings.leaderLease() : NEVER;
    }

    private long newestProven() {
        long newest = NONE;
        for (long number : answered.values()) {
            if (number > newest && number >= firstCounting) {
                Set<Long> servers = new HashSet<>();
                answered.forEach((server, last) -> {
                    if (last >= number) {
                        servers.add(server);
                    }
                });
                if (isQuorum(servers)) {
                    newest = number;
                }
            }
        }
        return newest;
    }
}

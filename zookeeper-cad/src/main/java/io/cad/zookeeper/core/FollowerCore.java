// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

/**
 * What one follower decides on one connection to one leader: what it reports, when it syncs, which durable index it
 * believes. A new connection takes a new core.
 *
 * <p>Pure: each method is one event; the caller serialises the events and passes the time, in nanoseconds of a
 * monotonic clock. An action may call back into the core. The queries may be called by any thread.
 */
public class FollowerCore {
    /** A lost request for a flush is sent again after this time unless the caller chooses another one. */
    public static final long DEFAULT_REQUEST_TIMEOUT_NANOS = 200_000_000;

    /** What the server has to do. */
    public interface Actions {
        /** Tell the leader, with the epoch, on this connection. */
        void report(long persisted, long applied);

        /** Sync the log now, up to {@code target} at least, which is appended. */
        void flush(long target);

        /** Ask the leader to make {@code index} durable. */
        void flushRequest(long index);

        /** The durable index rose to {@code index}: release what it covers. */
        void durable(long index);
    }

    private final long epoch;
    private final long start;
    private final long requestTimeoutNanos;
    private final Actions out;

    private boolean synchronised;
    private boolean syncFailed;
    private long historyEnd;
    private long appended = Indices.NONE;
    private long persisted = Indices.NONE;
    private long applied = Indices.NONE;
    private long reportedPersisted = Indices.NONE;
    private long reportedApplied = Indices.NONE;

    private long announced = Indices.NONE;
    private long asked = Indices.NONE;
    private long flushing = Indices.NONE;

    private long needed = Indices.NONE;
    private long requested = Indices.NONE;
    private long requestedAt;

    private volatile long durable = Indices.NONE;

    public FollowerCore(long epoch, Actions out) {
        this(epoch, DEFAULT_REQUEST_TIMEOUT_NANOS, out);
    }

    /**
     * @param epoch the leader's epoch
     * @param requestTimeoutNanos when a request for a flush is sent again
     */
    public FollowerCore(long epoch, long requestTimeoutNanos, Actions out) {
        if (requestTimeoutNanos <= 0) {
            throw new IllegalArgumentException(
                    "a request needs a time-out above 0, not " + requestTimeoutNanos + " ns");
        }
        this.epoch = epoch;
        this.start = Indices.first(epoch);
        this.requestTimeoutNanos = requestTimeoutNanos;
        this.out = out;
    }

    // --- events

    /**
     * The whole initial history is persisted, up to {@code persisted}, and after that the epoch was durably recorded.
     * From here on the reports of this server count, and so does the leader's durable index. What the leader sent
     * earlier on this connection takes effect now.
     *
     * @param persisted the end of the initial history
     * @param applied how far reads see it
     */
    public void synchronised(long persisted, long applied, long now) {
        if (synchronised) {
            throw new IllegalStateException("a connection is synchronised once; a new one takes a new core");
        }
        synchronised = true;
        historyEnd = persisted;
        this.persisted = Math.max(this.persisted, Math.max(persisted, start));
        appended = Math.max(appended, this.persisted);
        this.applied = Math.max(this.applied, applied);
        report();
        settle(now);
    }

    /** The log contains {@code index}. */
    public void appended(long index, long now) {
        if (index > appended) {
            appended = index;
            settle(now);
        }
    }

    /** The log is persisted up to {@code index}: the sync call that covers it has succeeded. */
    public void persisted(long index, long now) {
        if (index > persisted && !syncFailed) {
            persisted = index;
            appended = Math.max(appended, index);
            report();
        }
    }

    /**
     * A sync call of the log failed. The server is about to end; whatever a later call claims counts for nothing,
     * because the system may have dropped the data and reported the error only once.
     */
    public void syncFailed() {
        syncFailed = true;
    }

    /** Reads see everything up to {@code index}. Reported with the next sync or tick, or at once if a round waits. */
    public void applied(long index, long now) {
        if (index > applied) {
            applied = index;
            if (asked != Indices.NONE && persisted >= asked && visible() >= asked) {
                report();
            }
        }
    }

    /** The leader says how far the history is durable. Ignored: other epochs, and what is known already. */
    public void durableAnnounced(long announcedEpoch, long index, long now) {
        if (accepts(announcedEpoch, index)) {
            announced = chooseAnnounced(announced, index);
            settle(now);
        }
    }

    /** The leader's flush round reached this server. Answered by a report as soon as {@code target} is persisted. */
    public void flushAsked(long target, long now) {
        asked = Math.max(asked, target);
        if (persisted >= asked) {
            report();
        }
        settle(now);
    }

    /**
     * Somebody waits here until {@code index} is durable. Asks the leader, with one request in flight; it carries the
     * highest index waited for when it is sent.
     */
    public void needDurable(long index, long now) {
        if (index > durable) {
            needed = Math.max(needed, neededByNextRequest(index));
        }
        settle(now);
    }

    /** Call it a few times per request time-out: it repeats lost requests and reports what was applied meanwhile. */
    public void tick(long now) {
        if (persisted > reportedPersisted || visible() > reportedApplied) {
            report();
        }
        settle(now);
    }

    // --- query, for any thread

    /** {@link Indices#NONE} before this server has synchronised with the epoch. */
    public long durable() {
        return durable;
    }

    // --- queries, under the events' lock

    /** What a heartbeat's answer may say of the log: {@link Indices#NONE} before this server has synchronised. */
    public long reportablePersisted() {
        return mayReport() ? persisted : Indices.NONE;
    }

    /** What a heartbeat's answer may say of the state. */
    public long reportableApplied() {
        return mayReport() ? visible() : Indices.NONE;
    }

    // --- decisions; tests replace single ones by wrong ones to see that the vectors notice

    boolean mayReport() {
        return synchronised;
    }

    boolean mayBelieveLeader() {
        return synchronised;
    }

    boolean accepts(long announcedEpoch, long index) {
        return announcedEpoch == epoch && Indices.epoch(index) == epoch;
    }

    long chooseAnnounced(long known, long index) {
        return Math.max(known, index);
    }

    /** Whoever applied the whole initial history has applied (epoch,0). */
    long visible() {
        return applied >= historyEnd ? Math.max(applied, start) : applied;
    }

    long neededByNextRequest(long index) {
        return index;
    }

    boolean requestExpired(long now) {
        return now - requestedAt >= requestTimeoutNanos;
    }

    final boolean requestInFlight() {
        return requested != Indices.NONE;
    }

    // --- the step

    private void report() {
        if (mayReport()) {
            reportedPersisted = persisted;
            reportedApplied = visible();
            if (asked <= Math.min(reportedPersisted, reportedApplied)) {
                asked = Indices.NONE;
            }
            out.report(reportedPersisted, reportedApplied);
        }
    }

    /** The state is complete before each action, because actions may call back. */
    private void settle(long now) {
        if (mayBelieveLeader() && announced != durable && announced != Indices.NONE) {
            if (announced < durable) {
                throw new InvariantViolation("DurableIndexMonotonic",
                        "from " + Indices.format(durable) + " to " + Indices.format(announced) + " in epoch " + epoch);
            }
            durable = announced;
            out.durable(announced);
        }
        if (mayReport() && !syncFailed && asked > persisted && asked <= appended && asked > flushing) {
            flushing = asked;
            out.flush(asked);
        }
        if (requestInFlight() && (durable >= requested || requestExpired(now))) {
            requested = Indices.NONE;
        }
        if (synchronised && !requestInFlight() && needed > durable) {
            requested = needed;
            requestedAt = now;
            out.flushRequest(needed);
        }
    }
}

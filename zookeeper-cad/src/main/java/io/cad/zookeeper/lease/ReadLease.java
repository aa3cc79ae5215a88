// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.lease;

/**
 * Whether a follower may answer reads now, and its answers to heartbeats. One object lives from the start of the
 * process to its end.
 *
 * <p>The lease counts from the moment at which the follower <em>sent</em> the answer that the leader echoes, by its own
 * table: however long a message was under way, the leader received the answer later than that.
 *
 * <p>Pure: each method is one event; the caller serialises the events and passes the monotonic and the wall clock, in
 * nanoseconds, both read when the event happens (a received message: after its receipt). An action may not call back.
 * {@link #holds} may be called by any thread.
 */
public class ReadLease {
    /** Why a lease ended. */
    public enum MarkOut { TOLD_TO_LEAVE, NEW_CONNECTION, SYNCHRONISATION, PROMISE, SUSPENSION, EXPIRED }

    /** What the server has to do. */
    public interface Actions {
        /**
         * Send an answer on the heartbeat's connection at once, with what is persisted and applied here if the epoch
         * is recorded.
         *
         * @param left for {@link HeartbeatAnswer#left}
         */
        void answer(Heartbeat heartbeat, Ticket ticket, long left);

        /** A lease has ended before or at its time. For metrics; it has no effect any more when this is called. */
        void markedOut(MarkOut why);

        /** This server cannot follow that leader: leave it, and say why. */
        void refuse(String why);
    }

    private static final long NEVER = Long.MIN_VALUE;
    /** Answers whose echo may still come. Far more than the lease lasts; older ones are useless anyway. */
    private static final int TABLE = 1024;

    private final long process;
    private final LeaseSettings settings;
    private final Promise promise;
    private final Actions out;
    private final Suspension suspension;

    private long epoch = -1;
    private long connection;
    private boolean connected;
    private long newestHeartbeat;

    private final long[] sentAt = new long[TABLE];
    private long firstInTable = 1;
    private long lastInTable;
    private volatile long validUntil = NEVER;

    /** @param process a number that no other process of this server has had */
    public ReadLease(long process, LeaseSettings settings, Promise promise, long now, long wall, Actions out) {
        this.process = process;
        this.settings = settings;
        this.promise = promise;
        this.out = out;
        this.suspension = new Suspension(now, wall);
    }

    // --- events

    /** The connection to a leader ended, or one is about to be opened: called before its first message is sent. */
    public void disconnected() {
        connected = false;
        markOut(MarkOut.NEW_CONNECTION);
    }

    /** The leader of {@code epoch} has registered this server and has named the connection. */
    public void connected(long epoch, long connection) {
        markOut(MarkOut.NEW_CONNECTION);
        this.epoch = epoch;
        this.connection = connection;
        connected = true;
        newestHeartbeat = 0;
    }

    /** Before the first step of a synchronisation with the leader. */
    public void synchronising() {
        markOut(MarkOut.SYNCHRONISATION);
    }

    /** The server promises a newer epoch, see {@link Promise#promise}, whose result this returns. */
    public long promise(long epoch, long now) {
        markOut(MarkOut.PROMISE);
        connected = false;
        return promise.promise(epoch, now);
    }

    /** A heartbeat arrived. */
    public void heartbeat(Heartbeat heartbeat, long now, long wall) {
        check(now, wall);
        if (!isCurrent(heartbeat)) {
            return;
        }
        if (heartbeat.driftPpm() != settings.driftPpm()) {
            out.refuse("cad.clock.drift: the leader assumes " + heartbeat.driftPpm()
                    + " parts per million, this server " + settings.driftPpm() + "; set the same on all servers");
            return;
        }
        newestHeartbeat = heartbeat.number();
        if (heartbeat.leave() != Heartbeat.NO_LEAVE) {
            markOut(MarkOut.TOLD_TO_LEAVE);
        } else if (heartbeat.echo() != null) {
            echoed(heartbeat.echo(), heartbeat.readLease(), now);
        }
        if (promise.mayAnswer(heartbeat.epoch(), heartbeat.promise(), now)) {
            promise.answered(now, heartbeat.promise());
            out.answer(heartbeat, enter(now), heartbeat.leave());
        }
    }

    /**
     * Drops what has to be dropped: call it every few milliseconds and before an important use.
     *
     * @return whether the lease holds
     */
    public boolean check(long now, long wall) {
        if (suspension.happened(now, wall)) {
            markOut(MarkOut.SUSPENSION);
            suspension.restart(now, wall);
        }
        if (validUntil != NEVER && now - validUntil >= 0) {
            validUntil = NEVER;
            out.markedOut(MarkOut.EXPIRED);
        }
        return validUntil != NEVER;
    }

    // --- query, for any thread

    /** Whether reads may be executed here at this moment; the clocks are read for this call, after the request came. */
    public boolean holds(long now, long wall) {
        boolean suspended = suspension.happened(now, wall); // before the lease is read: check() drops it first
        long until = validUntil;
        return until != NEVER && now - until < 0 && !suspended;
    }

    /** For any thread: nanoseconds until the lease ends unless it is renewed; 0 without a lease. For metrics. */
    public long remaining(long now) {
        long until = validUntil;
        return until == NEVER ? 0 : Math.max(0, until - now);
    }

    // --- decisions; tests replace single ones by wrong ones

    /** Messages of an older epoch or connection count for nothing, nor do those that a newer one has overtaken. */
    boolean isCurrent(Heartbeat heartbeat) {
        return connected && heartbeat.epoch() == epoch && heartbeat.connection() == connection
                && heartbeat.number() > newestHeartbeat;
    }

    boolean isMine(Ticket ticket) {
        return ticket.process() == process && ticket.connection() == connection;
    }

    boolean isInTable(Ticket ticket) {
        return ticket.number() >= firstInTable && ticket.number() <= lastInTable
                && lastInTable - ticket.number() < TABLE;
    }

    /** When the answer was sent, by the table. */
    long startOf(Ticket ticket, long now) {
        return sentAt[(int) (ticket.number() % TABLE)];
    }

    /** The number of the next answer. */
    long numberOf(long last, long now) {
        return last + 1;
    }

    /** Whether tables are emptied and the lease is dropped. */
    boolean drops(MarkOut why) {
        return true;
    }

    // --- the step

    private void echoed(Ticket ticket, long readLease, long now) {
        if (isMine(ticket) && isInTable(ticket)) {
            long until = startOf(ticket, now) + readLease;
            if (now - until < 0 && (validUntil == NEVER || until - validUntil > 0)) {
                validUntil = until;
            }
        }
    }

    private Ticket enter(long now) {
        lastInTable = numberOf(lastInTable, now);
        sentAt[(int) (lastInTable % TABLE)] = now;
        return new Ticket(process, connection, lastInTable);
    }

    private void markOut(MarkOut why) {
        if (drops(why)) {
            firstInTable = lastInTable + 1;
            if (validUntil != NEVER) {
                validUntil = NEVER;
                out.markedOut(why);
            }
        }
    }
}

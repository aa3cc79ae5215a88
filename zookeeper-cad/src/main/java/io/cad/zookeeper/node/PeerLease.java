// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.node;

import io.cad.zookeeper.lease.Heartbeat;
import io.cad.zookeeper.lease.HeartbeatAnswer;
import io.cad.zookeeper.lease.LeaseSettings;
import io.cad.zookeeper.lease.Leases;
import io.cad.zookeeper.lease.Promise;
import io.cad.zookeeper.lease.ReadLease;
import io.cad.zookeeper.lease.Ticket;

/**
 * What one process of a server owes to leaders and holds as a follower, through all its roles: it joins
 * {@link Promise} and {@link ReadLease}. Its monitor guards both; nothing waits for a disk or a peer under it.
 */
public final class PeerLease implements Promise.Actions, ReadLease.Actions {

    /** The process around it. */
    public interface Shell {
        /** Starts to record durably that this server promises up to so many nanoseconds; {@code done} when it has. */
        void record(long nanos, Runnable done);

        /** A lease has ended. For metrics. */
        void markedOut(ReadLease.MarkOut why);

        /** This server cannot follow that leader. For the log. */
        void refused(String why);
    }

    /** What a follower knows when a heartbeat arrives, and what becomes of it. */
    private static final class Answering {
        final long persisted;
        final long applied;
        HeartbeatAnswer answer;
        boolean refused;

        Answering(long persisted, long applied) {
            this.persisted = persisted;
            this.applied = applied;
        }
    }

    /** The leader cannot be followed; the log says why. */
    public static final class RefusedException extends Exception {
        private static final long serialVersionUID = 1L;
    }

    /** What this process knows, beside what it owes and holds. */
    public final Witness witness = new Witness();
    /** Which process of the server this is; a later one has a higher number. */
    public final long incarnation;

    private final Clock clock;
    private final Shell shell;
    private Promise promise;
    private ReadLease reads;
    private final Clock.Lease held;
    private long attempts;
    private Answering answering;

    /**
     * The process starts.
     *
     * @param acceptedEpoch the newest epoch that the server durably promised
     * @param recorded the longest promise that it recorded, in nanoseconds, {@link Promise#NONE} if none
     */
    public PeerLease(LeaseSettings settings, Leases leases, long incarnation, long acceptedEpoch, long recorded,
                     Clock clock, Shell shell) {
        this.incarnation = incarnation;
        this.clock = clock;
        this.shell = shell;
        clock.read((now, wall) -> {
            promise = leases.promise(settings, acceptedEpoch, recorded, now, this);
            reads = leases.readLease(incarnation, settings, promise, now, wall, this);
        });
        held = reads::holds;
    }

    // ---- promises

    /**
     * This server is about to record durably that it promises an epoch; from here nothing is answered for an older one.
     *
     * @return for how many nanoseconds older epochs may still bind it
     */
    public synchronized long promise(long epoch) {
        long now = clock.now();
        // A second attempt, after the record failed, finds the promise made already.
        return epoch > promise.promised() ? reads.promise(epoch, now) : promise.owed(now);
    }

    /** What a leader's leases count against. Only under this object's monitor. */
    Promise promise() {
        return promise;
    }

    /** For how many nanoseconds this server is bound. For operators. */
    public synchronized long owed() {
        return promise.owed(clock.now());
    }

    // ---- as a follower

    /**
     * A connection to a leader is about to be opened.
     *
     * @return which one of this process it is
     */
    public synchronized long connecting() {
        reads.disconnected();
        return ++attempts;
    }

    /** The leader has registered this server. */
    public synchronized void connected(long epoch, long connection) {
        reads.connected(epoch, connection);
    }

    /** Before the first step of a synchronisation. */
    public synchronized void synchronising() {
        reads.synchronising();
    }

    /** The connection to the leader ended. */
    public synchronized void disconnected() {
        reads.disconnected();
    }

    /**
     * A heartbeat has arrived.
     *
     * @param persisted what this server has persisted, as far as it may say so
     * @return what to answer, at once and on the same connection; null for nothing. Whatever is promised later counts
     *     this answer as sent, so it may leave outside of the monitor.
     */
    public synchronized HeartbeatAnswer heartbeat(Heartbeat heartbeat, long persisted, long applied)
            throws RefusedException {
        Answering now = new Answering(persisted, applied);
        answering = now;
        clock.read((time, wall) -> reads.heartbeat(heartbeat, time, wall));
        answering = null;
        if (now.refused) {
            throw new RefusedException();
        }
        return now.answer;
    }

    /** Drops what has to be dropped: call it every few milliseconds. */
    public synchronized void check() {
        clock.read(reads::check);
    }

    /** For any thread: whether this follower may answer reads at this moment. */
    public boolean mayRead() {
        return clock.holds(held);
    }

    /** Nanoseconds until the read lease ends unless it is renewed. For operators. */
    public long remaining() {
        return reads.remaining(clock.now());
    }

    // ---- actions

    @Override
    public void record(long nanos) {
        shell.record(nanos, () -> recorded(nanos));
    }

    private synchronized void recorded(long nanos) {
        promise.recorded(nanos);
    }

    @Override
    public void answer(Heartbeat heartbeat, Ticket ticket, long left) {
        answering.answer = new HeartbeatAnswer(heartbeat.epoch(), heartbeat.connection(), heartbeat.number(), ticket,
            answering.persisted, answering.applied, left, HeartbeatAnswer.ROLE_FULL, incarnation);
    }

    @Override
    public void markedOut(ReadLease.MarkOut why) {
        shell.markedOut(why);
    }

    @Override
    public void refuse(String why) {
        shell.refused(why);
        answering.refused = true;
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.role;

import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.durability.FailStop;
import io.cad.zookeeper.durability.LeaseRecord;
import io.cad.zookeeper.lease.Heartbeat;
import io.cad.zookeeper.lease.HeartbeatAnswer;
import io.cad.zookeeper.lease.Promise;
import io.cad.zookeeper.lease.ReadLease;
import io.cad.zookeeper.lease.Ticket;
import io.cad.zookeeper.metrics.CadMetrics;
import java.io.IOException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What one process of a server owes to leaders and holds as a follower, through all its roles: the shell of
 * {@link Promise} and {@link ReadLease}. Its monitor guards both; nothing waits for a disk or a peer under it.
 */
public final class PeerLease implements Promise.Actions, ReadLease.Actions {

    private static final Logger LOG = LoggerFactory.getLogger(PeerLease.class);

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

    /** Which process of the server this is; a later one has a higher number. */
    public final long incarnation;

    private final LeaseRecord record;
    private Promise promise;
    private ReadLease reads;
    private final LeaseClock.Lease held;
    private long attempts;
    private Answering answering;

    /**
     * The process starts.
     *
     * @param acceptedEpoch the newest epoch that it durably promised
     */
    public PeerLease(CadConfig config, LeaseRecord record, long acceptedEpoch) throws IOException {
        this.record = record;
        this.incarnation = record.nextProcess(System.currentTimeMillis());
        LeaseClock.read((now, wall) -> {
            promise = new Promise(config.leases, acceptedEpoch, record.promise(), now, this);
            reads = new ReadLease(incarnation, config.leases, promise, now, wall, this);
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
        long now = System.nanoTime();
        // A second attempt, after the record failed, finds the promise made already.
        return epoch > promise.promised() ? reads.promise(epoch, now) : promise.owed(now);
    }

    /** What a leader's leases count against. Only under this object's monitor. */
    Promise promise() {
        return promise;
    }

    /** For how many nanoseconds this server is bound. For operators. */
    public synchronized long owed() {
        return promise.owed(System.nanoTime());
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
    synchronized HeartbeatAnswer heartbeat(Heartbeat heartbeat, long persisted, long applied) throws RefusedException {
        Answering now = new Answering(persisted, applied);
        answering = now;
        LeaseClock.read((time, wall) -> reads.heartbeat(heartbeat, time, wall));
        answering = null;
        if (now.refused) {
            throw new RefusedException();
        }
        return now.answer;
    }

    synchronized void check() {
        LeaseClock.read(reads::check);
    }

    /** For any thread: whether this follower may answer reads at this moment. */
    public boolean mayRead() {
        return LeaseClock.holds(held);
    }

    /** Nanoseconds until the read lease ends unless it is renewed. For operators. */
    public long remaining() {
        return reads.remaining(System.nanoTime());
    }

    // ---- actions

    @Override
    public void record(long nanos) {
        // One at a time, and rarely more than one in the life of a process.
        Thread recorder = new Thread(() -> {
            try {
                record.promise(nanos);
            } catch (IOException e) {
                throw FailStop.storage("Recording the longest promise", e);
            }
            synchronized (this) {
                promise.recorded(nanos);
            }
        }, "cad-lease-record");
        recorder.setDaemon(true);
        recorder.start();
    }

    @Override
    public void answer(Heartbeat heartbeat, Ticket ticket, long left) {
        answering.answer = new HeartbeatAnswer(heartbeat.epoch(), heartbeat.connection(), heartbeat.number(), ticket,
            answering.persisted, answering.applied, left, HeartbeatAnswer.ROLE_FULL, incarnation);
    }

    @Override
    public void markedOut(ReadLease.MarkOut why) {
        CadMetrics.get().markedOut(why);
        LOG.debug("The read lease has ended: {}", why);
    }

    @Override
    public void refuse(String why) {
        LOG.error("{}; this server does not follow that leader", why);
        answering.refused = true;
    }
}

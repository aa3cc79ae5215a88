// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.lease;

/**
 * What one process of a server owes to the leaders of older epochs: until when a new epoch in which it takes part may
 * not be established. One object lives from the start of the process to its end, through all epochs and roles.
 *
 * <p>Pure: the caller serialises the events, in particular {@link #promise} with the durable record of the promised
 * epoch and with the last answer to an older leader, and passes the time in nanoseconds of a monotonic clock.
 */
public class Promise {
    /** No promise time was ever recorded by this server. */
    public static final long NONE = -1;

    /** What the server has to do. */
    public interface Actions {
        /**
         * Record durably that this server promises up to {@code nanos}, then call {@link Promise#recorded}. Until then
         * nothing that needs it is sent.
         */
        void record(long nanos);
    }

    private final LeaseSettings settings;
    private final Actions out;

    private long promised;
    private long owedUntil;
    private boolean echoed;
    private long echoUntil;

    private long recorded;
    private long recording = NONE;
    /** The end of everything that was ever answered or sent, and what that was when {@link #latest} took over. */
    private long everythingUntil;
    private long othersUntil;
    private long latest = NONE;

    /**
     * The process starts. That counts as the receipt of a heartbeat with the largest promise that this server ever made
     * or asked for, because the process that ended may have answered one; also after a clean stop.
     *
     * @param promised the newest epoch that the server durably promised
     * @param recorded what {@link Actions#record} wrote last, {@link #NONE} if the server has a history without that
     */
    public Promise(LeaseSettings settings, long promised, long recorded, long now, Actions out) {
        if (recorded != NONE && (recorded < 0 || recorded > LeaseSettings.MAX_NANOS)) {
            throw new IllegalArgumentException("the recorded promise of " + recorded
                    + " ns is no time: the record is damaged; restore it, or remove it and wait for "
                    + LeaseSettings.MAX_NANOS / 1_000_000_000 + " s before the start");
        }
        this.settings = settings;
        this.out = out;
        this.promised = promised;
        this.recorded = recorded;
        this.owedUntil = now + owedAtStart(recorded, settings.promise());
        this.everythingUntil = owedUntil;
        this.othersUntil = owedUntil;
    }

    // --- events

    /**
     * Whether a heartbeat of this epoch with this promise may be answered now. If not, because the promise has to be
     * recorded first, a later heartbeat may be.
     */
    public boolean mayAnswer(long epoch, long nanos, long now) {
        return epoch >= promised && covers(nanos, now);
    }

    /** A heartbeat that was received at {@code received} is about to be answered. */
    public void answered(long received, long nanos) {
        bind(received + nanos);
    }

    /** Whether this server, as leader, may send a heartbeat with this promise now. */
    public boolean maySend(long epoch, long nanos, long now) {
        boolean may = epoch >= promised && covers(nanos, now);
        if (may) {
            everythingUntil = later(everythingUntil, now + nanos);
        }
        return may;
    }

    /** This server, as leader, is about to echo a ticket, that is, to grant a read lease. */
    public void echoed(long now) {
        long until = now + settings.stretch(settings.readLease());
        echoUntil = echoed ? later(echoUntil, until) : until;
        echoed = true;
    }

    /** The record of {@link Actions#record} is durable. */
    public void recorded(long nanos) {
        recorded = nanos;
        recording = NONE;
    }

    /**
     * The server promises a newer epoch, as candidate or as voter. In the same critical section the caller records the
     * epoch durably and sends nothing for an older one any more.
     *
     * @return what to state with the promise: for how many nanoseconds older epochs may still bind this server
     */
    public long promise(long epoch, long now) {
        if (epoch <= promised) {
            throw new IllegalArgumentException("epoch " + epoch + " after epoch " + promised + " was promised");
        }
        promised = epoch;
        return owed(now);
    }

    // --- queries

    /** The newest epoch promised. */
    public long promised() {
        return promised;
    }

    /** For how many nanoseconds this server is bound from now on; 0 if it is not. */
    public long owed(long now) {
        return Math.max(0, Math.max(owedToOthers(now), owedAsLeader(now)));
    }

    // --- decisions; tests replace single ones by wrong ones

    long owedAtStart(long recordedPromise, long configured) {
        return recordedPromise == NONE ? configured : recordedPromise;
    }

    /** What is left of the heartbeats that it answered, in any epoch, and of its start. */
    long owedToOthers(long now) {
        return owedUntil - now;
    }

    /** What is left of the leases that it granted, in any epoch. */
    long owedAsLeader(long now) {
        return echoed ? echoUntil - now : 0;
    }

    /** Whether the durable record covers a promise. Starts to record it if not. */
    boolean covers(long nanos, long now) {
        if (nanos != latest) { // it may have been the latest before: what came in between binds as well
            latest = nanos;
            othersUntil = everythingUntil;
        }
        long sure = recording == NONE ? recorded : Math.min(recorded, recording);
        if (nanos > sure) {
            record(nanos);
            sure = recording == NONE ? recorded : sure;
        } else if (nanos < sure && isOver(othersUntil, now)) {
            record(nanos); // nothing under a larger one binds any more
        }
        return nanos <= sure;
    }

    boolean isOver(long until, long now) {
        return now - until >= 0;
    }

    // --- the step

    private void bind(long until) {
        owedUntil = later(owedUntil, until);
        everythingUntil = later(everythingUntil, until);
    }

    private void record(long nanos) {
        if (recording == NONE) {
            recording = nanos;
            out.record(nanos);
        }
    }

    private static long later(long one, long other) {
        return one - other > 0 ? one : other;
    }
}

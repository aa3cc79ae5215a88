// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.metrics;

import io.cad.zookeeper.gate.Cause;
import java.util.Locale;
import org.apache.zookeeper.metrics.Counter;
import org.apache.zookeeper.metrics.CounterSet;
import org.apache.zookeeper.metrics.MetricsContext;
import org.apache.zookeeper.metrics.MetricsContext.DetailLevel;
import org.apache.zookeeper.metrics.Summary;
import org.apache.zookeeper.metrics.SummarySet;
import org.apache.zookeeper.server.ServerMetrics;

/**
 * What the plugin counts, in the server's own metrics provider: {@code mntr},
 * Prometheus and the AdminServer show it without further set-up. Times are
 * microseconds.
 */
public final class CadMetrics {

    private static final class Holder {
        static final CadMetrics INSTANCE =
            new CadMetrics(ServerMetrics.getMetrics().getMetricsProvider().getRootContext());
    }

    private final Counter readsHeld;
    private final Counter repliesHeld;
    private final Counter repliesHeldBytes;
    private final Counter repliesDiscarded;
    private final CounterSet heldByCause;
    private final SummarySet holdTime;
    private final Counter windowStalls;
    private final CounterSet connectionsClosed;
    private final Counter flushRounds;
    private final Counter flushRoundsTimedOut;
    private final Summary flushRoundTime;
    private final Summary flushTime;
    private final Summary flushBatch;
    private final Counter earlyCommits;
    private final Counter flushRequests;
    private final Counter readBarriers;
    private final Counter writesRefused;
    private final Counter reads;
    private final Counter rolledBackTxns;
    private final CounterSet leaseMarkOuts;
    private final CounterSet activeSetRemovals;
    private final CounterSet activeSetLeaves;
    private final Counter activeSetAdmissions;
    private final Summary promiseWait;
    private final Counter unconfirmedReads;
    private final Summary sentAway;

    private final String[] causeNames = new String[Cause.values().length];

    private CadMetrics(MetricsContext context) {
        for (Cause cause : Cause.values()) {
            causeNames[cause.ordinal()] = cause.name().toLowerCase(Locale.ROOT);
        }
        readsHeld = context.getCounter("cad_reads_held");
        repliesHeld = context.getCounter("cad_replies_held");
        repliesHeldBytes = context.getCounter("cad_replies_held_bytes");
        repliesDiscarded = context.getCounter("cad_replies_discarded");
        heldByCause = context.getCounterSet("cad_held_by_cause");
        holdTime = context.getSummarySet("cad_hold_time_us", DetailLevel.ADVANCED);
        windowStalls = context.getCounter("cad_window_stalls");
        connectionsClosed = context.getCounterSet("cad_connections_closed");
        flushRounds = context.getCounter("cad_flush_rounds");
        flushRoundsTimedOut = context.getCounter("cad_flush_rounds_timed_out");
        flushRoundTime = context.getSummary("cad_flush_round_time_us", DetailLevel.ADVANCED);
        flushTime = context.getSummary("cad_flush_time_us", DetailLevel.ADVANCED);
        flushBatch = context.getSummary("cad_flush_batch_txns", DetailLevel.ADVANCED);
        earlyCommits = context.getCounter("cad_early_commits");
        flushRequests = context.getCounter("cad_flush_requests");
        readBarriers = context.getCounter("cad_read_barriers");
        writesRefused = context.getCounter("cad_writes_refused");
        reads = context.getCounter("cad_reads");
        rolledBackTxns = context.getCounter("cad_rolled_back_txns");
        leaseMarkOuts = context.getCounterSet("cad_lease_mark_outs");
        activeSetRemovals = context.getCounterSet("cad_active_set_removals");
        activeSetLeaves = context.getCounterSet("cad_active_set_told_to_leave");
        activeSetAdmissions = context.getCounter("cad_active_set_admissions");
        promiseWait = context.getSummary("cad_promise_wait_ms", DetailLevel.BASIC);
        unconfirmedReads = context.getCounter("cad_reads_unconfirmed");
        sentAway = context.getSummary("cad_clients_sent_away", DetailLevel.BASIC);
    }

    public static CadMetrics get() {
        return Holder.INSTANCE;
    }

    /** A read passed through the gate, held or not. */
    public void read() {
        reads.add(1);
    }

    /** A reply was held because what it shows was not durable. */
    public void held(Cause cause, long bytes) {
        repliesHeld.add(1);
        repliesHeldBytes.add(bytes);
        heldByCause.inc(causeNames[cause.ordinal()]);
        if (cause == Cause.READ) {
            readsHeld.add(1);
        } else if (cause == Cause.WINDOW) {
            windowStalls.add(1);
        }
    }

    public void released(Cause cause, long bytes, long heldNanos) {
        holdTime.add(causeNames[cause.ordinal()], heldNanos / 1000);
    }

    /** Held replies died with their connection or role. */
    public void discarded(long replies, long bytes) {
        repliesDiscarded.add(replies);
    }

    /** The gate closed a connection. */
    public void closed(String reason) {
        connectionsClosed.inc(reason);
    }

    /** A sync of this server's log ended. */
    public void localFlush(long nanos, long txns) {
        flushTime.add(nanos / 1000);
        flushBatch.add(txns);
    }

    /** An on-demand round at the leader ended. */
    public void flushRound(boolean reached, long nanos) {
        flushRounds.add(1);
        flushRoundTime.add(nanos / 1000);
        if (!reached) {
            flushRoundsTimedOut.add(1);
        }
    }

    /** The leader committed writes that only it holds. */
    public void earlyCommit() {
        earlyCommits.add(1);
    }

    /** A learner asked the leader to flush. */
    public void flushRequest() {
        flushRequests.add(1);
    }

    /** A read at another server than the leader asked the leader for its position. */
    public void readBarrier() {
        readBarriers.add(1);
    }

    /** A write was refused because the disk is nearly full. */
    public void writeRefused() {
        writesRefused.add(1);
    }

    /** Changes of a deposed leader were taken back here. */
    public void rolledBack(long txns) {
        rolledBackTxns.add(txns);
    }

    /** A read lease ended. */
    public void markedOut(Enum<?> why) {
        leaseMarkOuts.inc(name(why));
    }

    /** A follower may answer reads from now on. */
    public void admitted() {
        activeSetAdmissions.add(1);
    }

    public void removed(Enum<?> why) {
        activeSetRemovals.inc(name(why));
    }

    public void toldToLeave(Enum<?> why) {
        activeSetLeaves.inc(name(why));
    }

    /** A server that promised this leader's epoch is bound by older ones for so long. */
    public void promiseWait(long nanos) {
        promiseWait.add(nanos / 1_000_000);
    }

    /** The leader could not confirm its lease to a read elsewhere, whose connection is closed. */
    public void unconfirmedRead() {
        unconfirmedReads.add(1);
    }

    /** So many sessions that had waited for a lease were sent to another server at one moment. */
    public void sentAway(int sessions) {
        sentAway.add(sessions);
    }

    private static String name(Enum<?> label) {
        return label.name().toLowerCase(Locale.ROOT);
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.lease;

import java.util.EnumMap;
import java.util.Map;

/**
 * Notices that a leader gets nothing done any more although there is work: a thread that only sends heartbeats must not
 * keep it in office. Pure; the caller serialises the calls.
 */
public class StuckLeader {
    /** What the leader's work consists of. */
    public enum Work { REPLICATION, FLUSH, APPLICATION }

    private static final class Progress {
        long done = Long.MIN_VALUE;
        long since;
        boolean pending;
    }

    private final long timeoutNanos;
    private final Map<Work, Progress> all = new EnumMap<>(Work.class);

    /** @param timeoutNanos how long the oldest piece of work may stay as it is ({@code cad.stuck}) */
    public StuckLeader(long timeoutNanos) {
        if (timeoutNanos <= 0) {
            throw new IllegalArgumentException("cad.stuck: " + timeoutNanos + " ns is no time; set it above 0");
        }
        this.timeoutNanos = timeoutNanos;
        for (Work work : Work.values()) {
            all.put(work, new Progress());
        }
    }

    /** There is work up to index {@code wanted}, and it is done up to {@code done}. */
    public void observe(Work work, long wanted, long done, long now) {
        Progress progress = all.get(work);
        boolean pending = wanted > done;
        if (!pending || !progress.pending || moved(progress.done, done)) {
            progress.since = now;
        }
        progress.pending = pending;
        progress.done = done;
    }

    /** What has made no progress for the whole time, or null. */
    public Work stuck(long now) {
        for (Map.Entry<Work, Progress> entry : all.entrySet()) {
            Progress progress = entry.getValue();
            if (progress.pending && now - progress.since >= timeoutNanos) {
                return entry.getKey();
            }
        }
        return null;
    }

    boolean moved(long before, long done) {
        return done > before;
    }
}

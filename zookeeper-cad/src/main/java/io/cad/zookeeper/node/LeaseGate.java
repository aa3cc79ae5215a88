// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.node;

import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Queue;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * A read is executed only if this server held a lease after the read arrived (rule R1). Without one it waits here, and
 * so do the later requests of its session; when the time is up they are late: the session's connection is closed, so
 * that its client tries another server. That is spread over some time, by session, lest all clients of a server arrive
 * elsewhere at once. No thread waits; what waits is bounded by what the connections have in flight.
 *
 * @param <T> a request
 */
public final class LeaseGate<T> {

    private static final class Waiting<T> {
        final T request;
        final long session;
        final long deadline;

        Waiting(T request, long session, long deadline) {
            this.request = request;
            this.session = session;
            this.deadline = deadline;
        }
    }

    private final BooleanSupplier lease;
    private final long begin;
    private final long wait;
    private final long spread;
    private final Consumer<T> next;
    private final Consumer<T> late;
    private final LongSupplier clock;
    private volatile boolean anyWaiting;
    private volatile long lastHeld;

    // Guarded by this object's monitor.
    private final Queue<Waiting<T>> queue = new ArrayDeque<>();
    private final Set<Long> waitingSessions = new HashSet<>();

    /**
     * @param lease whether reads may be executed at this moment
     * @param begin until then nobody has a lease because the epoch is new: time of the clock
     * @param wait how long a read waits, in nanoseconds
     * @param spread over which time what is late is spread, in nanoseconds
     * @param next takes a request without blocking
     * @param late takes, in order, what has waited for too long and everything of that session behind it
     * @param clock the monotonic clock, in nanoseconds
     */
    public LeaseGate(BooleanSupplier lease, long begin, long wait, long spread, Consumer<T> next, Consumer<T> late,
            LongSupplier clock) {
        this.lease = lease;
        this.begin = begin;
        this.lastHeld = begin;
        this.wait = wait;
        this.spread = spread;
        this.next = next;
        this.late = late;
        this.clock = clock;
    }

    /** A request of a session, whose requests are submitted one after the other. */
    public void submit(T request, long session, boolean read) {
        if (!anyWaiting && (!read || lease.getAsBoolean())) {
            next.accept(request);
            return;
        }
        synchronized (this) {
            if (waitingSessions.contains(session) || read && !lease.getAsBoolean()) {
                queue.add(new Waiting<>(request, session, deadline(session, clock.getAsLong())));
                waitingSessions.add(session);
                anyWaiting = true;
            } else {
                next.accept(request);
            }
        }
    }

    /**
     * Time has passed, or a lease was renewed.
     *
     * @return of how many sessions requests were late
     */
    public int poll(long now) {
        if (lease.getAsBoolean()) {
            lastHeld = now;
        }
        return anyWaiting ? passOrHandOver(now) : 0;
    }

    /** Whether there has been no lease for so long that a new client had better go elsewhere at once. */
    public boolean isLongWithout(long now) {
        return now - lastHeld > wait && now - begin > wait && !lease.getAsBoolean();
    }

    /** The role ended: what waits is never executed. */
    public synchronized void discard() {
        queue.clear();
        waitingSessions.clear();
        anyWaiting = false;
    }

    private long deadline(long session, long now) {
        long from = now - begin > 0 ? now : begin;
        // Session ids differ in their low bits, which count sessions, and in the server's number above.
        long place = Math.floorMod(session * 0x9E3779B97F4A7C15L >>> 16, 1024L);
        return from + wait + spread / 1024 * place;
    }

    private synchronized int passOrHandOver(long now) {
        int sessions = 0;
        if (lease.getAsBoolean()) {
            for (Waiting<T> waiting : queue) {
                next.accept(waiting.request);
            }
            queue.clear();
            waitingSessions.clear();
        } else {
            sessions = handOverLate(now);
        }
        anyWaiting = !queue.isEmpty();
        return sessions;
    }

    private int handOverLate(long now) {
        Set<Long> over = new HashSet<>();
        for (Iterator<Waiting<T>> all = queue.iterator(); all.hasNext();) {
            Waiting<T> waiting = all.next();
            if (over.contains(waiting.session) || now - waiting.deadline >= 0) {
                all.remove();
                over.add(waiting.session);
                late.accept(waiting.request);
            }
        }
        waitingSessions.removeAll(over);
        return over.size();
    }
}

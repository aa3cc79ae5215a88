// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.role;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.function.Consumer;

/**
 * A leader tells its followers what is committed before it has applied it
 * itself, so a follower may acknowledge a write that a read here would miss.
 * Where reads are the leader's, one that arrives in between waits until
 * everything committed by then is applied (rule R1), and so do the later
 * requests of its session. No thread waits; the wait is as long as applying
 * takes, and what waits is bounded by what the connections have in flight.
 *
 * @param <T> a request
 */
public final class ReadsAfterCommits<T> {

    private static final class Waiting<T> {
        final T request;
        final long session;
        final long target;

        Waiting(T request, long session, long target) {
            this.request = request;
            this.session = session;
            this.target = target;
        }
    }

    private final Consumer<T> next;
    private volatile long committed;
    private volatile long applied;
    private volatile boolean anyWaiting;

    // Guarded by this object's monitor. Targets rise along the queue, because the committed index does.
    private final Queue<Waiting<T>> queue = new ArrayDeque<>();
    private final Map<Long, Integer> waitingBySession = new HashMap<>();

    /**
     * @param applied index of the state at the start
     * @param next takes a request without blocking
     */
    public ReadsAfterCommits(long applied, Consumer<T> next) {
        this.committed = applied;
        this.applied = applied;
        this.next = next;
    }

    /** Before anybody is told that the change is committed. Calls come in the order of the indices. */
    public void committed(long index) {
        committed = index;
    }

    /** After the change is visible to reads. Calls come in the order of the indices. */
    public void applied(long index) {
        applied = index;
        if (anyWaiting) {
            passWhatMay();
        }
    }

    /** A request of a session, whose requests are submitted one after the other. */
    public void submit(T request, long session, boolean read) {
        if (!anyWaiting && (!read || committed <= applied)) {
            next.accept(request);
            return;
        }
        synchronized (this) {
            // Before the check: a change applied from now on is seen by the check or sees this.
            anyWaiting = true;
            boolean mustWait = read && committed > applied || waitingBySession.containsKey(session);
            if (mustWait) {
                queue.add(new Waiting<>(request, session, committed));
                waitingBySession.merge(session, 1, Integer::sum);
            } else {
                next.accept(request);
            }
            passWhatMay();
        }
    }

    /** The role ended: what waits is never executed. */
    public synchronized void discard() {
        queue.clear();
        waitingBySession.clear();
    }

    private synchronized void passWhatMay() {
        while (!queue.isEmpty() && queue.peek().target <= applied) {
            Waiting<T> first = queue.remove();
            waitingBySession.computeIfPresent(first.session, (session, n) -> n == 1 ? null : n - 1);
            next.accept(first.request);
        }
        anyWaiting = !queue.isEmpty();
    }
}

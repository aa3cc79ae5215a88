// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import java.util.ArrayDeque;
import java.util.NoSuchElementException;

/**
 * The replies of one client connection that were executed already and wait until what they expose is durable.
 * They leave in the order in which they were produced. Not thread safe: the connection's lock guards it.
 *
 * @param <T> a reply, ready to be sent
 */
public class ReplyQueue<T> {
    private static final class Held<T> {
        final T reply;
        final long required;
        final long bytes;
        final long since;

        Held(T reply, long required, long bytes, long since) {
            this.reply = reply;
            this.required = required;
            this.bytes = bytes;
            this.since = since;
        }
    }

    private final ArrayDeque<Held<T>> queue = new ArrayDeque<>();
    /** Those held replies that require more than each one behind them; the first has the maximum of all. */
    private final ArrayDeque<Held<T>> maxima = new ArrayDeque<>();
    private long bytes;

    /** Whether a reply may be sent at once: nobody is in front of it and what it exposes is durable. */
    public boolean passes(long required, long durable) {
        return queue.isEmpty() && isDurable(required, durable);
    }

    /**
     * Puts a reply at the end.
     *
     * @param required what has to be durable before it may leave, {@link Indices#NONE} if it only keeps its place
     * @param bytes its size
     * @param now nanoseconds of a monotonic clock
     */
    public void hold(T reply, long required, long bytes, long now) {
        if (bytes < 0) {
            throw new IllegalArgumentException("a reply of " + bytes + " bytes");
        }
        Held<T> held = new Held<>(reply, required, bytes, now);
        queue.addLast(held);
        while (!maxima.isEmpty() && maxima.peekLast().required <= required) {
            maxima.removeLast();
        }
        maxima.addLast(held);
        this.bytes += bytes;
    }

    /** Removes and returns the first reply if it may leave, else null. Call it until it returns null. */
    public T pollReady(long durable) {
        Held<T> head = queue.peekFirst();
        if (head == null || !isDurable(head.required, durable)) {
            return null;
        }
        if (head.required > durable) {
            throw new InvariantViolation("NoReplyAboveDurable",
                    "required " + Indices.format(head.required) + ", durable " + Indices.format(durable));
        }
        queue.removeFirst();
        if (maxima.peekFirst() == head) {
            maxima.removeFirst();
        }
        bytes -= head.bytes;
        return head.reply;
    }

    /** What the first reply requires; {@link Indices#NONE} if nothing is held. */
    public long headRequired() {
        return queue.isEmpty() ? Indices.NONE : queue.peekFirst().required;
    }

    /** The highest index that any held reply requires: what to ask for. {@link Indices#NONE} if nothing is held. */
    public long maxRequired() {
        return maxima.isEmpty() ? Indices.NONE : maxima.peekFirst().required;
    }

    public int size() {
        return queue.size();
    }

    public long bytes() {
        return bytes;
    }

    /** When the first reply was held; throws NoSuchElementException if nothing is held. */
    public long oldestHeldAt() {
        if (queue.isEmpty()) {
            throw new NoSuchElementException("no reply is held");
        }
        return queue.peekFirst().since;
    }

    /**
     * Forgets every held reply: the role, the epoch or the connection to the leader in which they were executed has
     * ended, and a reply leaves in no other. The caller closes the client connection. Returns how many they were.
     */
    public int discard() {
        int discarded = queue.size();
        queue.clear();
        maxima.clear();
        bytes = 0;
        return discarded;
    }

    /** The decision; tests replace it. */
    boolean isDurable(long required, long durable) {
        return required <= durable;
    }
}

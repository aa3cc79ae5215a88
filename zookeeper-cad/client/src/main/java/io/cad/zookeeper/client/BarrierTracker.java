// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.client;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Which writes a barrier covers: those whose acknowledgement arrived before the barrier's reply, on the same connection.
 *
 * <p>Replies of one connection arrive in the order of its requests, so the barrier was executed after each of those
 * writes, at a server whose history contains them. A barrier on a later connection proves nothing for them: that server
 * may lead an epoch without them. Therefore the loss of the connection settles every write that was acknowledged and
 * not covered as unknown.
 *
 * <p>Pure bookkeeping: each method is one event, and the caller serialises the events. {@code source} stands for the
 * connection's stream of replies; replies of two sources have no order among them. A method that returns true asks the
 * caller to send a barrier now; there is never more than one in flight.
 *
 * @param <R> what the acknowledgement of a write brings
 */
final class BarrierTracker<R> {
    /** One write, or one question whether everything before it is durable. */
    static final class Entry<R> {
        private final long number;
        private final Consumer<R> covered;
        private final Consumer<DurabilityUnknownException> unknown;
        private R result;

        private Entry(long number, Consumer<R> covered, Consumer<DurabilityUnknownException> unknown) {
            this.number = number;
            this.covered = covered;
            this.unknown = unknown;
        }

        private boolean wantsBarrier() {
            return covered != null;
        }
    }

    private static final long NONE = Long.MAX_VALUE;

    private long submitted;
    /** Writes without an acknowledgement, in order of submission. */
    private final Set<Entry<R>> open = new LinkedHashSet<>();
    /** Questions that wait for one of these, in order. */
    private final Deque<Entry<R>> questions = new ArrayDeque<>();
    /** Acknowledged by {@link #source}, not covered yet, and somebody wants to know. */
    private final List<Entry<R>> acknowledged = new ArrayList<>();
    private Object source;
    /** Lowest number among all that {@link #source} acknowledged and no barrier covered, wanted or not. */
    private long firstUncovered = NONE;
    /** Lowest number of a write that nobody can vouch for. */
    private long firstUnknown = NONE;
    private long unknownWrites;
    private long uncoveredWrites;
    private boolean barrierInFlight;
    /** Something that wants a barrier was submitted after the one in flight. */
    private boolean another;

    // --- what the application does

    /** A write is about to be sent whose durability nobody waits for. */
    Entry<R> plainWrite() {
        return open(new Entry<>(++submitted, null, null));
    }

    /**
     * A write is about to be sent.
     *
     * @param covered called when it is durable
     * @param unknown called instead when that cannot be found out any more
     */
    Entry<R> durableWrite(Consumer<R> covered, Consumer<DurabilityUnknownException> unknown) {
        return open(new Entry<>(++submitted, covered, unknown));
    }

    private Entry<R> open(Entry<R> write) {
        open.add(write);
        return write;
    }

    /** The write has been handed to the connection: a barrier sent now follows it closely. */
    boolean sent(Entry<R> write) {
        return write.wantsBarrier() && wantBarrier();
    }

    /** Asks for everything submitted so far; one of the two is called, at once if nothing is open. */
    boolean upToHere(Runnable covered, Consumer<DurabilityUnknownException> unknown) {
        Entry<R> question = new Entry<>(submitted, nothing -> covered.run(), unknown);
        if (firstUnknown <= question.number) {
            unknown.accept(stillUnknown());
            return false;
        }
        if (open.isEmpty() && firstUncovered == NONE) {
            covered.run();
            return false;
        }
        questions.add(question);
        settleQuestions();
        return wantBarrier();
    }

    /** The application knows of the writes whose durability is unknown; later questions leave them out. */
    long forgetUnknown() {
        long forgotten = unknownWrites;
        unknownWrites = 0;
        firstUnknown = NONE;
        return forgotten;
    }

    /** Writes and questions that are not settled. */
    int unsettled() {
        return open.size() + questions.size() + acknowledged.size();
    }

    // --- what the connection reports

    /** The servers acknowledged a write. */
    boolean acknowledged(Entry<R> write, R result, Object from) {
        if (!open.remove(write)) {
            return false; // settled already, by close
        }
        if (source != from) {
            loseUncovered("it was acknowledged on another connection", null);
            source = from;
        }
        write.result = result;
        firstUncovered = Math.min(firstUncovered, write.number);
        uncoveredWrites++;
        if (write.wantsBarrier()) {
            acknowledged.add(write);
        }
        settleQuestions();
        return !acknowledged.isEmpty() && !barrierInFlight && wantBarrier();
    }

    /** The servers refused a write: it has no effect. */
    boolean refused(Entry<R> write) {
        open.remove(write);
        settleQuestions();
        return !acknowledged.isEmpty() && !barrierInFlight && wantBarrier();
    }

    /** Nobody knows whether a write has an effect. */
    void lost(Entry<R> write) {
        if (open.remove(write)) {
            countUnknown(write.number, 1);
            settleQuestions();
        }
    }

    /** The reply of the barrier. */
    boolean barrierReplied(Object from) {
        barrierInFlight = false;
        if (source == from) {
            List<Entry<R>> durable = new ArrayList<>(acknowledged);
            acknowledged.clear();
            firstUncovered = NONE;
            uncoveredWrites = 0;
            durable.forEach(entry -> entry.covered.accept(entry.result));
        } else {
            loseUncovered("it was acknowledged on another connection than the barrier", null);
        }
        settleQuestions();
        return (another || !acknowledged.isEmpty()) && wantBarrier();
    }

    /** The barrier will get no reply. */
    void barrierFailed(Throwable cause) {
        barrierInFlight = false;
        loseUncovered("no barrier could follow it", cause);
    }

    /** The connection ended; what arrives from now on is of a later one. */
    void disconnected(Throwable cause) {
        loseUncovered("the connection ended before a barrier", cause);
    }

    /** No event will follow. */
    void close(Throwable cause) {
        loseUncovered("the client was closed before a barrier", cause);
        open.forEach(write -> countUnknown(write.number, 1));
        List<Entry<R>> rest = new ArrayList<>(open);
        rest.addAll(questions);
        open.clear();
        questions.clear();
        for (Entry<R> entry : rest) {
            if (entry.wantsBarrier()) {
                entry.unknown.accept(new DurabilityUnknownException("the client was closed", cause));
            }
        }
    }

    // ---

    private boolean wantBarrier() {
        another = barrierInFlight;
        boolean send = !barrierInFlight;
        barrierInFlight = true;
        return send;
    }

    private void loseUncovered(String why, Throwable cause) {
        if (firstUncovered == NONE) {
            return;
        }
        countUnknown(firstUncovered, uncoveredWrites);
        firstUncovered = NONE;
        uncoveredWrites = 0;
        List<Entry<R>> lost = new ArrayList<>(acknowledged);
        acknowledged.clear();
        for (Entry<R> entry : lost) {
            entry.unknown.accept(new DurabilityUnknownException(
                    "a write was acknowledged, but " + why + " could confirm that it is durable; it may be lost", cause));
        }
        settleQuestions();
    }

    private void countUnknown(long number, long writes) {
        firstUnknown = Math.min(firstUnknown, number);
        unknownWrites += writes;
    }

    private DurabilityUnknownException stillUnknown() {
        return new DurabilityUnknownException(unknownWrites + " earlier write(s) of this client may be lost; look at"
                + " their futures, read what is there, then call forgetUnknown()", null);
    }

    /** A question fails with any write before it, and once those all have their answer needs just a barrier more. */
    private void settleQuestions() {
        while (!questions.isEmpty() && firstUnknown <= questions.getLast().number) {
            questions.removeLast().unknown.accept(stillUnknown());
        }
        long firstOpen = open.isEmpty() ? NONE : open.iterator().next().number;
        while (!questions.isEmpty() && questions.getFirst().number < firstOpen) {
            Entry<R> answered = questions.removeFirst();
            if (firstUncovered <= answered.number) {
                acknowledged.add(answered);
            } else {
                answered.covered.accept(null);
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.client.BarrierTracker.Entry;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The rule, one situation at a time. */
class BarrierTrackerTest {
    private static final Object CONNECTION = "connection";

    private final BarrierTracker<String> tracker = new BarrierTracker<>();
    private final List<String> log = new ArrayList<>();

    private Entry<String> write(String name) {
        return tracker.durableWrite(result -> log.add(name + " durable " + result), e -> log.add(name + " unknown"));
    }

    private boolean ask(String name) {
        return tracker.upToHere(() -> log.add(name + " durable"), e -> log.add(name + " unknown"));
    }

    @Test
    void aBarrierFollowsTheWriteAndCoversIt() {
        Entry<String> a = write("a");
        assertTrue(tracker.sent(a), "barrier right behind the write");
        assertFalse(tracker.acknowledged(a, "ok", CONNECTION), "it is under way");
        assertEquals(List.of(), log, "acknowledged is not durable");
        assertFalse(tracker.barrierReplied(CONNECTION));
        assertEquals(List.of("a durable ok"), log);
        assertEquals(0, tracker.unsettled());
    }

    @Test
    void writesOfABarrierInFlightShareTheNextOne() {
        Entry<String> a = write("a");
        assertTrue(tracker.sent(a));
        Entry<String> b = write("b");
        Entry<String> c = write("c");
        assertFalse(tracker.sent(b));
        assertFalse(tracker.sent(c));
        tracker.acknowledged(a, "1", CONNECTION);
        assertTrue(tracker.barrierReplied(CONNECTION), "the next one");
        assertEquals(List.of("a durable 1"), log);
        tracker.acknowledged(b, "2", CONNECTION);
        tracker.acknowledged(c, "3", CONNECTION);
        assertFalse(tracker.barrierReplied(CONNECTION), "and no more");
        assertEquals(List.of("a durable 1", "b durable 2", "c durable 3"), log);
    }

    @Test
    void aWriteAcknowledgedAfterTheReplyOfTheBarrierNeedsAnotherOne() {
        Entry<String> a = write("a");
        tracker.sent(a);
        assertFalse(tracker.barrierReplied(CONNECTION), "the write is being repeated by Curator");
        assertEquals(List.of(), log);
        assertTrue(tracker.acknowledged(a, "ok", CONNECTION));
        tracker.barrierReplied(CONNECTION);
        assertEquals(List.of("a durable ok"), log);
    }

    @Test
    void aBarrierAfterTheConnectionEndedCompletesNothingOlder() {
        Entry<String> a = write("a");
        tracker.sent(a);
        tracker.acknowledged(a, "ok", CONNECTION);
        tracker.disconnected(null);
        assertEquals(List.of("a unknown"), log);
        tracker.barrierReplied(CONNECTION);
        assertEquals(List.of("a unknown"), log);
    }

    @Test
    void aBarrierOfAnotherSessionCompletesNothing() {
        Entry<String> a = write("a");
        tracker.sent(a);
        tracker.acknowledged(a, "ok", CONNECTION);
        tracker.barrierReplied("another handle");
        assertEquals(List.of("a unknown"), log);
    }

    @Test
    void acknowledgementsOfTwoSessionsAreNotMixed() {
        Entry<String> a = write("a");
        tracker.sent(a);
        tracker.acknowledged(a, "1", CONNECTION);
        Entry<String> b = write("b");
        tracker.sent(b);
        tracker.acknowledged(b, "2", "another handle");
        tracker.barrierReplied("another handle");
        assertEquals(List.of("a unknown", "b durable 2"), log);
    }

    @Test
    void aFailedBarrierLeavesWhatItShouldCoverUnknown() {
        Entry<String> a = write("a");
        Entry<String> b = write("b");
        tracker.sent(a);
        tracker.acknowledged(a, "ok", CONNECTION);
        tracker.barrierFailed(null);
        assertEquals(List.of("a unknown"), log);
        assertTrue(tracker.acknowledged(b, "ok", CONNECTION), "the next write gets its own");
        tracker.barrierReplied(CONNECTION);
        assertEquals(List.of("a unknown", "b durable ok"), log);
    }

    @Test
    void aQuestionWithNothingOpenIsAnsweredWithoutABarrier() {
        assertFalse(ask("all"));
        Entry<String> a = write("a");
        tracker.sent(a);
        tracker.acknowledged(a, "ok", CONNECTION);
        tracker.barrierReplied(CONNECTION);
        assertFalse(ask("all"));
        assertEquals(List.of("all durable", "a durable ok", "all durable"), log);
    }

    @Test
    void aQuestionWaitsForEveryWriteBeforeItAndForNoLaterOne() {
        Entry<String> a = tracker.plainWrite();
        Entry<String> b = tracker.plainWrite();
        assertTrue(ask("both"));
        Entry<String> later = tracker.plainWrite();
        tracker.acknowledged(a, "ok", CONNECTION);
        tracker.barrierReplied(CONNECTION);
        assertEquals(List.of(), log);
        assertTrue(tracker.acknowledged(b, "ok", CONNECTION));
        tracker.barrierReplied(CONNECTION);
        assertEquals(List.of("both durable"), log);
        tracker.acknowledged(later, "ok", CONNECTION);
        assertTrue(ask("later"));
    }

    @Test
    void plainWritesLostWithTheConnectionAreRemembered() {
        Entry<String> a = tracker.plainWrite();
        tracker.acknowledged(a, "ok", CONNECTION);
        tracker.disconnected(null);
        assertFalse(ask("first"));
        assertFalse(ask("second"));
        assertEquals(List.of("first unknown", "second unknown"), log);
        assertEquals(1, tracker.forgetUnknown());
        assertFalse(ask("third"));
        assertEquals(List.of("first unknown", "second unknown", "third durable"), log);
    }

    @Test
    void aQuestionFailsWithAWriteBeforeItAndNotWithALaterOne() {
        Entry<String> a = tracker.plainWrite();
        ask("before");
        Entry<String> b = tracker.plainWrite();
        ask("after");
        tracker.lost(b);
        tracker.acknowledged(a, "ok", CONNECTION);
        tracker.barrierReplied(CONNECTION);
        assertEquals(List.of("after unknown", "before durable"), log);
    }

    @Test
    void aRefusedWriteDoesNotCount() {
        Entry<String> a = tracker.plainWrite();
        ask("all");
        tracker.refused(a);
        assertEquals(List.of("all durable"), log);
    }

    @Test
    void closingSettlesEverything() {
        Entry<String> a = write("a");
        tracker.sent(a);
        tracker.acknowledged(a, "ok", CONNECTION);
        write("b");
        ask("all");
        tracker.close(null);
        assertEquals(List.of("a unknown", "all unknown", "b unknown"), log.stream().sorted().toList());
        assertEquals(0, tracker.unsettled());
        assertEquals(2, tracker.forgetUnknown());
    }
}

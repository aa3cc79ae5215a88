// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.cad.zookeeper.testing.Await;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Packets for learners may gather, but never while somebody waits for them. */
class SendPaceTest {

    private static final long HOUR = TimeUnit.HOURS.toNanos(1);

    private static CompletableFuture<Thread> pausing(SendPace pace) {
        CompletableFuture<Thread> done = new CompletableFuture<>();
        Thread sender = new Thread(() -> {
            try {
                pace.pause();
                done.complete(Thread.currentThread());
            } catch (InterruptedException e) {
                done.completeExceptionally(e);
            }
        });
        sender.start();
        Await.until("the sender pauses", () -> sender.getState() == Thread.State.TIMED_WAITING || done.isDone());
        return done;
    }

    @Test
    void hurryEndsAPause() {
        SendPace pace = new SendPace(HOUR);
        CompletableFuture<Thread> first = pausing(pace);
        pace.hurry();
        Await.get("the pause", first);
        // It counts once: the next batch gathers again.
        CompletableFuture<Thread> second = pausing(pace);
        assertFalse(second.isDone());
        pace.hurry();
        Await.get("the pause", second);
    }

    @Test
    void hurryBeforeThePauseIsNotLost() throws InterruptedException {
        SendPace pace = new SendPace(HOUR);
        pace.hurry();
        pace.pause();
    }

    @Test
    void aPauseCanBeInterrupted() {
        SendPace pace = new SendPace(HOUR);
        CompletableFuture<Thread> done = new CompletableFuture<>();
        Thread sender = new Thread(() -> {
            Thread.currentThread().interrupt();
            try {
                pace.pause();
                done.complete(null);
            } catch (InterruptedException e) {
                done.completeExceptionally(e);
            }
        });
        sender.start();
        ExecutionException failure = assertThrows(ExecutionException.class, done::get);
        assertEquals(InterruptedException.class, failure.getCause().getClass());
    }
}

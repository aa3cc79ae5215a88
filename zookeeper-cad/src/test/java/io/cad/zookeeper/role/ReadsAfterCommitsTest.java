// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.role;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** A read at the leader is no older than what a follower may have acknowledged when it arrived. */
class ReadsAfterCommitsTest {
    private final List<String> passed = new ArrayList<>();
    private final ReadsAfterCommits<String> reads = new ReadsAfterCommits<>(10, passed::add);

    @Test
    void aReadPassesWhenNothingIsBetweenCommitAndApplication() {
        reads.submit("read", 1, true);
        reads.committed(11);
        reads.applied(11);
        reads.submit("later", 1, true);
        assertEquals(List.of("read", "later"), passed);
    }

    @Test
    void aReadWaitsForWhatIsCommittedAndForNothingLater() {
        reads.committed(11);
        reads.submit("read", 1, true);
        reads.committed(12);
        assertEquals(List.of(), passed);
        reads.applied(11);
        assertEquals(List.of("read"), passed);
    }

    @Test
    void theSessionKeepsItsOrderAndOthersGoOn() {
        reads.committed(11);
        reads.submit("read", 1, true);
        reads.submit("write", 1, false);
        reads.submit("other", 2, false);
        assertEquals(List.of("other"), passed);
        reads.applied(11);
        assertEquals(List.of("other", "read", "write"), passed);
        reads.submit("write2", 1, false);
        assertEquals(List.of("other", "read", "write", "write2"), passed);
    }

    @Test
    void whatWaitsDiesWithTheRole() {
        reads.committed(11);
        reads.submit("read", 1, true);
        reads.discard();
        reads.applied(11);
        assertEquals(List.of(), passed);
    }

    /** Requests and applications race: nothing passes early, nothing stays behind, each session stays in order. */
    @Test
    void racingThreads() throws Exception {
        int sessions = 4;
        int rounds = 20_000;
        AtomicLong appliedIndex = new AtomicLong();
        AtomicInteger early = new AtomicInteger();
        AtomicInteger disordered = new AtomicInteger();
        AtomicInteger count = new AtomicInteger();
        long[] last = new long[sessions];
        ReadsAfterCommits<long[]> racing = new ReadsAfterCommits<>(0, request -> {
            int session = (int) request[0];
            if (request[2] > appliedIndex.get()) {
                early.incrementAndGet();
            }
            if (request[1] != last[session] + 1) {
                disordered.incrementAndGet();
            }
            last[session] = request[1];
            count.incrementAndGet();
        });
        AtomicLong committedIndex = new AtomicLong();
        List<Thread> threads = new ArrayList<>();
        threads.add(new Thread(() -> {
            for (long i = 1; i <= rounds; i++) {
                racing.committed(i);
                committedIndex.set(i);
                appliedIndex.set(i);
                racing.applied(i);
            }
        }));
        for (int s = 0; s < sessions; s++) {
            int session = s;
            threads.add(new Thread(() -> {
                for (long i = 1; i <= rounds; i++) {
                    boolean read = i % 3 != 0;
                    racing.submit(new long[] {session, i, read ? committedIndex.get() : 0}, session, read);
                }
            }));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(0, early.get(), "passed before what it must see was applied");
        assertEquals(0, disordered.get(), "overtook a request of its session");
        assertEquals(sessions * rounds, count.get());
    }
}

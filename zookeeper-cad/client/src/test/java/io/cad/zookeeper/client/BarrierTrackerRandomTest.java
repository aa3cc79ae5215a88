// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.client.BarrierTracker.Entry;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/**
 * The tracker against a model of a client and its servers: replies in order, barriers that make durable, connections
 * that end at any time, and servers that then may have lost what was not durable. -Dseed=N replays a run.
 */
class BarrierTrackerRandomTest {
    private static final int RUNS = 2_000;
    private static final int STEPS = 200;

    @Test
    void whatIsCalledDurableWasNeverLostAndEverythingSettles() {
        long seed = Long.getLong("seed", System.nanoTime());
        System.out.println("seed " + seed);
        long durable = 0;
        long unknown = 0;
        long lost = 0;
        long questionsDurable = 0;
        long questionsUnknown = 0;
        for (int run = 0; run < RUNS; run++) {
            Model model = new Model(new SplittableRandom(seed + run), "seed " + seed + " run " + run);
            model.run();
            durable += model.calledDurable.size();
            unknown += model.calledUnknown.size();
            questionsDurable += model.questionsDurable;
            questionsUnknown += model.questionsUnknown;
            lost += model.calledUnknown.stream().filter(model.lost::contains).count();
        }
        System.out.println(durable + " durable, " + unknown + " unknown (" + lost + " of them lost); questions: "
                + questionsDurable + " durable, " + questionsUnknown + " unknown; seed " + seed);
        assertTrue(durable > 0 && lost > 0 && questionsDurable > 0 && questionsUnknown > 0, "the model exercised too little");
    }

    /** One client. The server's log holds the numbers of writes; all before {@code firm} are durable. */
    private static final class Model {
        private final SplittableRandom random;
        private final String name;
        private final BarrierTracker<Integer> tracker = new BarrierTracker<>();
        private final List<Integer> serverLog = new ArrayList<>();
        private int firm;
        private final Deque<Runnable> requests = new ArrayDeque<>();
        private final Deque<Runnable> replies = new ArrayDeque<>();
        /** Curator repeats these after a reconnect. */
        private final Deque<Runnable> unanswered = new ArrayDeque<>();
        /** What the loss of the barrier in flight does. */
        private Runnable barrier;
        private Object connection = new Object();
        private final Set<Integer> lost = new HashSet<>();
        private final Set<Integer> calledDurable = new HashSet<>();
        private final Set<Integer> calledUnknown = new HashSet<>();
        private int writes;
        private int settled;
        private int questionsDurable;
        private int questionsUnknown;
        private int expected;

        Model(SplittableRandom random, String name) {
            this.random = random;
            this.name = name;
        }

        void run() {
            for (int i = 0; i < STEPS; i++) {
                int dice = random.nextInt(100);
                if (dice < 20) {
                    write();
                } else if (dice < 25) {
                    ask();
                } else if (dice < 60) {
                    next(requests);
                } else if (dice < 98) {
                    next(replies);
                } else {
                    reconnect(random.nextBoolean());
                }
            }
            while (!requests.isEmpty() || !replies.isEmpty()) {
                next(requests);
                next(replies);
            }
            assertEquals(expected, settled, name + ": something waits for ever");
            assertEquals(0, tracker.unsettled(), name);
        }

        private static void next(Deque<Runnable> queue) {
            Runnable first = queue.poll();
            if (first != null) {
                first.run();
            }
        }

        private void write() {
            int number = writes++;
            Entry<Integer> entry;
            if (random.nextInt(3) == 0) {
                entry = tracker.plainWrite();
            } else {
                expected++;
                entry = tracker.durableWrite(result -> durable(number), e -> unknown(number));
            }
            submit(entry, number);
            barrierIf(tracker.sent(entry));
        }

        private void submit(Entry<Integer> entry, int number) {
            Object via = connection;
            Runnable again = () -> submit(entry, number);
            unanswered.add(again);
            requests.add(() -> {
                serverLog.add(number);
                replies.add(() -> {
                    unanswered.remove(again);
                    barrierIf(tracker.acknowledged(entry, number, via));
                });
            });
        }

        private void ask() {
            expected++;
            int upTo = writes;
            barrierIf(tracker.upToHere(() -> {
                settled++;
                for (int number = 0; number < upTo; number++) {
                    assertDurable(number);
                }
                questionsDurable++;
            }, e -> {
                settled++;
                questionsUnknown++;
            }));
        }

        private void barrierIf(boolean wanted) {
            if (!wanted) {
                return;
            }
            Object via = connection;
            barrier = () -> tracker.barrierFailed(null);
            requests.add(() -> {
                firm = serverLog.size();
                replies.add(() -> {
                    barrier = null;
                    barrierIf(tracker.barrierReplied(via));
                });
            });
        }

        /** The connection ends; the next server may lack what was not durable. */
        private void reconnect(boolean newSession) {
            requests.clear();
            replies.clear();
            Runnable failed = barrier;
            barrier = null;
            if (failed != null) {
                failed.run();
            }
            tracker.disconnected(null);
            int kept = firm + (serverLog.size() == firm ? 0 : random.nextInt(serverLog.size() - firm + 1));
            lost.addAll(serverLog.subList(kept, serverLog.size()));
            serverLog.subList(kept, serverLog.size()).clear();
            firm = kept;
            if (newSession) {
                connection = new Object();
            }
            List<Runnable> repeat = new ArrayList<>(unanswered);
            unanswered.clear();
            repeat.forEach(Runnable::run);
        }

        private void durable(int number) {
            settled++;
            calledDurable.add(number);
            assertDurable(number);
        }

        private void assertDurable(int number) {
            assertTrue(serverLog.subList(0, firm).contains(number), name + ": " + number + " is called durable and is not");
        }

        private void unknown(int number) {
            settled++;
            calledUnknown.add(number);
        }
    }
}

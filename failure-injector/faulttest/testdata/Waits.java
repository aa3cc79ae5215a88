// SPDX-License-Identifier: Apache-2.0
import java.nio.channels.Selector;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Waits 100 ms in every way that a server does, again and again until there is something
 * on standard input, and prints for each wait how long it was in ns: by the wall clock,
 * which must be right, and by nanoTime.
 */
public final class Waits {
    private interface Wait {
        void run() throws Exception;
    }

    private static final long LENGTH = 100_000_000;

    public static void main(String[] args) throws Exception {
        ReentrantLock lock = new ReentrantLock();
        Condition condition = lock.newCondition();
        ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
        Selector selector = Selector.open();
        do {
            measure("park", () -> {
                long until = System.nanoTime() + LENGTH; // park may end early, by its contract
                for (long left = LENGTH; left > 0; left = until - System.nanoTime()) {
                    LockSupport.parkNanos(left);
                }
            });
            measure("sleep", () -> Thread.sleep(100));
            measure("wait", () -> {
                Object o = new Object();
                synchronized (o) {
                    o.wait(100);
                }
            });
            measure("await", () -> {
                lock.lock();
                try {
                    condition.awaitNanos(LENGTH);
                } finally {
                    lock.unlock();
                }
            });
            measure("schedule", () -> {
                CountDownLatch done = new CountDownLatch(1);
                timer.schedule(done::countDown, 100, TimeUnit.MILLISECONDS);
                done.await();
            });
            measure("select", () -> selector.select(100));
        } while (System.in.available() == 0);
        timer.shutdown();
    }

    private static void measure(String name, Wait wait) throws Exception {
        long own = System.nanoTime();
        Instant wall = Instant.now();
        wait.run();
        Duration real = Duration.between(wall, Instant.now());
        System.out.println(name + " " + real.toNanos() + " " + (System.nanoTime() - own));
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import java.time.Duration;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/** Waits for a condition with a deadline, so that no test sleeps for a fixed time. */
public final class Await {
    private static final long POLL_MILLIS = 20;

    /** A condition that may throw; throwing anything but {@link Hopeless} means "not yet". */
    @FunctionalInterface
    public interface Condition {
        boolean holds() throws Exception;
    }

    /** The awaited event cannot happen any more; ends the wait at once. */
    public static final class Hopeless extends RuntimeException {
        private static final long serialVersionUID = 1;

        public Hopeless(String message) {
            super(message);
        }
    }

    private Await() {
    }

    /**
     * Polls until the condition holds.
     *
     * @param what names the awaited event in the error
     * @param state describes what was there instead, evaluated only on failure
     * @throws Hopeless when the condition threw it
     * @throws TimeoutException when the condition did not hold within {@code limit}; its cause is the last exception
     */
    public static void until(String what, Duration limit, Condition condition, Supplier<String> state)
            throws TimeoutException, InterruptedException {
        long end = System.nanoTime() + limit.toNanos();
        Exception last = null;
        while (true) {
            try {
                if (condition.holds()) {
                    return;
                }
                last = null;
            } catch (InterruptedException | Hopeless e) {
                throw e;
            } catch (Exception e) {
                last = e;
            }
            if (System.nanoTime() - end >= 0) {
                TimeoutException timeout =
                        new TimeoutException("waited " + limit.toMillis() + " ms for " + what + "; " + state.get());
                if (last != null) {
                    timeout.initCause(last);
                }
                throw timeout;
            }
            Thread.sleep(POLL_MILLIS);
        }
    }
}

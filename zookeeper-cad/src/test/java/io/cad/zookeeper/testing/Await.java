// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testing;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;

/** Waits for events. The bound only turns a hang into a failure; no test depends on how long anything takes. */
public final class Await {

    private static final long LIMIT_SECONDS = 30;

    /** A condition that may throw while it does not hold yet. */
    public interface Condition {
        boolean holds() throws Exception;
    }

    private Await() {
    }

    /** Waits until the condition holds; an AssertionError names it otherwise. */
    public static void until(String what, Condition condition) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
        Exception last = null;
        while (System.nanoTime() - deadline < 0) {
            try {
                if (condition.holds()) {
                    return;
                }
                last = null;
            } catch (Exception e) {
                last = e;
            }
            LockSupport.parkNanos(2_000_000);
        }
        throw new AssertionError("never happened: " + what, last);
    }

    /** The value of a future, or an AssertionError that names it. */
    public static <T> T get(String what, CompletableFuture<T> future) {
        try {
            return future.get(LIMIT_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            throw new AssertionError("never answered: " + what);
        } catch (ExecutionException e) {
            throw new AssertionError(what + " failed: " + e.getCause(), e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }
}

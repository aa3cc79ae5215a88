// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.quorum;

import java.util.concurrent.locks.LockSupport;

/**
 * Lets what is queued for one learner gather between two batches. Without it
 * the sender thread of every learner wakes for every proposal and for every
 * commit, and nobody waits for these packets while writes are acknowledged
 * before others hold them. The first packet after a quiet time leaves at once:
 * the pause follows a batch.
 */
final class SendPace {

    private final long pauseNanos;
    private volatile boolean hurry;
    private volatile Thread pausing;

    SendPace(long pauseNanos) {
        this.pauseNanos = pauseNanos;
    }

    /** Called by the sender thread after a batch: returns when the pause is over or somebody is in a hurry. */
    void pause() throws InterruptedException {
        long end = System.nanoTime() + pauseNanos;
        pausing = Thread.currentThread();
        try {
            long left = pauseNanos;
            while (!hurry && left > 0) {
                LockSupport.parkNanos(this, left);
                if (Thread.interrupted()) {
                    throw new InterruptedException();
                }
                left = end - System.nanoTime();
            }
        } finally {
            pausing = null;
            hurry = false;
        }
    }

    /** Something that was queued before this call must leave now. */
    void hurry() {
        // Read before the write: an unpark for a sender that is already on its way would cost a system call.
        if (!hurry) {
            hurry = true;
            Thread sender = pausing;
            if (sender != null) {
                LockSupport.unpark(sender);
            }
        }
    }
}

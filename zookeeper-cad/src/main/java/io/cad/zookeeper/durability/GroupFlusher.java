// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.durability;

import io.cad.zookeeper.metrics.CadMetrics;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the log durable in groups, beside the thread that appends: in the
 * background after an interval or a number of bytes, at once on demand
 * (protocol section 4). One sync at a time; what is written meanwhile goes
 * with the next.
 */
public final class GroupFlusher implements Runnable {

    private static final Logger LOG = LoggerFactory.getLogger(GroupFlusher.class);

    private final CadTxnLog log;
    private final long interval;
    private final long maxBytes;
    private final Thread thread;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition work = lock.newCondition();
    private boolean dirty;
    private boolean demanded;
    private boolean stopped;
    private long firstDirtyAt;
    private long bytes;
    private long txns;

    /**
     * @param interval longest time a written record waits for a sync, ns; 0 syncs continuously
     * @param maxBytes written bytes that start a sync before the interval is over
     */
    public GroupFlusher(CadTxnLog log, long interval, long maxBytes, String name) {
        this.log = log;
        this.interval = interval;
        this.maxBytes = maxBytes;
        this.thread = new Thread(this, name);
        thread.setDaemon(true);
    }

    public void start() {
        thread.start();
    }

    /** Records were handed to the operating system. */
    public void written(int records, long size) {
        lock.lock();
        try {
            if (!dirty) {
                dirty = true;
                firstDirtyAt = System.nanoTime();
                work.signal();
            }
            bytes += size;
            txns += records;
            if (bytes >= maxBytes) {
                work.signal();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Sync what is written as soon as the sync in flight, if any, has ended. */
    public void demand() {
        lock.lock();
        try {
            demanded = true;
            work.signal();
        } finally {
            lock.unlock();
        }
    }

    /** Syncs what is left and ends the thread; returns when both are done. */
    public void stop() {
        lock.lock();
        try {
            stopped = true;
            work.signal();
        } finally {
            lock.unlock();
        }
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void run() {
        boolean last;
        do {
            long records;
            lock.lock();
            try {
                await();
                last = stopped;
                records = txns;
                dirty = false;
                demanded = false;
                bytes = 0;
                txns = 0;
            } finally {
                lock.unlock();
            }
            long start = System.nanoTime();
            log.sync();
            CadMetrics.get().localFlush(System.nanoTime() - start, records);
        } while (!last);
        LOG.debug("{} ended", thread.getName());
    }

    private void await() {
        while (!stopped && !(demanded && dirty)) {
            if (!dirty) {
                // Everything written is synced, so a demand is met already.
                demanded = false;
                work.awaitUninterruptibly();
                continue;
            }
            long left = interval - (System.nanoTime() - firstDirtyAt);
            if (left <= 0 || bytes >= maxBytes) {
                return;
            }
            try {
                work.await(left, TimeUnit.NANOSECONDS);
            } catch (InterruptedException e) {
                // Only stop() ends this thread.
                LOG.debug("Interrupted while waiting for work");
            }
        }
    }
}

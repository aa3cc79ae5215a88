// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testing;

import io.cad.zookeeper.durability.CadTxnLog;
import io.cad.zookeeper.durability.FailStop;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.util.function.Predicate;

/**
 * The disk of every server in this JVM: syncs may be made to wait, so that D
 * stands still, or to fail. A sync that began before {@link #stall} covers
 * only what was written before it.
 */
public final class Disk implements AutoCloseable {

    private Predicate<String> stalled = thread -> false;
    private Predicate<String> failing = thread -> false;
    private int waiting;
    private long syncs;
    private int exits;

    /** Takes over the log's sync call and the end of the process. */
    public Disk() {
        CadTxnLog.forceWith(this::force);
        FailStop.exitWith(code -> {
            synchronized (this) {
                exits++;
            }
        });
    }

    private void force(FileChannel channel) throws IOException {
        String thread = Thread.currentThread().getName();
        synchronized (this) {
            waiting++;
            notifyAll();
            try {
                while (stalled.test(thread)) {
                    wait();
                }
            } catch (InterruptedException e) {
                throw new IOException("interrupted in a stalled sync", e);
            } finally {
                waiting--;
            }
            if (failing.test(thread)) {
                throw new IOException("injected: the sync failed");
            }
        }
        channel.force(false);
        synchronized (this) {
            syncs++;
        }
    }

    /** From here every sync waits. */
    public void stall() {
        stall(thread -> true);
    }

    /** From here every sync waits that a thread of such a name calls; threads are named after role and server. */
    public synchronized void stall(Predicate<String> threads) {
        stalled = threads;
        notifyAll();
    }

    /** Syncs go on. */
    public synchronized void release() {
        stalled = thread -> false;
        notifyAll();
    }

    /** From here every sync fails. */
    public synchronized void fail() {
        failing = thread -> true;
    }

    /** Syncs succeed again. */
    public synchronized void mend() {
        failing = thread -> false;
    }

    /** Syncs that stand still now. */
    public synchronized int waiting() {
        return waiting;
    }

    /** Syncs that have succeeded. */
    public synchronized long syncs() {
        return syncs;
    }

    /** How often a server wanted to end its process. */
    public synchronized int exits() {
        return exits;
    }

    @Override
    public void close() {
        release();
        mend();
        CadTxnLog.forceWith(channel -> channel.force(false));
        FailStop.exitWith(code -> Runtime.getRuntime().halt(code));
    }
}

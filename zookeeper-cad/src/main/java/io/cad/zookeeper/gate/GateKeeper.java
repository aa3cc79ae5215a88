// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.gate;

import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.config.Mode;
import io.cad.zookeeper.durability.Durability;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/**
 * The gates of one server role: one thread releases replies as D moves and
 * closes connections whose replies wait too long or take too much memory.
 */
public final class GateKeeper implements Runnable {

    private static final long AGE_CHECK_MILLIS = 50;

    private final Mode mode;
    private final CadConfig config;
    private final Durability durability;
    private final LongSupplier lastApplied;
    private final Set<ReplyGate> waiting = ConcurrentHashMap.newKeySet();
    private final AtomicLong heldBytes = new AtomicLong();
    private final Thread thread;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition moved = lock.newCondition();
    private boolean signalled;
    private volatile boolean stopped;

    /**
     * @param lastApplied index of the last change applied here: what a reply of unknown content may show
     */
    public GateKeeper(Mode mode, CadConfig config, Durability durability, LongSupplier lastApplied, String name) {
        this.mode = mode;
        this.config = config;
        this.durability = durability;
        this.lastApplied = lastApplied;
        this.thread = new Thread(this, name);
        thread.setDaemon(true);
    }

    public void start() {
        if (active()) {
            thread.start();
        }
    }

    /**
     * False where neither durability nor leases matter to replies: every one passes, unlooked at. Where reads need a
     * lease even an acknowledgement waits until the epoch is established (rule E3b): a deposed leader could still answer
     * reads that are older.
     */
    public boolean active() {
        return mode.tracksDurable() || mode.readsAtLeader();
    }

    long durable() {
        return durability.durable();
    }

    long requiredWhenUnstated() {
        return mode.readsAreDurable() ? lastApplied.getAsLong() : 0;
    }

    /** A gate holds a reply with this required index: ask for it to become durable. */
    void need(ReplyGate gate, long required) {
        waiting.add(gate);
        if (stopped) {
            gate.discard();
            return;
        }
        if (heldBytes.get() > config.holdBytes) {
            gate.close("hold-bytes");
            return;
        }
        durability.need(required);
        if (required <= durability.durable()) {
            signal();
        }
    }

    void forget(ReplyGate gate) {
        waiting.remove(gate);
    }

    void heldBytes(long delta) {
        heldBytes.addAndGet(delta);
    }

    /** D has moved. */
    public void signal() {
        if (waiting.isEmpty()) {
            return;
        }
        lock.lock();
        try {
            signalled = true;
            moved.signal();
        } finally {
            lock.unlock();
        }
    }

    /** Connections with held replies. */
    public int connectionsHeld() {
        int n = 0;
        for (ReplyGate gate : waiting) {
            n += gate.held() > 0 ? 1 : 0;
        }
        return n;
    }

    /** Held replies. */
    public long repliesHeld() {
        long n = 0;
        for (ReplyGate gate : waiting) {
            n += gate.held();
        }
        return n;
    }

    public long bytesHeld() {
        return heldBytes.get();
    }

    /** The role ended: nothing that is held leaves any more (rule R3). */
    public void stop() {
        stopped = true;
        lock.lock();
        try {
            moved.signal();
        } finally {
            lock.unlock();
        }
        for (ReplyGate gate : waiting) {
            gate.discard();
        }
    }

    @Override
    public void run() {
        long nextAgeCheck = System.nanoTime();
        while (!stopped) {
            lock.lock();
            try {
                if (!signalled && !stopped) {
                    moved.await(AGE_CHECK_MILLIS, TimeUnit.MILLISECONDS);
                }
                signalled = false;
            } catch (InterruptedException e) {
                continue;
            } finally {
                lock.unlock();
            }
            long now = System.nanoTime();
            boolean checkAges = now - nextAgeCheck >= 0;
            if (checkAges) {
                nextAgeCheck = now + TimeUnit.MILLISECONDS.toNanos(AGE_CHECK_MILLIS);
            }
            long durable = durability.durable();
            for (ReplyGate gate : waiting) {
                if (stopped) {
                    return;
                }
                gate.drain(durable);
                if (gate.held() == 0) {
                    release(gate);
                } else if (checkAges) {
                    gate.checkAge(now, config.holdTime);
                }
            }
        }
    }

    /** Stops watching a gate, unless it began to hold again meanwhile. */
    private void release(ReplyGate gate) {
        waiting.remove(gate);
        if (gate.held() > 0) {
            waiting.add(gate);
            signal();
        }
    }
}

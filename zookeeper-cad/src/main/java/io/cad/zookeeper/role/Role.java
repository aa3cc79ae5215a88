// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.role;

import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.config.Mode;
import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.core.Window;
import io.cad.zookeeper.durability.CadTxnLog;
import io.cad.zookeeper.durability.Durability;
import io.cad.zookeeper.durability.GroupFlusher;
import io.cad.zookeeper.durability.Store;
import io.cad.zookeeper.gate.GateKeeper;
import io.cad.zookeeper.gate.ReplyContext;
import io.cad.zookeeper.gate.ReplyPolicy;
import io.cad.zookeeper.index.DirtyIndex;
import io.cad.zookeeper.index.StateIndex;
import io.cad.zookeeper.metrics.CadMetrics;
import io.cad.zookeeper.node.LeaseGate;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.Request;

/**
 * One life of this server as leader, follower or observer: in one epoch, on
 * one connection to its leader. It joins the pure core to log, gates and
 * peers; what it holds dies with it (rule R3).
 */
public abstract class Role implements Durability, Store.PersistedListener, Store.SnapshotGate {

    /** The closings of connections for want of a lease are spread over this many times the bounded wait. */
    private static final int CLOSING_SPREAD = 5;

    public final CadConfig config;
    public final Mode mode;
    public final long epoch;
    public final GateKeeper gates;
    public final StateIndex index;
    public final ReplyPolicy policy;
    /** Null in immediate mode, where upstream's own sync thread flushes. */
    public final GroupFlusher flusher;

    protected final Window window;
    protected final DirtyIndex dirty;

    private final Store logStore;
    private final Store snapStore;
    private final Thread ticker;
    private final long began = System.nanoTime();
    private final List<LeaseGate<Request>> leaseGates = new CopyOnWriteArrayList<>();
    /** The one of them where clients wait, and are sent away; null where reads need no lease. */
    private volatile LeaseGate<Request> clients;

    private final ReentrantLock durableLock = new ReentrantLock();
    private final Condition durableMoved = durableLock.newCondition();
    private volatile long applying;
    private volatile boolean stopped;

    /**
     * @param lastApplied index of the state at the start: entries up to it were never stamped,
     *     so it is the barrier of the update index
     */
    protected Role(CadConfig config, Mode mode, long epoch, long lastApplied, Files files, String name) {
        this.config = config;
        this.mode = mode;
        this.epoch = epoch;
        this.logStore = files.logStore;
        this.snapStore = files.snapStore;
        this.applying = lastApplied;
        this.window = new Window(config.windowTxns, config.windowBytes, config.windowAge);
        this.dirty = new DirtyIndex(config.dirtyMax, lastApplied);
        this.index = new StateIndex(dirty, lastApplied);
        this.policy = ReplyPolicy.of(mode, config, index, window);
        this.gates = new GateKeeper(mode, config, this, index::lastApplied, name + "-gate");
        this.flusher = mode.acknowledgesBeforeDurable()
            ? new GroupFlusher(files.log, config.flushInterval, config.flushBytes, name + "-flush") : null;
        this.ticker = new Thread(this::tickUntilStopped, name + "-tick");
        ticker.setDaemon(true);
    }

    /** The files a role writes to. */
    public static final class Files {
        final CadTxnLog log;
        final Store logStore;
        final Store snapStore;

        public Files(CadTxnLog log, Store logStore, Store snapStore) {
            this.log = log;
            this.logStore = logStore;
            this.snapStore = snapStore;
        }
    }

    /** Starts the threads; from here syncs are announced. */
    public void start(long persisted) {
        logStore.listen(this, persisted);
        snapStore.gateSnapshots(mode.acknowledgesBeforeDurable() ? this : null);
        if (flusher != null) {
            flusher.start();
        }
        gates.start();
        ticker.start();
    }

    /**
     * Ends the role: D stands still, held replies die, the log is synced. The
     * sync processor must have drained its queue before.
     */
    public void stop() {
        stopped = true;
        leaseGates.forEach(LeaseGate::discard);
        gates.stop();
        if (flusher != null) {
            flusher.stop();
        }
        logStore.release(this);
        // The snapshots' gate stays: a snapshot still under way must find the role ended, not no role at all.
        durableLock.lock();
        try {
            durableMoved.signalAll();
        } finally {
            durableLock.unlock();
        }
        ticker.interrupt();
    }

    public boolean isStopped() {
        return stopped;
    }

    // ---- execution

    /** A change is about to be applied: stamps what it touches. */
    public void beforeApply(Request request, DataTree tree, long now) {
        long zxid = request.getHdr().getZxid();
        applying = zxid;
        if (!mode.tracksDurable()) {
            return;
        }
        index.stamp(request.getHdr(), request.getTxn(), tree);
        synchronized (window) {
            window.appended(zxid, TxnSize.of(request.getTxn()), now);
        }
    }

    /** A change has been applied. */
    public abstract void applied(long zxid);

    /** States what the reply to a local request will show. */
    public void state(Request request, ReplyContext context) {
        if (gates.active()) {
            policy.state(request, context, durable(), System.nanoTime());
        }
    }

    /** For any thread: whether a read that has arrived may be executed at this moment (rule R1). */
    public abstract boolean mayRead();

    /**
     * Where the requests of clients wait until reads may be executed; null where no lease is needed.
     *
     * @param next takes a request without blocking
     * @param close ends the connection of a request that has waited for too long
     */
    public LeaseGate<Request> gateReads(Consumer<Request> next, Consumer<Request> close) {
        clients = gate(CLOSING_SPREAD * config.noLeaseWait, next, close);
        return clients;
    }

    /** A gate whose late requests are spread over some time, in nanoseconds. */
    protected LeaseGate<Request> gate(long spread, Consumer<Request> next, Consumer<Request> late) {
        if (mode.reads == Mode.Reads.ANY) {
            return null;
        }
        // Until the leases of older epochs are over all servers wait alike: it would be no use to try another one.
        long older = config.leases.stretch(config.leases.promise()) + config.leases.heartbeat();
        LeaseGate<Request> gate =
            new LeaseGate<>(this::mayRead, began + older, config.noLeaseWait, spread, next, late, System::nanoTime);
        leaseGates.add(gate);
        return gate;
    }

    /** A lease may have been renewed. */
    protected void pollReads() {
        for (LeaseGate<Request> gate : leaseGates) {
            int late = gate.poll(System.nanoTime());
            if (late > 0 && gate == clients) {
                CadMetrics.get().sentAway(late);
            }
        }
    }

    @Override
    public long applying() {
        return applying;
    }

    // ---- the log

    /** Records up to this index have left the process but may not be durable. */
    public abstract void written(long zxid);

    // ---- durability

    /** To be called, once D has moved, by the core's shell without locks that a reply needs. */
    protected void durableMoved(long index) {
        this.index.durable(index);
        synchronized (window) {
            window.durable(index);
        }
        gates.signal();
        durableLock.lock();
        try {
            durableMoved.signalAll();
        } finally {
            durableLock.unlock();
        }
    }

    @Override
    public boolean awaitDurable(long target) throws InterruptedException {
        need(target);
        durableLock.lock();
        try {
            while (durable() < target && !stopped) {
                durableMoved.await(100, TimeUnit.MILLISECONDS);
            }
            return durable() >= target;
        } finally {
            durableLock.unlock();
        }
    }

    /** Called many times a second. */
    protected void tick(long now) {
        // Leaders have a thread of their own for what depends on time.
    }

    private void tickUntilStopped() {
        while (!stopped) {
            try {
                Thread.sleep(20);
            } catch (InterruptedException e) {
                continue;
            }
            tick(System.nanoTime());
            pollReads();
        }
    }

    // ---- what operators see

    public long undurableTxns() {
        synchronized (window) {
            return window.txns();
        }
    }

    public long undurableBytes() {
        synchronized (window) {
            return window.bytes();
        }
    }

    public long undurableMillis() {
        synchronized (window) {
            return window.ageNanos(System.nanoTime()) / 1_000_000;
        }
    }

    public abstract String name();

    @Override
    public String toString() {
        return name() + " epoch " + epoch + " " + mode + " durable " + Indices.format(Math.max(0, durable()));
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.client;

import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.BooleanSupplier;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.BackgroundCallback;
import org.apache.curator.framework.api.CuratorEvent;
import org.apache.curator.framework.api.CuratorEventType;
import org.apache.curator.framework.api.CuratorListener;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;

/**
 * Tells when writes of one Curator client are durable: persisted by a quorum, so that no crash or power loss takes them
 * back. It needs nothing but the ordinary protocol: a {@code sync} on the session that wrote, whose reply a server with
 * {@code cad.sync.persists=true} (the default) holds until everything before it is durable. Barriers are shared: at
 * most one is in flight, and all that arrives meanwhile goes with the next.
 *
 * <p>A server that acknowledges only durable writes, a stock one with {@code forceSync=yes} or one with
 * {@code cad.durability=immediate}, needs no barrier; there it costs a round trip and changes nothing. Where the servers
 * promise nothing (stock with {@code forceSync=no}, {@code cad.sync.persists=false}) a barrier promises nothing either,
 * and a client cannot find that out.
 *
 * <p>A future that completes normally is never wrong. When the connection ends between an acknowledgement and its
 * barrier nobody can vouch for the write: {@link DurabilityUnknownException}. A write that Curator itself gives up, for
 * instance with {@link KeeperException.ConnectionLossException}, fails with that exception, and like everywhere in
 * ZooKeeper may or may not have an effect.
 *
 * <p>Futures complete on a thread of this object, in the order in which they were settled; they may block it without
 * disturbing the ZooKeeper client. Thread-safe. The Curator client stays the application's: close this object first.
 */
public final class DurableClient implements AutoCloseable {

    /** An operation of Curator, started in the background. */
    @FunctionalInterface
    public interface Write {
        /**
         * Starts the operation, for instance {@code client.setData().inBackground(callback).forPath(path, data)}. The
         * callback must be given to Curator as it is and without an executor of its own: its place among the replies of
         * the connection is what decides whether a barrier covers the write.
         */
        void start(CuratorFramework client, BackgroundCallback callback) throws Exception;
    }

    /** Enough for a pipeline that keeps any ensemble busy. */
    public static final int DEFAULT_LIMIT = 10_000;

    /** Answers that say for sure that the write was not executed. All others leave it open. */
    private static final Set<Code> REFUSALS = EnumSet.of(Code.NONODE, Code.NODEEXISTS, Code.BADVERSION, Code.NOTEMPTY,
            Code.NOAUTH, Code.INVALIDACL, Code.NOCHILDRENFOREPHEMERALS, Code.EPHEMERALONLOCALSESSION, Code.BADARGUMENTS,
            Code.QUOTAEXCEEDED, Code.THROTTLEDOP, Code.NOTREADONLY);

    private final CuratorFramework client;
    private final int limit;
    /** Every access holds its monitor. */
    private final BarrierTracker<CuratorEvent> tracker = new BarrierTracker<>();
    private final CuratorListener listener = this::eventReceived;
    private final ExecutorService completions;
    private boolean closed;

    /** @param client a started client */
    public DurableClient(CuratorFramework client) {
        this(client, DEFAULT_LIMIT);
    }

    /**
     * @param client a started client
     * @param limit writes and questions that may be unsettled at a time; what exceeds it fails at once with
     *     {@link RejectedExecutionException}, without being sent
     */
    public DurableClient(CuratorFramework client, int limit) {
        if (limit < 1) {
            throw new IllegalArgumentException("limit must be at least 1, not " + limit);
        }
        this.client = client;
        this.limit = limit;
        this.completions = Executors.newSingleThreadExecutor(task -> {
            Thread thread = new Thread(task, "durable-client");
            thread.setDaemon(true);
            return thread;
        });
        client.getCuratorListenable().addListener(listener);
    }

    /** Sends a write; the future completes with its acknowledgement, which may precede durability. */
    public CompletableFuture<CuratorEvent> write(Write write) {
        CompletableFuture<CuratorEvent> result = new CompletableFuture<>();
        start(write, result, false);
        return result;
    }

    /**
     * Sends a write and, right behind it, a barrier; the future completes when the write is durable.
     *
     * @return fails with {@link DurabilityUnknownException} when the write was acknowledged but the connection ended
     *     before it was known to be durable; with a {@link KeeperException} when the write was refused or given up
     */
    public CompletableFuture<CuratorEvent> durable(Write write) {
        CompletableFuture<CuratorEvent> result = new CompletableFuture<>();
        start(write, result, true);
        return result;
    }

    /**
     * Asks whether everything that was written through this object so far is durable.
     *
     * @return completes when it is; fails with {@link DurabilityUnknownException} when one of the writes is of unknown
     *     effect or durability, however long ago, until {@link #forgetUnknown} is called. Writes that the servers
     *     refused do not count
     */
    public CompletableFuture<Void> durableUpToHere() {
        CompletableFuture<Void> result = new CompletableFuture<>();
        step(() -> !refused(result)
                && tracker.upToHere(() -> complete(result, null), unknown -> fail(result, unknown)));
        return result;
    }

    /**
     * The application has dealt with the writes of unknown durability: {@link #durableUpToHere} speaks of the others
     * from now on.
     *
     * @return how many there were
     */
    public long forgetUnknown() {
        synchronized (tracker) {
            return tracker.forgetUnknown();
        }
    }

    /** Fails what is not settled and lets go of the Curator client, which stays open. */
    @Override
    public void close() {
        client.getCuratorListenable().removeListener(listener);
        end(null);
    }

    private void end(Throwable cause) {
        synchronized (tracker) {
            if (!closed) {
                closed = true;
                tracker.close(cause);
                completions.shutdown();
            }
        }
    }

    // --- events

    private void start(Write write, CompletableFuture<CuratorEvent> result, boolean durable) {
        BarrierTracker.Entry<CuratorEvent> entry;
        synchronized (tracker) {
            if (refused(result)) {
                return;
            }
            entry = durable
                    ? tracker.durableWrite(event -> complete(result, event), unknown -> fail(result, unknown))
                    : tracker.plainWrite();
        }
        try {
            write.start(client, (curator, event) -> answered(entry, result, durable, event));
        } catch (Exception e) {
            step(() -> {
                fail(result, e);
                // Curator may have sent it before it threw.
                tracker.lost(entry);
                return false;
            });
            return;
        }
        step(() -> tracker.sent(entry));
    }

    private void answered(BarrierTracker.Entry<CuratorEvent> entry, CompletableFuture<CuratorEvent> result, boolean durable,
            CuratorEvent event) {
        Code code = Code.get(event.getResultCode());
        step(() -> {
            if (code == Code.OK) {
                if (!durable) {
                    complete(result, event);
                }
                // One ZooKeeper handle delivers its replies on one thread, in order; another thread is another
                // handle, or an executor that has lost the order.
                return tracker.acknowledged(entry, event, Thread.currentThread());
            }
            fail(result, KeeperException.create(code == null ? Code.SYSTEMERROR : code, event.getPath()));
            if (REFUSALS.contains(code)) {
                return tracker.refused(entry);
            }
            tracker.lost(entry);
            return false;
        });
    }

    private void eventReceived(CuratorFramework curator, CuratorEvent event) {
        if (event.getType() == CuratorEventType.CLOSING) {
            end(new IllegalStateException("the Curator client was closed"));
        } else if (event.getType() == CuratorEventType.WATCHED && endsConnection(event.getWatchedEvent())) {
            step(() -> {
                tracker.disconnected(new KeeperException.ConnectionLossException());
                return false;
            });
        }
    }

    private static boolean endsConnection(WatchedEvent event) {
        return event.getType() == EventType.None
                && event.getState() != KeeperState.SyncConnected
                && event.getState() != KeeperState.SaslAuthenticated;
    }

    /** Runs one event; what it asks for is done after it, without the lock. */
    private void step(BooleanSupplier event) {
        boolean sendBarrier;
        synchronized (tracker) {
            sendBarrier = event.getAsBoolean() && !closed;
        }
        if (sendBarrier) {
            sendBarrier();
        }
    }

    /**
     * Straight to the handle: Curator would repeat a sync that got lost, after a delay and on another connection, where
     * it proves nothing for what was written before.
     */
    private void sendBarrier() {
        try {
            client.getZookeeperClient().getZooKeeper().sync("/", (code, path, context) -> {
                Thread source = Thread.currentThread();
                step(() -> {
                    if (code == Code.OK.intValue()) {
                        return tracker.barrierReplied(source);
                    }
                    tracker.barrierFailed(KeeperException.create(Code.get(code)));
                    return false;
                });
            }, null);
        } catch (Exception e) {
            step(() -> {
                tracker.barrierFailed(e);
                return false;
            });
        }
    }

    // --- results

    private boolean refused(CompletableFuture<?> result) {
        if (closed) {
            result.completeExceptionally(new IllegalStateException("this DurableClient is closed"));
        } else if (tracker.unsettled() >= limit) {
            result.completeExceptionally(new RejectedExecutionException(
                    limit + " writes are unsettled already; wait for some of their futures, or raise the limit"));
        }
        return result.isDone();
    }

    private <T> void complete(CompletableFuture<T> result, T value) {
        settle(() -> result.complete(value));
    }

    private void fail(CompletableFuture<?> result, Throwable why) {
        settle(() -> result.completeExceptionally(why));
    }

    private void settle(Runnable completion) {
        if (completions.isShutdown()) {
            completion.run();
        } else {
            completions.execute(completion);
        }
    }
}

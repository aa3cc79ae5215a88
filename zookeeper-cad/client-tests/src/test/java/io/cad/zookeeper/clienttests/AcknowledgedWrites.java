// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.clienttests;

import static io.cad.zookeeper.clienttests.RealClients.LIMIT;

import io.cad.zookeeper.testkit.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

/**
 * Clients that create nodes, one after the other, through crashes and restarts, and remember each one that was
 * acknowledged. Every name is used once, so a lost write stays visible.
 */
final class AcknowledgedWrites implements AutoCloseable {
    /** Keeps a test's listing of what is there below the 1 MiB that a client accepts. */
    private static final long PACE_MILLIS = 5;
    private static final String ROOT = "/written";

    private final String connectString;
    private final List<Thread> threads = new ArrayList<>();
    private final Set<String> acknowledged = ConcurrentHashMap.newKeySet();
    private final AtomicLong unknown = new AtomicLong();
    private volatile boolean stopped;
    private volatile Throwable failure;

    private AcknowledgedWrites(String connectString) {
        this.connectString = connectString;
    }

    static AcknowledgedWrites start(String connectString, int clients) throws Exception {
        AcknowledgedWrites load = new AcknowledgedWrites(connectString);
        try (ZooKeeper zooKeeper = RealClients.zooKeeper(connectString)) {
            for (int client = 0; client < clients; client++) {
                RealClients.create(zooKeeper, ROOT + client, "");
            }
        }
        for (int client = 0; client < clients; client++) {
            int id = client;
            Thread thread = new Thread(() -> load.work(id), "writer-" + id);
            load.threads.add(thread);
            thread.start();
        }
        return load;
    }

    private void work(int id) {
        ZooKeeper zooKeeper = null;
        try {
            for (int n = 0; !stopped; n++) {
                if (zooKeeper == null || !zooKeeper.getState().isAlive()) {
                    zooKeeper = new ZooKeeper(connectString, (int) RealClients.SESSION.toMillis(), event -> { });
                }
                String path = ROOT + id + "/" + n;
                try {
                    zooKeeper.create(path, new byte[100], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
                    acknowledged.add(path);
                } catch (KeeperException e) {
                    unknown.incrementAndGet();
                }
                Thread.sleep(PACE_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (Exception | Error e) {
            failure = e;
        } finally {
            if (zooKeeper != null) {
                try {
                    zooKeeper.close(0);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        }
    }

    int acknowledged() {
        return acknowledged.size();
    }

    /** Waits until this many more writes have been acknowledged. */
    void awaitMore(int writes) throws InterruptedException, TimeoutException {
        int target = acknowledged() + writes;
        Await.until(writes + " more acknowledged writes", LIMIT, () -> acknowledged() >= target, this::toString);
    }

    /** Waits until no write has been acknowledged for a while: every client waits. */
    void awaitStall() throws InterruptedException, TimeoutException {
        long[] last = {acknowledged(), System.nanoTime()};
        Await.until("the clients to stall", LIMIT, () -> {
            if (acknowledged() != last[0]) {
                last[0] = acknowledged();
                last[1] = System.nanoTime();
            }
            return System.nanoTime() - last[1] > TimeUnit.SECONDS.toNanos(1);
        }, this::toString);
    }

    /** Ends the clients, and reads at a server which of the acknowledged writes are not there. */
    Set<String> missing(String server) throws Exception {
        close();
        return missingNow(server);
    }

    /** Reads at a server which of the writes acknowledged so far are not there; the clients go on. */
    Set<String> missingNow(String server) throws Exception {
        return missingNow(server, acknowledgedNow());
    }

    /** The paths acknowledged so far. */
    Set<String> acknowledgedNow() {
        return Set.copyOf(acknowledged);
    }

    /** Reads at a server which of some paths are not there. */
    Set<String> missingNow(String server, Set<String> paths) throws Exception {
        if (failure != null) {
            throw new IllegalStateException("a writer failed", failure);
        }
        Set<String> missing = new HashSet<>(paths);
        try (ZooKeeper zooKeeper = RealClients.zooKeeper(server)) {
            zooKeeper.sync("/", (code, path, context) -> { }, null);
            for (int client = 0; client < threads.size(); client++) {
                String parent = ROOT + client;
                zooKeeper.getChildren(parent, false).forEach(name -> missing.remove(parent + "/" + name));
            }
            return missing;
        }
    }

    @Override
    public void close() throws InterruptedException {
        stopped = true;
        for (Thread thread : threads) {
            thread.join(Duration.ofSeconds(5).toMillis());
            thread.interrupt();
            thread.join();
        }
    }

    @Override
    public String toString() {
        return acknowledged() + " writes acknowledged, " + unknown + " of unknown effect";
    }
}

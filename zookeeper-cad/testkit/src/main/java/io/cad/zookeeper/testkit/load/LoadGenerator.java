// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.load;

import io.cad.zookeeper.testkit.Clients;
import io.cad.zookeeper.testkit.ServerProcess;
import io.cad.zookeeper.testkit.history.Op;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op.Create;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

/** Real clients, each with a thread and a session of its own, spread over the given servers. */
public final class LoadGenerator implements AutoCloseable {
    private static final String ROOT = "/load";
    private static final int CREATES_PER_MULTI = 500;
    /** Longer than any pause on a loaded machine; the load is not about expired sessions. */
    private static final Duration SESSION = Duration.ofSeconds(30);
    private static final Duration CONNECT_LIMIT = Duration.ofSeconds(60);
    private static final Duration END_LIMIT = Duration.ofSeconds(60);
    private static final long PING_MILLIS = SESSION.toMillis() / 3;

    private final LoadSpec spec;
    private final List<LoadClient> clients;
    private final String first;
    private final Timer pings = new Timer("load-ping", true);
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private List<Thread> threads = List.of();
    private volatile boolean running;
    private long startNanos;

    private LoadGenerator(LoadSpec spec, List<LoadClient> clients, String first) {
        this.spec = spec;
        this.clients = clients;
        this.first = first;
    }

    @FunctionalInterface
    private interface Opening {
        Session open(ServerProcess server) throws IOException, InterruptedException, TimeoutException;
    }

    /**
     * Opens sessions of upstream's client; client i talks to server i modulo the number of servers, and to no other.
     *
     * @param generation 0 for the first load on an ensemble, higher for each further one, so that all values differ
     */
    public static LoadGenerator open(LoadSpec spec, List<ServerProcess> servers, int generation)
            throws IOException, InterruptedException, TimeoutException {
        return open(spec, servers, generation, SESSION);
    }

    /**
     * The same with sessions that notice sooner that their server has gone silent.
     *
     * @param sessionTimeout two thirds of it without a reply and a client connects anew
     */
    public static LoadGenerator open(LoadSpec spec, List<ServerProcess> servers, int generation, Duration sessionTimeout)
            throws IOException, InterruptedException, TimeoutException {
        return open(spec, servers, generation,
                server -> new StockSession(server.connectString(), sessionTimeout, CONNECT_LIMIT));
    }

    /** The same with sessions that cost little CPU time and do not outlive their connection: for measurements. */
    public static LoadGenerator openLean(LoadSpec spec, List<ServerProcess> servers)
            throws IOException, InterruptedException, TimeoutException {
        LoadGenerator load = open(spec, servers, 0, server -> new WireSession(server.connectString(), SESSION));
        load.pings.schedule(new TimerTask() {
            @Override
            public void run() {
                load.ping();
            }
        }, PING_MILLIS, PING_MILLIS);
        return load;
    }

    private static LoadGenerator open(LoadSpec spec, List<ServerProcess> servers, int generation, Opening opening)
            throws IOException, InterruptedException, TimeoutException {
        Zipfian zipfian = new Zipfian(spec.keys(), spec.zipfian());
        FreshKeys fresh = new FreshKeys();
        List<LoadClient> clients = new ArrayList<>();
        LoadGenerator load = new LoadGenerator(spec, clients, servers.get(0).connectString());
        try {
            for (int id = 1; id <= spec.clients(); id++) {
                ServerProcess server = servers.get((id - 1) % servers.size());
                clients.add(new LoadClient(id, server.id(), generation, opening.open(server), spec, zipfian, fresh));
            }
            return load;
        } catch (IOException | InterruptedException | TimeoutException | RuntimeException e) {
            load.close();
            throw e;
        }
    }

    private void ping() {
        try {
            for (LoadClient client : clients) {
                ((WireSession) client.session()).ping();
            }
        } catch (IOException | KeeperException e) {
            failure.compareAndSet(null, e);
            pings.cancel();
        }
    }

    static String path(int key) {
        return ROOT + "/k" + key;
    }

    /** Creates every node with its first value. */
    public void populate() throws IOException, KeeperException, InterruptedException, TimeoutException {
        byte[] filler = new byte[spec.valueBytes()];
        try (ZooKeeper zooKeeper = Clients.connect(first, SESSION, CONNECT_LIMIT)) {
            zooKeeper.create(ROOT, new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            List<org.apache.zookeeper.Op> creates = new ArrayList<>();
            for (int key = 0; key < spec.keys(); key++) {
                byte[] value = LoadClient.encode(LoadClient.valueId(0, key), filler);
                creates.add(Create.create(path(key), value, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT));
                if (creates.size() == CREATES_PER_MULTI || key == spec.keys() - 1) {
                    zooKeeper.multi(creates);
                    creates.clear();
                }
            }
        }
        // Followers may be behind; no client shall miss a node that is about to come.
        sync();
    }

    /** Brings every client's server up to the leader's state. */
    public void sync() throws IOException, KeeperException, InterruptedException {
        for (LoadClient client : clients) {
            client.session().sync(ROOT);
        }
    }

    /** Changes the mix of the load from the next {@link #begin} on; see {@link LoadSpec}. */
    public void mix(double readShare, double freshShare) {
        if (!threads.isEmpty()) {
            throw new IllegalStateException("the load runs; end it first");
        }
        clients.forEach(client -> client.mix(readShare, freshShare));
    }

    /** Starts all clients; {@link #end} stops them. */
    public void begin(boolean record) {
        startThreads(client -> {
            while (running) {
                client.step(record);
            }
        });
    }

    @FunctionalInterface
    private interface ClientWork {
        void run(LoadClient client) throws InterruptedException, IOException;
    }

    private void startThreads(ClientWork work) {
        if (!threads.isEmpty()) {
            throw new IllegalStateException("the load already runs");
        }
        running = true;
        startNanos = System.nanoTime();
        threads = clients.stream().map(client -> new Thread(() -> {
            try {
                work.run(client);
            } catch (Throwable e) {
                failure.compareAndSet(null, e);
            }
        }, "load-client")).collect(Collectors.toList());
        threads.forEach(Thread::start);
    }

    /**
     * Stops all clients after their current operation.
     *
     * @throws IllegalStateException when a client failed otherwise than by an error reply, or does not end
     */
    public Slice end() throws InterruptedException {
        running = false;
        double seconds = (System.nanoTime() - startNanos) / 1e9;
        long end = System.nanoTime() + END_LIMIT.toNanos();
        for (Thread thread : threads) {
            thread.join(Math.max(1, (end - System.nanoTime()) / 1_000_000));
            if (thread.isAlive()) {
                throw new IllegalStateException("a client has waited for a reply for more than " + END_LIMIT.toSeconds() + " s");
            }
        }
        threads = List.of();
        if (failure.get() != null) {
            throw new IllegalStateException("a client failed", failure.get());
        }
        List<Op> ops = new ArrayList<>();
        clients.forEach(client -> ops.addAll(client.takeOps()));
        return new Slice(seconds,
                Latencies.merge(clients.stream().map(LoadClient::takeReads).collect(Collectors.toList())),
                Latencies.merge(clients.stream().map(LoadClient::takeWrites).collect(Collectors.toList())),
                clients.stream().mapToLong(LoadClient::takeErrors).sum(), ops);
    }

    /** Runs the load for a while. */
    public Slice runFor(Duration duration, boolean record) throws InterruptedException {
        begin(record);
        Thread.sleep(duration.toMillis());
        return end();
    }

    /** Reads every node once, the clients sharing the work, and returns the recorded reads. */
    public List<Op> readAll() throws InterruptedException {
        int share = clients.size();
        startThreads(client -> {
            for (int key = clients.indexOf(client); key < spec.keys(); key += share) {
                client.read(key, true);
            }
        });
        for (Thread thread : threads) {
            thread.join(END_LIMIT.toMillis());
        }
        return end().ops();
    }

    /** Closes the sessions, in parallel because a session without a server takes its time. */
    @Override
    public void close() {
        running = false;
        pings.cancel();
        List<Thread> closers = clients.stream().map(client -> new Thread(() -> {
            try {
                client.session().close();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }, "load-close")).collect(Collectors.toList());
        closers.forEach(Thread::start);
        for (Thread closer : closers) {
            try {
                closer.join(END_LIMIT.toMillis());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.history.Op;
import io.cad.zookeeper.testkit.load.FreshKeys;
import io.cad.zookeeper.testkit.load.LoadSpec;
import io.cad.zookeeper.testkit.load.Zipfian;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Closed-loop clients of one Redis server. Each key has one writer, which numbers its writes: the number orders the
 * states of the key, as the checker of histories needs it (its {@code mzxid} and {@code version}). Everybody reads all.
 */
final class RedisLoad implements AutoCloseable {
    private static final int CLIENT_SHIFT = 40;
    private static final int BATCH = 500;

    private final LoadSpec spec;
    private final int port;
    private final Zipfian zipfian;
    private final FreshKeys fresh = new FreshKeys();
    private final String filler;
    private final List<Client> clients = new ArrayList<>();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private volatile boolean running;
    private volatile boolean recording;

    RedisLoad(LoadSpec spec, int port) {
        this.spec = spec;
        this.port = port;
        this.zipfian = new Zipfian(spec.keys(), spec.zipfian());
        this.filler = "x".repeat(spec.valueBytes());
    }

    private static String key(int number) {
        return "key:" + number;
    }

    /** The value begins with client and number; what follows fills it up. */
    private String encode(int client, long number) {
        String text = client + ":" + number + ":";
        return text + filler.substring(Math.min(text.length(), filler.length()));
    }

    /** Writes every key once; a batch is one round trip. */
    void populate() throws IOException {
        try (RespClient client = new RespClient(port)) {
            for (int from = 0; from < spec.keys(); from += BATCH) {
                int to = Math.min(spec.keys(), from + BATCH);
                for (int key = from; key < to; key++) {
                    client.write("set", key(key), encode(0, 0));
                }
                for (int key = from; key < to; key++) {
                    client.read();
                }
            }
        }
    }

    /** Starts the clients; what they do is kept from {@link #record} on. */
    void begin() {
        running = true;
        for (int id = 1; id <= spec.clients(); id++) {
            clients.add(new Client(id));
        }
        clients.forEach(Thread::start);
    }

    void record() {
        recording = true;
    }

    /** Ends the load and returns its history; a client whose server died has ended already. */
    List<Op> end() throws InterruptedException {
        running = false;
        List<Op> ops = new ArrayList<>();
        for (Client client : clients) {
            client.join();
            ops.addAll(client.ops);
        }
        clients.clear();
        if (failure.get() != null) {
            throw new IllegalStateException("a client failed", failure.get());
        }
        return ops;
    }

    /** Ends the load and returns how many operations succeeded. */
    long endCounting() throws InterruptedException {
        running = false;
        long count = 0;
        for (Client client : clients) {
            client.join();
            count += client.succeeded;
        }
        clients.clear();
        if (failure.get() != null || count == 0) {
            throw new IllegalStateException("the load failed", failure.get());
        }
        return count;
    }

    /** Reads every key once. */
    List<Op> readAll() throws IOException {
        List<Op> ops = new ArrayList<>();
        try (RespClient connection = new RespClient(port)) {
            for (int key = 0; key < spec.keys(); key++) {
                long start = System.nanoTime();
                ops.add(read(key, 0, start, (String) connection.call("get", key(key)), null));
            }
        }
        return ops;
    }

    private static Op read(int key, int client, long start, String value, String error) {
        long number = 0;
        long identity = Op.NO_VALUE;
        int version = -1;
        if (value != null) {
            String[] words = value.split(":", 3);
            number = Long.parseLong(words[1]);
            identity = (Long.parseLong(words[0]) << CLIENT_SHIFT) + number;
            version = (int) number;
        }
        return new Op(Op.Kind.READ, client, 1, key(key), start, System.nanoTime(), identity, version, number, error);
    }

    @Override
    public void close() throws IOException {
        running = false;
    }

    /** One connection and its closed loop. */
    private final class Client extends Thread {
        private final int id;
        private final SplittableRandom random;
        private final List<Op> ops = new ArrayList<>();
        private long written;
        private long succeeded;

        Client(int id) {
            super("redis-load");
            this.id = id;
            this.random = new SplittableRandom(spec.seed() * 1_000_003L + id);
        }

        @Override
        public void run() {
            try (RespClient connection = new RespClient(port)) {
                while (running && step(connection)) {
                    continue;
                }
            } catch (IOException e) {
                // The connection was never made, or breaks while it is closed: the server is gone.
                return;
            } catch (RuntimeException e) {
                failure.compareAndSet(null, e);
            }
        }

        /** One operation, chosen by the seed; 0 when the connection is lost, which ends this client. */
        private boolean step(RespClient connection) {
            boolean isRead = random.nextDouble() < spec.readShare();
            int key = isRead && random.nextDouble() < spec.freshShare() ? fresh.pick(random) : zipfian.next(random);
            boolean recorded = recording;
            Op op = isRead ? read(connection, key) : write(connection, owned(key));
            if (recorded) {
                ops.add(op);
            }
            succeeded += op.ok() ? 1 : 0;
            return op.ok();
        }

        /** The key of this client that is nearest in popularity. */
        private int owned(int key) {
            int mine = key - key % spec.clients() + id - 1;
            return mine < spec.keys() ? mine : id - 1;
        }

        private Op read(RespClient connection, int key) {
            long start = System.nanoTime();
            try {
                return RedisLoad.read(key, id, start, (String) connection.call("get", key(key)), null);
            } catch (IOException e) {
                return RedisLoad.read(key, id, start, null, e.toString());
            }
        }

        private Op write(RespClient connection, int key) {
            long number = ++written;
            String error = null;
            long start = System.nanoTime();
            try {
                connection.call("set", key(key), encode(id, number));
                fresh.wrote(key);
            } catch (IOException e) {
                error = e.toString();
            }
            return new Op(Op.Kind.WRITE, id, 1, key(key), start, System.nanoTime(), ((long) id << CLIENT_SHIFT) + number,
                    (int) number, number, error);
        }
    }
}

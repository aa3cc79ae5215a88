// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.Await;
import io.cad.zookeeper.testkit.ServerProcess;
import io.cad.zookeeper.testkit.load.WireSession;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;

/**
 * A client that stays with one server, one request at a time, and notes how long each answer took. When its connection is
 * lost it goes on with the same session and the same request, so that a wait is what somebody behind it waits.
 */
final class Probe implements AutoCloseable {
    /** What was asked for. */
    enum Kind {
        /** A read of an item that nobody writes. */
        OLD,
        /** A read of what this client wrote just before. */
        FRESH,
        WRITE
    }

    /** One answer, in nanoseconds of this machine's clock. */
    record Wait(Kind kind, int client, long begin, long end) {
        double millis() {
            return (end - begin) / 1e6;
        }
    }

    static final String ROOT = "/probe";
    static final String OLD_ITEM = ROOT + "/old";
    private static final Duration SESSION = Duration.ofSeconds(30);
    private static final Duration END_LIMIT = Duration.ofSeconds(2);
    /** Few requests, so that nobody waits for the CPU. */
    private static final long PAUSE_MILLIS = 5;

    @FunctionalInterface
    private interface Request {
        void send(WireSession session) throws IOException, KeeperException;
    }

    private final ServerProcess server;
    private final int number;
    private final boolean writes;
    private final Collection<Wait> waits = new ConcurrentLinkedQueue<>();
    private final Thread thread = new Thread(this::run, "probe");
    private volatile boolean running = true;
    private volatile WireSession session;
    private volatile boolean waiting;
    private volatile Await.Hopeless failure;

    /**
     * Begins at once.
     *
     * @param number tells probes apart
     * @param writes whether it writes an item of its own and reads it back, or reads the old item
     */
    Probe(ServerProcess server, int number, boolean writes) throws IOException {
        this.server = server;
        this.number = number;
        this.writes = writes;
        this.session = new WireSession(server.connectString(), SESSION);
        thread.start();
    }

    /** Name of the item that a probe at this server writes. */
    static String item(ServerProcess server) {
        return ROOT + "/of" + server.id();
    }

    private void run() {
        try {
            while (running) {
                if (writes) {
                    String item = item(server);
                    ask(Kind.WRITE, at -> at.set(item, Long.toString(System.nanoTime()).getBytes(StandardCharsets.US_ASCII)));
                    ask(Kind.FRESH, at -> at.get(item, new Stat()));
                } else {
                    ask(Kind.OLD, at -> at.get(OLD_ITEM, new Stat()));
                }
                Thread.sleep(PAUSE_MILLIS);
            }
        } catch (InterruptedException | RuntimeException e) {
            failure = new Await.Hopeless("the probe of " + server + ": " + e);
        }
    }

    /** Asks until there is an answer or nobody wants it any more. */
    private void ask(Kind kind, Request request) throws InterruptedException {
        long begin = System.nanoTime();
        boolean expired = false;
        boolean lost = false;
        while (running) {
            try {
                if (expired) {
                    session = new WireSession(server.connectString(), SESSION);
                } else if (lost) {
                    session = new WireSession(server.connectString(), SESSION, session);
                }
                expired = false;
                lost = false;
                request.send(session);
                waits.add(new Wait(kind, number, begin, System.nanoTime()));
                waiting = false;
                return;
            } catch (WireSession.Refused e) {
                expired = true;
            } catch (IOException | KeeperException e) {
                lost = true;
                waiting = true;
                Thread.sleep(PAUSE_MILLIS);
            }
        }
    }

    Collection<Wait> waits() {
        return List.copyOf(waits);
    }

    /**
     * Whether a request of a kind that began after the moment has been answered.
     *
     * @throws Await.Hopeless when this client has ended by a mistake
     */
    boolean answered(Kind kind, long after) {
        if (failure != null) {
            throw failure;
        }
        return waits.stream().anyMatch(wait -> wait.kind() == kind && wait.begin() - after > 0);
    }

    /** Whether a request has found no server and is tried again. */
    boolean isWaiting() {
        return waiting;
    }

    boolean writes() {
        return writes;
    }

    @Override
    public void close() throws IOException, InterruptedException {
        running = false;
        thread.join(END_LIMIT.toMillis());
        if (thread.isAlive()) {
            session.disconnect();
            thread.join(END_LIMIT.toMillis());
        } else {
            session.close();
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testing;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import org.apache.jute.BinaryInputArchive;
import org.apache.jute.BinaryOutputArchive;
import org.apache.jute.Record;
import org.apache.zookeeper.ClientCnxn;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.proto.ConnectRequest;
import org.apache.zookeeper.proto.ConnectResponse;
import org.apache.zookeeper.proto.ReplyHeader;
import org.apache.zookeeper.proto.RequestHeader;
import org.apache.zookeeper.proto.WatcherEvent;

/**
 * A client that speaks the protocol itself, so that a test sees each packet:
 * its order, its header, and that it has not come. It keeps its session alive
 * by pings only when told to.
 */
public final class RawClient implements AutoCloseable {

    /** One packet from the server. */
    public static final class Packet {
        public final ReplyHeader header;
        private final byte[] body;

        Packet(ReplyHeader header, byte[] body) {
            this.header = header;
            this.body = body;
        }

        public KeeperException.Code code() {
            return KeeperException.Code.get(header.getErr());
        }

        /** Reads the body into a record. */
        public <R extends Record> R as(R record) {
            try {
                record.deserialize(BinaryInputArchive.getArchive(new ByteArrayInputStream(body)), "response");
                return record;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public String toString() {
            return "xid " + header.getXid() + " zxid 0x" + Long.toHexString(header.getZxid()) + " " + code();
        }
    }

    private final Socket socket;
    private final DataOutputStream out;
    private final CompletableFuture<ConnectResponse> connected = new CompletableFuture<>();
    private final CompletableFuture<Void> closed = new CompletableFuture<>();
    private final Map<Integer, CompletableFuture<Packet>> waiting = new ConcurrentHashMap<>();
    private final List<Packet> received = new ArrayList<>();
    private final List<CompletableFuture<WatcherEvent>> eventWaiters = new ArrayList<>();
    private final List<WatcherEvent> events = new ArrayList<>();
    private final Semaphore reading = new Semaphore(1);
    private int nextXid = 1;

    private RawClient(int port) throws IOException {
        socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setTcpNoDelay(true);
        out = new DataOutputStream(socket.getOutputStream());
        Thread reader = new Thread(this::read, "raw-client-" + port);
        reader.setDaemon(true);
        reader.start();
    }

    /** Asks for a new session and returns at once; see {@link #connected}. */
    public static RawClient opening(int port, int sessionTimeoutMillis) {
        return opening(port, sessionTimeoutMillis, 0, new byte[16], 0);
    }

    /** Asks for a session, a former one if the id is not 0, and returns at once. */
    public static RawClient opening(int port, int sessionTimeoutMillis, long session, byte[] password, long lastZxid) {
        try {
            RawClient client = new RawClient(port);
            client.write(null, new ConnectRequest(0, lastZxid, sessionTimeoutMillis, session, password, false));
            return client;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A new session, open. On a busy machine a leader may miss its lease for a moment and close a new connection. */
    public static RawClient open(int port, int sessionTimeoutMillis) {
        RawClient[] client = new RawClient[1];
        Await.until("a session", () -> {
            client[0] = opening(port, sessionTimeoutMillis);
            return CompletableFuture.anyOf(client[0].connected, client[0].closed).handle((answer, failure) -> true).join()
                && client[0].connected.isDone() && !client[0].connected.isCompletedExceptionally();
        });
        return client[0];
    }

    /** The server's answer to the request for a session. */
    public CompletableFuture<ConnectResponse> connected() {
        return connected;
    }

    public long session() {
        return connected.join().getSessionId();
    }

    /** Completes when the server has closed the connection. */
    public CompletableFuture<Void> closed() {
        return closed;
    }

    /** Sends a request; the future completes with the reply, whatever its code. */
    public CompletableFuture<Packet> send(int type, Record body) {
        int xid;
        synchronized (this) {
            xid = nextXid++;
        }
        return send(xid, type, body);
    }

    /** Sends a request under an xid of the caller's choice. */
    public synchronized CompletableFuture<Packet> send(int xid, int type, Record body) {
        CompletableFuture<Packet> reply = new CompletableFuture<>();
        waiting.put(xid, reply);
        try {
            write(new RequestHeader(xid, type), body);
        } catch (IOException e) {
            reply.completeExceptionally(e);
        }
        return reply;
    }

    /** Sends a ping; the future completes with its reply. */
    public CompletableFuture<Packet> ping() {
        return send(ClientCnxn.PING_XID, OpCode.ping, null);
    }

    /** The next event that nobody has taken yet. */
    public CompletableFuture<WatcherEvent> event() {
        CompletableFuture<WatcherEvent> event = new CompletableFuture<>();
        synchronized (events) {
            if (events.isEmpty()) {
                eventWaiters.add(event);
            } else {
                event.complete(events.remove(0));
            }
        }
        return event;
    }

    /** Takes at most one more packet from the connection until {@link #resumeReading}, as a busy client does. */
    public void pauseReading() {
        reading.acquireUninterruptibly();
    }

    public void resumeReading() {
        reading.release();
    }

    /** Every reply and event so far, in order of arrival. */
    public List<Packet> received() {
        synchronized (received) {
            return List.copyOf(received);
        }
    }

    private synchronized void write(RequestHeader header, Record body) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        BinaryOutputArchive archive = BinaryOutputArchive.getArchive(bytes);
        if (header != null) {
            header.serialize(archive, "header");
        }
        if (body != null) {
            body.serialize(archive, "body");
        }
        out.writeInt(bytes.size());
        bytes.writeTo(out);
        out.flush();
    }

    private void read() {
        IOException end = new IOException("the server closed the connection");
        try {
            DataInputStream in = new DataInputStream(socket.getInputStream());
            ConnectResponse response = new ConnectResponse();
            response.deserialize(archive(in), "connect");
            connected.complete(response);
            while (true) {
                dispatch(in);
                reading.acquireUninterruptibly();
                reading.release();
            }
        } catch (IOException e) {
            end.addSuppressed(e);
        }
        connected.completeExceptionally(end);
        waiting.values().forEach(reply -> reply.completeExceptionally(end));
        synchronized (events) {
            eventWaiters.forEach(event -> event.completeExceptionally(end));
        }
        closed.complete(null);
    }

    private static BinaryInputArchive archive(DataInputStream in) throws IOException {
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        return BinaryInputArchive.getArchive(new ByteArrayInputStream(bytes));
    }

    private void dispatch(DataInputStream in) throws IOException {
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        ByteArrayInputStream stream = new ByteArrayInputStream(bytes);
        ReplyHeader header = new ReplyHeader();
        header.deserialize(BinaryInputArchive.getArchive(stream), "header");
        Packet packet = new Packet(header, stream.readAllBytes());
        synchronized (received) {
            received.add(packet);
        }
        if (header.getXid() == ClientCnxn.NOTIFICATION_XID) {
            WatcherEvent event = packet.as(new WatcherEvent());
            synchronized (events) {
                if (eventWaiters.isEmpty()) {
                    events.add(event);
                } else {
                    eventWaiters.remove(0).complete(event);
                }
            }
            return;
        }
        CompletableFuture<Packet> reply = waiting.remove(header.getXid());
        if (reply != null) {
            reply.complete(packet);
        }
    }

    /** Drops the connection without a word, as a crashed client does. */
    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

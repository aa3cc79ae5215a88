// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.load;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.jute.BinaryInputArchive;
import org.apache.jute.BinaryOutputArchive;
import org.apache.jute.Record;
import org.apache.zookeeper.ClientCnxn;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.proto.ConnectRequest;
import org.apache.zookeeper.proto.ConnectResponse;
import org.apache.zookeeper.proto.ExistsRequest;
import org.apache.zookeeper.proto.GetDataRequest;
import org.apache.zookeeper.proto.GetDataResponse;
import org.apache.zookeeper.proto.ReplyHeader;
import org.apache.zookeeper.proto.RequestHeader;
import org.apache.zookeeper.proto.SetDataRequest;
import org.apache.zookeeper.proto.SetDataResponse;
import org.apache.zookeeper.proto.SyncRequest;
import org.apache.zookeeper.proto.SyncResponse;

/**
 * A session on a plain connection: the calling thread writes the request and reads the reply.
 *
 * <p>Upstream's client hands each request to a second thread and back, and wakes it through a third channel. Where servers
 * and clients share two cores that took as much CPU as the leader, so that a benchmark measured its clients.
 */
public final class WireSession implements Session {
    private static final int LENGTH_BYTES = 4;
    private static final int PASSWORD_BYTES = 16;
    /** Longer than any reply of the load. */
    private static final int BUFFER_BYTES = 1 << 16;

    /** The server answered, and does not know the session any more. */
    public static final class Refused extends IOException {
        private static final long serialVersionUID = 1;

        Refused(String message) {
            super(message);
        }
    }

    private final SocketChannel channel;
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteBuffer in = ByteBuffer.allocateDirect(BUFFER_BYTES);
    private final ConnectResponse granted = new ConnectResponse();
    private int xid;

    /**
     * @param connectString address and port of one server
     * @param timeout of the session, which somebody has to {@link #ping} meanwhile
     * @throws EOFException when the server closes the connection instead
     */
    public WireSession(String connectString, Duration timeout) throws IOException {
        this(connectString, timeout, 0, new byte[PASSWORD_BYTES]);
    }

    /**
     * Goes on with the session of a connection that is lost, which needs no write.
     *
     * @throws EOFException when the server closes the connection instead
     * @throws Refused when the session has expired
     */
    public WireSession(String connectString, Duration timeout, WireSession earlier) throws IOException {
        this(connectString, timeout, earlier.granted.getSessionId(), earlier.granted.getPasswd());
    }

    private WireSession(String connectString, Duration timeout, long session, byte[] password) throws IOException {
        this(connectString);
        boolean open = false;
        try {
            askForSession(timeout, session, password);
            awaitSession();
            open = true;
        } finally {
            if (!open) {
                channel.close();
            }
        }
    }

    /** Connects only. */
    private WireSession(String connectString) throws IOException {
        int colon = connectString.lastIndexOf(':');
        channel = SocketChannel.open(new InetSocketAddress(connectString.substring(0, colon),
                Integer.parseInt(connectString.substring(colon + 1))));
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    }

    /** Many sessions at once: a server opens them in less time than one after the other. */
    static List<WireSession> openAll(int count, String connectString, Duration timeout) throws IOException {
        List<WireSession> sessions = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            WireSession session = new WireSession(connectString);
            sessions.add(session);
            session.askForSession(timeout, 0, new byte[PASSWORD_BYTES]);
        }
        for (WireSession session : sessions) {
            session.awaitSession();
        }
        return sessions;
    }

    private void askForSession(Duration timeout, long session, byte[] password) throws IOException {
        send(null, new ConnectRequest(0, 0, (int) timeout.toMillis(), session, password, false));
    }

    private void awaitSession() throws IOException {
        granted.deserialize(receive(), "session");
        if (granted.getTimeOut() <= 0) {
            throw new Refused("the server refused a session");
        }
    }

    @Override
    public synchronized byte[] get(String path, Stat stat) throws KeeperException, IOException {
        GetDataResponse reply = new GetDataResponse();
        call(OpCode.getData, path, new GetDataRequest(path, false), reply);
        Stat got = reply.getStat();
        stat.setMzxid(got.getMzxid());
        stat.setVersion(got.getVersion());
        return reply.getData();
    }

    @Override
    public synchronized Stat set(String path, byte[] value) throws KeeperException, IOException {
        SetDataResponse reply = new SetDataResponse();
        call(OpCode.setData, path, new SetDataRequest(path, value, -1), reply);
        return reply.getStat();
    }

    @Override
    public synchronized void sync(String path) throws KeeperException, IOException {
        call(OpCode.sync, path, new SyncRequest(path), new SyncResponse());
    }

    /** Keeps an idle session alive. */
    synchronized void ping() throws KeeperException, IOException {
        send(new RequestHeader(ClientCnxn.PING_XID, OpCode.ping), null);
        check(ClientCnxn.PING_XID, "ping", receive());
    }

    /** Sends a read without waiting for its reply. */
    synchronized void ask(String path) throws IOException {
        send(new RequestHeader(++xid, OpCode.exists), new ExistsRequest(path, false));
    }

    /**
     * Waits until the server closes the connection.
     *
     * @return how many replies came before
     */
    synchronized int awaitEnd() throws IOException {
        for (int replies = 0;; replies++) {
            try {
                receive();
            } catch (EOFException e) {
                return replies;
            }
        }
    }

    private void call(int type, String path, Record request, Record reply) throws KeeperException, IOException {
        int mine = ++xid;
        send(new RequestHeader(mine, type), request);
        BinaryInputArchive answer = receive();
        check(mine, path, answer);
        reply.deserialize(answer, "reply");
    }

    private static void check(int expected, String path, BinaryInputArchive answer) throws KeeperException, IOException {
        ReplyHeader header = new ReplyHeader();
        header.deserialize(answer, "header");
        if (header.getXid() != expected) {
            throw new IOException("reply " + header.getXid() + " to request " + expected);
        }
        if (header.getErr() != 0) {
            throw KeeperException.create(KeeperException.Code.get(header.getErr()), path);
        }
    }

    private void send(RequestHeader header, Record request) throws IOException {
        out.reset();
        BinaryOutputArchive archive = BinaryOutputArchive.getArchive(out);
        archive.writeInt(0, "length");
        if (header != null) {
            header.serialize(archive, "header");
        }
        if (request != null) {
            request.serialize(archive, "request");
        }
        ByteBuffer packet = ByteBuffer.wrap(out.toByteArray());
        packet.putInt(0, packet.capacity() - LENGTH_BYTES);
        while (packet.hasRemaining()) {
            channel.write(packet);
        }
    }

    private BinaryInputArchive receive() throws IOException {
        in.clear();
        fill(LENGTH_BYTES);
        int length = in.getInt(0);
        if (length < 0 || length > BUFFER_BYTES - LENGTH_BYTES) {
            throw new IOException("a reply of " + length + " bytes");
        }
        fill(LENGTH_BYTES + length);
        byte[] reply = new byte[length];
        in.position(LENGTH_BYTES);
        in.get(reply);
        return BinaryInputArchive.getArchive(new ByteArrayInputStream(reply));
    }

    private void fill(int bytes) throws IOException {
        while (in.position() < bytes) {
            if (channel.read(in) < 0) {
                throw new EOFException("the server closed the connection");
            }
        }
    }

    /** Ends the connection, also for a thread that waits for a reply; the session goes on. */
    public void disconnect() throws IOException {
        channel.close();
    }

    @Override
    public void close() {
        try (channel) {
            send(new RequestHeader(++xid, OpCode.closeSession), null);
        } catch (IOException e) {
            // The server is gone already.
        }
    }
}

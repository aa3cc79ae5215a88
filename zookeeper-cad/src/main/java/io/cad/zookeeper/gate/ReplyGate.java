// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.gate;

import io.cad.zookeeper.core.ReplyQueue;
import io.cad.zookeeper.metrics.CadMetrics;
import java.nio.ByteBuffer;
import java.util.function.Supplier;
import org.apache.zookeeper.ClientCnxn;
import org.apache.zookeeper.proto.ReplyHeader;

/**
 * The gate of one connection: replies leave in order, each when what it shows
 * is durable (rules R2, R3). The bytes are held, not the request, so no
 * thread waits and nothing is executed twice. In the common case, nothing held
 * and R at most D, a reply costs two volatile reads and no lock.
 */
public final class ReplyGate {

    /** The connection, as the gate needs it. */
    public interface Connection {
        /** Hands bytes to the transport, past the gate. */
        void transmit(ByteBuffer[] bytes);

        /** The reply with this header has left: it no longer counts against the client's limit. */
        void replied(ReplyHeader header);

        /** True before a session is being opened: four letter words answer here. */
        boolean beforeSession();

        int sessionTimeoutMillis();

        /** Ends the connection; the client tries another server. */
        void closeHeld(String reason);
    }

    /** One held packet. */
    private static final class Held {
        final ByteBuffer[] bytes;
        final ReplyHeader header;
        final Cause cause;
        final long size;
        final long since;

        Held(ByteBuffer[] bytes, ReplyHeader header, Cause cause, long size, long since) {
            this.bytes = bytes;
            this.header = header;
            this.cause = cause;
            this.size = size;
            this.since = since;
        }
    }

    private final Connection connection;
    private final Supplier<GateKeeper> role;
    private volatile GateKeeper known;

    // Guarded by this object's monitor, but for the volatile count.
    private final ReplyQueue<Held> queue = new ReplyQueue<>();
    private volatile int held;
    private boolean closed;
    private volatile long lastSentZxid;
    private volatile long lastQueuedZxid;

    /**
     * @param role the gates of the server's role; null while the server is being set up, when
     *     upstream accepts connections already but serves none
     */
    public ReplyGate(Connection connection, Supplier<GateKeeper> role) {
        this.connection = connection;
        this.role = role;
    }

    /** The keeper of the one role that a connection can have, or null before it exists. */
    private GateKeeper keeper() {
        GateKeeper keeper = known;
        if (keeper == null) {
            keeper = role.get();
            known = keeper;
        }
        return keeper;
    }

    /** Called before a reply is serialised: remembers its header and keeps it within what the client may know. */
    public void before(ReplyHeader header) {
        ReplyContext context = ReplyContext.current();
        context.header = header;
        context.held = false;
        GateKeeper keeper = keeper();
        if (keeper == null || !keeper.active()) {
            return;
        }
        if (header.getXid() == ClientCnxn.PING_XID) {
            // A ping passes held replies, so it must not tell of them.
            header.setZxid(Math.min(header.getZxid(), lastSentZxid));
        } else if (context.capHeader) {
            long known = Math.max(context.required, keeper.durable());
            header.setZxid(Math.min(header.getZxid(), Math.max(known, Math.max(lastQueuedZxid, lastSentZxid))));
        }
    }

    /** Called after a reply was handed over or held. */
    public void after() {
        ReplyContext.current().header = null;
    }

    /** True if the reply with this header was held: its accounting waits for its release. */
    public boolean isHeld(ReplyHeader header) {
        ReplyContext context = ReplyContext.current();
        return context.held && context.header == header;
    }

    /**
     * Takes a packet on its way to the transport.
     *
     * @return true if the gate keeps it; false if the caller is to send it now
     */
    public boolean intercept(ByteBuffer[] bytes) {
        GateKeeper keeper = keeper();
        if (keeper == null || !keeper.active()) {
            return false;
        }
        ReplyContext context = ReplyContext.current();
        ReplyHeader header = context.header;
        if (header != null && header.getXid() == ClientCnxn.PING_XID) {
            return false;
        }
        long required = context.required;
        Cause cause = context.cause;
        if (required == ReplyContext.UNSTATED) {
            if (header == null && connection.beforeSession()) {
                return false;
            }
            required = keeper.requiredWhenUnstated();
        }
        long zxid = header == null ? 0 : header.getZxid();
        if (held == 0 && required <= keeper.durable()) {
            lastSentZxid = Math.max(lastSentZxid, zxid);
            return false;
        }
        if (hold(keeper, bytes, header, required, cause, zxid)) {
            context.held = true;
            keeper.need(this, required);
            return true;
        }
        return false;
    }

    private boolean hold(GateKeeper keeper, ByteBuffer[] bytes, ReplyHeader header, long required, Cause cause, long zxid) {
        long now = System.nanoTime();
        long size = 0;
        for (ByteBuffer buffer : bytes) {
            size += buffer.remaining();
        }
        synchronized (this) {
            if (closed) {
                return true;
            }
            if (queue.passes(required, keeper.durable())) {
                lastSentZxid = Math.max(lastSentZxid, zxid);
                return false;
            }
            queue.hold(new Held(bytes, header, cause, size, now), required, size, now);
            lastQueuedZxid = Math.max(lastQueuedZxid, zxid);
            held = queue.size();
        }
        CadMetrics.get().held(cause, size);
        keeper.heldBytes(size);
        return true;
    }

    /** Sends, in order, what D allows. Called by the keeper when D has moved. */
    void drain(long durable) {
        long now = System.nanoTime();
        synchronized (this) {
            for (Held next = queue.pollReady(durable); next != null; next = queue.pollReady(durable)) {
                if (next.header != null) {
                    lastSentZxid = Math.max(lastSentZxid, next.header.getZxid());
                }
                connection.transmit(next.bytes);
                if (next.header != null) {
                    connection.replied(next.header);
                }
                CadMetrics.get().released(next.cause, next.size, now - next.since);
                known.heldBytes(-next.size);
            }
            held = queue.size();
        }
    }

    /** The connection or its role ended: what is held is never sent (rule R3). */
    public void discard() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            if (queue.size() == 0) {
                return;
            }
            CadMetrics.get().discarded(queue.size(), queue.bytes());
            known.heldBytes(-queue.bytes());
            queue.discard();
            held = 0;
        }
        known.forget(this);
    }

    /** Number of held packets. */
    public int held() {
        return held;
    }

    /** Closes the connection if its oldest reply has waited too long. */
    void checkAge(long now, long holdTime) {
        long limit = holdTime > 0 ? holdTime : connection.sessionTimeoutMillis() * 1_000_000L / 3;
        boolean tooOld;
        synchronized (this) {
            tooOld = queue.size() > 0 && limit > 0 && now - queue.oldestHeldAt() > limit;
        }
        if (tooOld) {
            close("hold-time");
        }
    }

    void close(String reason) {
        discard();
        CadMetrics.get().closed(reason);
        connection.closeHeld(reason);
    }

    long bytesHeld() {
        synchronized (this) {
            return queue.bytes();
        }
    }
}

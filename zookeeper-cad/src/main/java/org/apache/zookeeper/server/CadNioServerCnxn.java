// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server;

import io.cad.zookeeper.gate.Cause;
import io.cad.zookeeper.gate.ReplyContext;
import io.cad.zookeeper.gate.ReplyGate;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.jute.Record;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.proto.ReplyHeader;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An NIO connection whose replies pass a gate. A reply is written by the thread
 * that has it whenever nothing waits to be written before it: upstream's way,
 * over the selector and a worker, costs two more threads for each reply.
 */
final class CadNioServerCnxn extends NIOServerCnxn implements ReplyGate.Connection {

    private static final Logger LOG = LoggerFactory.getLogger(CadNioServerCnxn.class);

    private final CadConnections.RoleHolder holder;
    private final ReplyGate gate;
    /** Held while bytes reach the socket or the queue before it, so that replies keep their order. Writes do not block. */
    private final ReentrantLock writing = new ReentrantLock();
    private final SocketChannel channel;
    /** Replies in upstream's queue. Guarded by {@code writing}. */
    private long queued;
    /** The queue is being written. Guarded by {@code writing}. */
    private boolean fromQueue;

    CadNioServerCnxn(ZooKeeperServer server, SocketChannel channel, SelectionKey key, NIOServerCnxnFactory factory,
                     NIOServerCnxnFactory.SelectorThread selector, CadConnections.RoleHolder holder) throws IOException {
        super(server, channel, key, factory, selector);
        this.channel = channel;
        this.holder = holder;
        this.gate = CadConnections.gate(this, holder);
    }

    @Override
    public int sendResponse(ReplyHeader h, Record r, String tag, String cacheKey, Stat stat, int opCode) {
        gate.before(h);
        try {
            return super.sendResponse(h, r, tag, cacheKey, stat, opCode);
        } finally {
            gate.after();
        }
    }

    @Override
    public void sendBuffer(ByteBuffer... buffers) {
        if (gate == null || !gate.intercept(buffers)) {
            transmit(buffers);
        }
    }

    @Override
    public void decrOutstandingAndCheckThrottle(ReplyHeader h) {
        if (!gate.isHeld(h)) {
            super.decrOutstandingAndCheckThrottle(h);
        }
    }

    @Override
    public void process(WatchedEvent event, List<ACL> znodeAcl) {
        ReplyContext context = ReplyContext.current();
        long required = context.required;
        Cause cause = context.cause;
        boolean cap = context.capHeader;
        CadConnections.stateEvent(event, holder, context);
        try {
            super.process(event, znodeAcl);
        } finally {
            context.set(required, cause, cap);
        }
    }

    /** Every way to close a connection begins here. */
    @Override
    public void setStale() {
        gate.discard();
        super.setStale();
    }

    @Override
    public synchronized void dumpConnectionInfo(PrintWriter writer, boolean brief) {
        super.dumpConnectionInfo(writer, brief);
        writer.print(CadConnections.held(gate));
    }

    @Override
    public void transmit(ByteBuffer[] bytes) {
        writing.lock();
        try {
            if (queued > 0 || asksToClose(bytes) || !written(bytes)) {
                queued++;
                super.sendBuffer(bytes);
            }
        } finally {
            writing.unlock();
        }
    }

    /** The request to close is a buffer that must be met in the queue. */
    private static boolean asksToClose(ByteBuffer[] bytes) {
        for (ByteBuffer part : bytes) {
            if (part == ServerCnxnFactory.closeConn) {
                return true;
            }
        }
        return false;
    }

    /** @return false if bytes are left, which the selector sends, or closes the connection */
    private boolean written(ByteBuffer[] bytes) {
        try {
            channel.write(bytes);
        } catch (IOException e) {
            LOG.debug("Cannot write to {}: {}", getRemoteSocketAddress(), e.toString());
            return false;
        }
        for (ByteBuffer part : bytes) {
            if (part.hasRemaining()) {
                return false;
            }
        }
        packetSent();
        return true;
    }

    @Override
    void handleWrite(SelectionKey key) throws IOException {
        writing.lock();
        try {
            fromQueue = true;
            super.handleWrite(key);
        } finally {
            fromQueue = false;
            writing.unlock();
        }
    }

    @Override
    protected void packetSent() {
        super.packetSent();
        if (fromQueue) {
            queued--;
        }
    }

    @Override
    public void replied(ReplyHeader header) {
        super.decrOutstandingAndCheckThrottle(header);
    }

    @Override
    public boolean beforeSession() {
        return getSessionId() == 0;
    }

    @Override
    public int sessionTimeoutMillis() {
        return getSessionTimeout();
    }

    @Override
    public void closeHeld(String reason) {
        close(DisconnectReason.CONNECTION_CLOSE_FORCED);
    }
}

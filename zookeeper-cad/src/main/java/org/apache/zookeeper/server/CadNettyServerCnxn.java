// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server;

import io.cad.zookeeper.gate.Cause;
import io.cad.zookeeper.gate.ReplyContext;
import io.cad.zookeeper.gate.ReplyGate;
import io.netty.channel.Channel;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.util.List;
import org.apache.jute.Record;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.proto.ReplyHeader;

/** A Netty connection whose replies pass a gate. */
final class CadNettyServerCnxn extends NettyServerCnxn implements ReplyGate.Connection {

    private final CadConnections.RoleHolder holder;
    private final ReplyGate gate;

    CadNettyServerCnxn(Channel channel, ZooKeeperServer server, NettyServerCnxnFactory factory,
                       CadConnections.RoleHolder holder) {
        super(channel, server, factory);
        this.holder = holder;
        this.gate = CadConnections.gate(this, holder);
    }

    @Override
    public int sendResponse(ReplyHeader h, Record r, String tag, String cacheKey, Stat stat, int opCode)
        throws IOException {
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
            super.sendBuffer(buffers);
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
        super.sendBuffer(bytes);
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

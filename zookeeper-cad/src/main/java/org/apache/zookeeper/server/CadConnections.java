// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server;

import io.cad.zookeeper.gate.Cause;
import io.cad.zookeeper.gate.ReplyContext;
import io.cad.zookeeper.gate.ReplyGate;
import io.cad.zookeeper.role.Role;
import io.netty.channel.Channel;
import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import org.apache.zookeeper.WatchedEvent;

/** Makes connections with a gate for servers that run in a role, stock ones for all others. */
public final class CadConnections {

    /** A server that runs in a role. */
    public interface RoleHolder {
        /** Null until the server is set up. */
        Role role();
    }

    private CadConnections() {
    }

    public static NIOServerCnxn nio(ZooKeeperServer server, SocketChannel channel, SelectionKey key,
                                    NIOServerCnxnFactory factory, NIOServerCnxnFactory.SelectorThread selector)
        throws IOException {
        return server instanceof RoleHolder
            ? new CadNioServerCnxn(server, channel, key, factory, selector, (RoleHolder) server) : null;
    }

    public static NettyServerCnxn netty(Channel channel, ZooKeeperServer server, NettyServerCnxnFactory factory) {
        return server instanceof RoleHolder
            ? new CadNettyServerCnxn(channel, server, factory, (RoleHolder) server) : null;
    }

    /** The gate of a connection. The role may come into being after the connection: it is looked up when needed. */
    static ReplyGate gate(ReplyGate.Connection connection, RoleHolder server) {
        return new ReplyGate(connection, () -> {
            Role role = server.role();
            return role == null ? null : role.gates;
        });
    }

    /** States what a watch event shows, around its delivery. */
    static void stateEvent(WatchedEvent event, RoleHolder server,
                           ReplyContext context) {
        context.set(server.role().policy.requiredByEvent(event.getZxid()), Cause.EVENT, false);
    }

    /** Upstream's line for {@code cons} ends with a bracket; ours says what is held behind it. */
    static String held(ReplyGate gate) {
        return gate.held() == 0 ? "" : " held=" + gate.held();
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.quorum;

import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.wire.Packets;
import java.io.IOException;

/** Upstream's observer, with our part of the handshake and the durable index. It reports nothing. */
final class CadObserver extends Observer {

    final LearnerLink link;

    CadObserver(QuorumPeer peer, CadObserverZooKeeperServer server, CadConfig config) {
        super(peer, server);
        link = new LearnerLink(config, this, false, packet -> super.writePacket(packet, true));
    }

    @Override
    void writePacket(QuorumPacket packet, boolean flush) throws IOException {
        link.outgoing(packet);
        super.writePacket(packet, flush);
    }

    @Override
    void readPacket(QuorumPacket packet) throws IOException {
        super.readPacket(packet);
        link.incoming(packet);
    }

    @Override
    protected void processPacket(QuorumPacket packet) throws Exception {
        if (packet.getType() == Leader.SYNC && !Packets.isPositionConfirmed(packet)) {
            ((CadObserverZooKeeperServer) zk).positionUnconfirmed();
        }
        if (!Packets.isOurs(packet)) {
            super.processPacket(packet);
        }
    }

    @Override
    protected void syncWithLeader(long newLeaderZxid) throws Exception {
        link.synchronising();
        super.syncWithLeader(newLeaderZxid);
        link.synchronised();
    }

    /** A synchronisation that was cut short leaves memory ahead of the log (ZOOKEEPER-5094): both are read anew. */
    @Override
    public void shutdown() {
        if (self.getSyncMode() == QuorumPeer.SyncMode.TRUNC) {
            self.setSyncMode(QuorumPeer.SyncMode.SNAP);
        }
        link.close();
        super.shutdown();
    }
}

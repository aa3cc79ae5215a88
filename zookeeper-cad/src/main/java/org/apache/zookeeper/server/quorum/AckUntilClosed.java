// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.quorum;

import java.io.Flushable;
import java.io.IOException;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.server.RequestProcessor;
import org.apache.zookeeper.server.ServerMetrics;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Acknowledges logged proposals until the link to the leader breaks. Upstream's
 * SendAckRequestProcessor goes on and logs a stack trace for each one that is
 * still queued: with asynchronous replication those are thousands.
 */
final class AckUntilClosed implements RequestProcessor, Flushable {

    private static final Logger LOG = LoggerFactory.getLogger(AckUntilClosed.class);

    private final Learner learner;
    private boolean closed;

    AckUntilClosed(Learner learner) {
        this.learner = learner;
    }

    @Override
    public void processRequest(Request request) {
        if (!closed) {
            request.logLatency(ServerMetrics.getMetrics().PROPOSAL_ACK_CREATION_LATENCY);
            write(new QuorumPacket(Leader.ACK, request.getHdr().getZxid(), null, null), false);
        }
    }

    @Override
    public void flush() {
        if (!closed) {
            write(null, true);
        }
    }

    private void write(QuorumPacket packet, boolean flush) {
        try {
            learner.writePacket(packet, flush);
        } catch (IOException e) {
            LOG.warn("The leader no longer takes acknowledgements, closing the connection: {}", e.toString());
            closed = true;
            learner.closeSocket();
        }
    }

    @Override
    public void shutdown() {
        // Nothing is kept here.
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.quorum;

import io.cad.zookeeper.metrics.CadMetrics;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.server.Request;

/**
 * With reads at the leader, a read at another server is executed only once
 * that server has applied what the leader had applied after the read arrived
 * (rule R1). Upstream's sync, put into the same queue before the read, is that
 * question: one round trip, in order, and the watch stays local.
 */
final class LeaderPosition {

    private LeaderPosition() {
    }

    /** The question to ask before a request, or null if the request is no read. */
    static Request before(Request request) {
        if (request.cnxn == null || !isRead(request.type)) {
            return null;
        }
        CadMetrics.get().readBarrier();
        // Without a connection the answer goes to nobody.
        Request sync = new Request(null, request.sessionId, request.cxid, OpCode.sync, null, request.authInfo);
        sync.setOwner(request.getOwner());
        return sync;
    }

    static boolean isRead(int type) {
        switch (type) {
        case OpCode.exists:
        case OpCode.getData:
        case OpCode.getACL:
        case OpCode.getChildren:
        case OpCode.getChildren2:
        case OpCode.getAllChildrenNumber:
        case OpCode.getEphemerals:
        case OpCode.multiRead:
        case OpCode.setWatches:
        case OpCode.setWatches2:
            return true;
        default:
            return false;
        }
    }
}

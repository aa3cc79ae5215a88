// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.quorum;

import io.cad.zookeeper.metrics.CadMetrics;
import java.util.Queue;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.server.ServerCnxn;

/**
 * With reads at the leader, a read at another server is executed only once
 * that server has applied what the leader had applied after the read arrived
 * (rule R1). Upstream's sync, put into the same queue before the read, is that
 * question: one round trip, in order, and the watch stays local.
 */
final class LeaderPosition {

    /** The question that goes before a read. Without a connection the answer goes to nobody. */
    private static final class Question extends Request {
        final ServerCnxn reader;

        Question(Request read) {
            super(null, read.sessionId, read.cxid, OpCode.sync, null, read.authInfo);
            reader = read.cnxn;
            setOwner(read.getOwner());
        }
    }

    private LeaderPosition() {
    }

    /** The question to ask before a request, or null if the request is no read. */
    static Request before(Request request) {
        if (request.cnxn == null || !isRead(request.type)) {
            return null;
        }
        CadMetrics.get().readBarrier();
        return new Question(request);
    }

    /**
     * The leader has answered the oldest question, but could not confirm its lease: the read behind the question may
     * show an old state, so its connection ends before it is executed.
     */
    static void unconfirmed(Queue<Request> questions) {
        Request oldest = questions.peek();
        if (oldest instanceof Question) {
            CadMetrics.get().unconfirmedRead();
            CadPeer.closeWithoutLease(((Question) oldest).reader);
        }
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

// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.quorum;

import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.server.RequestProcessor;

/** Asks the leader for its position before each read. */
final class CadFollowerRequestProcessor extends FollowerRequestProcessor {

    CadFollowerRequestProcessor(FollowerZooKeeperServer server, RequestProcessor next) {
        super(server, next);
    }

    @Override
    public void processRequest(Request request) {
        Request position = LeaderPosition.before(request);
        if (position != null) {
            super.processRequest(position);
        }
        super.processRequest(request);
    }
}

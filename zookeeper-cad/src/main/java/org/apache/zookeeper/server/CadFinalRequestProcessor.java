// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server;

import io.cad.zookeeper.gate.ReplyContext;
import io.cad.zookeeper.role.Role;

/** Applies and answers as upstream does, and tells the role what is applied and the gate what a reply shows. */
public final class CadFinalRequestProcessor extends FinalRequestProcessor {

    private final Role role;

    public CadFinalRequestProcessor(ZooKeeperServer server, Role role) {
        super(server);
        this.role = role;
    }

    @Override
    public void processRequest(Request request) {
        boolean change = request.getHdr() != null;
        if (change) {
            role.beforeApply(request, zks.getZKDatabase().getDataTree(), System.nanoTime());
        }
        ReplyContext context = ReplyContext.current();
        if (request.cnxn != null) {
            role.state(request, context);
        }
        try {
            super.processRequest(request);
        } finally {
            context.clear();
        }
        if (change) {
            role.applied(request.getHdr().getZxid());
        }
    }
}

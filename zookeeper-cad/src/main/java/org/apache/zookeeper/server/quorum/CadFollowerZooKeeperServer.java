// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.quorum;

import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.node.LeaseGate;
import io.cad.zookeeper.role.FollowerRole;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.util.function.BiConsumer;
import org.apache.zookeeper.proto.ConnectRequest;
import org.apache.zookeeper.server.CadBean;
import org.apache.zookeeper.server.CadConnections;
import org.apache.zookeeper.server.CadFinalRequestProcessor;
import org.apache.zookeeper.server.CadMonitor;
import org.apache.zookeeper.server.CadSyncProcessor;
import org.apache.zookeeper.server.ClientCnxnLimitException;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.server.RequestProcessor;
import org.apache.zookeeper.server.ServerCnxn;
import org.apache.zookeeper.server.SyncRequestProcessor;
import org.apache.zookeeper.server.ZKDatabase;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;

/** A follower's pipeline: upstream's, with our log thread, final processor and the leader's position before reads. */
final class CadFollowerZooKeeperServer extends FollowerZooKeeperServer implements CadConnections.RoleHolder {

    private volatile FollowerRole role;
    /** Null where reads need no lease. */
    private volatile LeaseGate<Request> leased;
    private CadBean bean;

    CadFollowerZooKeeperServer(FileTxnSnapLog files, QuorumPeer peer, ZKDatabase db, CadConfig config)
        throws IOException {
        super(files, peer, db);
    }

    @Override
    public FollowerRole role() {
        return role;
    }

    @Override
    protected void setupRequestProcessors() {
        role = ((CadFollower) getFollower()).link
            .begin(CadPeer.files(this), "follower");
        leased = role.gateReads(super::submitRequest, request -> CadPeer.closeWithoutLease(request.cnxn));
        RequestProcessor last = new CadFinalRequestProcessor(this, role);
        commitProcessor = new CommitProcessor(last, Long.toString(getServerId()), true, getZooKeeperServerListener());
        commitProcessor.start();
        FollowerRequestProcessor first = role.mode.readsAtLeader()
            ? new CadFollowerRequestProcessor(this, commitProcessor)
            : new FollowerRequestProcessor(this, commitProcessor);
        firstProcessor = first;
        first.start();
        RequestProcessor acknowledge = new AckUntilClosed(getFollower());
        // Under a mode that promises durable acknowledgements, that of a stock leader included, upstream's order holds.
        syncProcessor = role.mode.acknowledgesBeforeDurable()
            ? new CadSyncProcessor(this, acknowledge, CadPeer.log(this), role)
            : new SyncRequestProcessor(this, acknowledge);
        syncProcessor.start();
    }

    /** A read waits here until this server may answer it. */
    @Override
    public void submitRequest(Request request) {
        LeaseGate<Request> gate = leased;
        if (gate != null && request.cnxn != null) {
            gate.submit(request, request.sessionId, LeaderPosition.isRead(request.type));
        } else {
            super.submitRequest(request);
        }
    }

    /** The leader's answer to the oldest question is without its lease. */
    void positionUnconfirmed() {
        LeaderPosition.unconfirmed(pendingSyncs);
    }

    @Override
    public void processConnectRequest(ServerCnxn connection, ConnectRequest request)
        throws IOException, ClientCnxnLimitException {
        CadPeer.refuseWithoutLease(leased);
        super.processConnectRequest(connection, request);
    }

    @Override
    public File takeSnapshot(boolean syncSnap, boolean isSevere) throws IOException {
        return CadPeer.takeSnapshot(self, this, () -> super.takeSnapshot(syncSnap, isSevere));
    }

    @Override
    protected void shutdownComponents() {
        super.shutdownComponents();
        CadPeer.awaitEnd(commitProcessor);
        if (role != null) {
            role.stop();
        }
    }

    @Override
    public long restoreFromSnapshot(InputStream input) throws IOException {
        throw CadMonitor.restoreRefused();
    }

    @Override
    protected void registerMetrics() {
        super.registerMetrics();
        CadMonitor.register(role);
        bean = CadBean.register(role, jmxServerBean);
    }

    @Override
    protected void unregisterMetrics() {
        CadBean.unregister(bean);
        CadMonitor.unregister();
        super.unregisterMetrics();
    }

    @Override
    public void dumpMonitorValues(BiConsumer<String, Object> response) {
        super.dumpMonitorValues(response);
        if (role != null) {
            CadMonitor.dump(role, response);
        }
    }
}

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
import org.apache.zookeeper.server.ClientCnxnLimitException;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.server.RequestProcessor;
import org.apache.zookeeper.server.ServerCnxn;
import org.apache.zookeeper.server.SyncRequestProcessor;
import org.apache.zookeeper.server.ZKDatabase;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;

/** An observer's pipeline: upstream's, with our final processor and the leader's position before reads. */
final class CadObserverZooKeeperServer extends ObserverZooKeeperServer implements CadConnections.RoleHolder {

    private final CadConfig config;
    private volatile FollowerRole role;
    /** Null where reads need no lease. */
    private volatile LeaseGate<Request> leased;
    private CadBean bean;

    CadObserverZooKeeperServer(FileTxnSnapLog files, QuorumPeer peer, ZKDatabase db, CadConfig config)
        throws IOException {
        super(files, peer, db);
        this.config = config;
    }

    /** With cad.observer.reads=refuse an observer only keeps a copy. */
    @Override
    public void processConnectRequest(ServerCnxn cnxn, ConnectRequest request)
        throws IOException, ClientCnxnLimitException {
        if (config.observersRefuse && role.mode.readsAreDurable()) {
            throw new ServerCnxn.CloseRequestException("cad.observer.reads=refuse: observers take no clients",
                ServerCnxn.DisconnectReason.CONNECTION_CLOSE_FORCED);
        }
        CadPeer.refuseWithoutLease(leased);
        super.processConnectRequest(cnxn, request);
    }

    @Override
    public FollowerRole role() {
        return role;
    }

    @Override
    protected void setupRequestProcessors() {
        role = ((CadObserver) getObserver()).link
            .begin(CadPeer.files(this), "observer");
        leased = role.gateReads(super::submitRequest, request -> CadPeer.closeWithoutLease(request.cnxn));
        RequestProcessor last = new CadFinalRequestProcessor(this, role);
        commitProcessor = new CommitProcessor(last, Long.toString(getServerId()), true, getZooKeeperServerListener());
        commitProcessor.start();
        ObserverRequestProcessor first = role.mode.observersAskLeader()
            ? new CadObserverRequestProcessor(this, commitProcessor)
            : new ObserverRequestProcessor(this, commitProcessor);
        firstProcessor = first;
        first.start();
        if (isSyncRequestProcessorEnabled()) {
            syncProcessor = new SyncRequestProcessor(this, null);
            syncProcessor.start();
        }
    }

    /** Upstream keeps its own answer private. */
    private boolean isSyncRequestProcessorEnabled() {
        return self.getSyncEnabled();
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

// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.quorum;

import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.node.LeaseGate;
import io.cad.zookeeper.role.LeaderRole;
import io.cad.zookeeper.role.ReadsAfterCommits;
import io.cad.zookeeper.role.Role;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.apache.zookeeper.proto.ConnectRequest;
import org.apache.zookeeper.server.CadBean;
import org.apache.zookeeper.server.CadConnections;
import org.apache.zookeeper.server.CadFinalRequestProcessor;
import org.apache.zookeeper.server.CadMonitor;
import org.apache.zookeeper.server.CadSyncProcessor;
import org.apache.zookeeper.server.ClientCnxnLimitException;
import org.apache.zookeeper.server.ContainerManager;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.server.RequestProcessor;
import org.apache.zookeeper.server.ServerCnxn;
import org.apache.zookeeper.server.ServerMetrics;
import org.apache.zookeeper.server.ZKDatabase;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;

/** The leader's pipeline: upstream's, with our log thread and final processor. */
final class CadLeaderZooKeeperServer extends LeaderZooKeeperServer implements CadConnections.RoleHolder {

    private final CadConfig config;
    private volatile LeaderRole role;
    private CadBean bean;
    private volatile boolean draining;
    private ContainerManager containers;
    /** Null where reads are not the leader's alone. */
    private volatile ReadsAfterCommits<Request> reads;
    /** Null where reads need no lease. */
    private volatile LeaseGate<Request> leased;
    private volatile LeaseGate<Request> questions;

    CadLeaderZooKeeperServer(FileTxnSnapLog files, QuorumPeer peer, ZKDatabase db, CadConfig config)
        throws IOException {
        super(files, peer, db);
        this.config = config;
    }

    @Override
    public LeaderRole role() {
        return role;
    }

    /**
     * Upstream takes a snapshot here, before anybody has confirmed this
     * leader's history; it could hold changes that are rolled back (rule E4).
     */
    @Override
    public void loadData() throws IOException, InterruptedException {
        ZKDatabase db = getZKDatabase();
        setZxid(db.isInitialized() ? db.getDataTreeLastProcessedZxid() : db.loadDataBase());
        for (Long session : db.getSessions()) {
            if (db.getSessionWithTimeOuts().get(session) == null) {
                killSession(session, db.getDataTreeLastProcessedZxid());
            }
        }
    }

    @Override
    protected void setupRequestProcessors() {
        CadLeader leader = (CadLeader) getLeader();
        role = leader.becomeEstablished(CadPeer.files(this), getZKDatabase().getDataTreeLastProcessedZxid());
        RequestProcessor last = new CadFinalRequestProcessor(this, role);
        RequestProcessor toBeApplied = new Leader.ToBeAppliedRequestProcessor(last, leader);
        if (role.mode.readsAtLeader()) {
            reads = new ReadsAfterCommits<>(getZKDatabase().getDataTreeLastProcessedZxid(), this::pass);
            toBeApplied = new TellApplied(toBeApplied, reads);
        }
        leased = role.gateReads(this::afterCommits, request -> CadPeer.closeWithoutLease(request.cnxn));
        questions = role.gateLearners(this::passLearnerRequest);
        commitProcessor =
            new CommitProcessor(toBeApplied, Long.toString(getServerId()), false, getZooKeeperServerListener());
        commitProcessor.start();
        ProposalRequestProcessor proposals = new ProposalRequestProcessor(this, commitProcessor);
        if (role.mode.acknowledgesBeforeDurable()) {
            proposals.syncProcessor =
                new CadSyncProcessor(this, new LoggedByLeader(leader), CadPeer.log(this), role);
        }
        proposals.initialize();
        prepRequestProcessor = new CadPrepRequestProcessor(this, proposals, config);
        prepRequestProcessor.start();
        firstProcessor = new LeaderRequestProcessor(this, prepRequestProcessor);
        containers = new ContainerManager(
            getZKDatabase(),
            prepRequestProcessor,
            Integer.getInteger("znode.container.checkIntervalMs", (int) TimeUnit.MINUTES.toMillis(1)),
            Integer.getInteger("znode.container.maxPerMinute", 10000),
            Long.getLong("znode.container.maxNeverUsedIntervalMs", 0));
    }

    /** Says, after each change, that reads see it. */
    private static final class TellApplied implements RequestProcessor {
        private final RequestProcessor next;
        private final ReadsAfterCommits<Request> reads;

        TellApplied(RequestProcessor next, ReadsAfterCommits<Request> reads) {
            this.next = next;
            this.reads = reads;
        }

        @Override
        public void processRequest(Request request) throws RequestProcessorException {
            next.processRequest(request);
            if (request.getHdr() != null) {
                reads.applied(request.getHdr().getZxid());
            }
        }

        @Override
        public void shutdown() {
            reads.discard();
            next.shutdown();
        }
    }

    /** A change is about to be announced as committed. */
    void committed(long zxid) {
        if (reads != null) {
            reads.committed(zxid);
        }
    }

    /** What the log thread passes on: records that have left the process. */
    private static final class LoggedByLeader implements RequestProcessor {
        private final CadLeader leader;

        LoggedByLeader(CadLeader leader) {
            this.leader = leader;
        }

        @Override
        public void processRequest(Request request) {
            request.logLatency(ServerMetrics.getMetrics().PROPOSAL_ACK_CREATION_LATENCY);
            leader.logged(request);
        }

        @Override
        public void shutdown() {
            // Nothing is kept here.
        }
    }

    @Override
    public synchronized void startup() {
        super.startup();
        containers.start();
    }

    @Override
    protected synchronized void shutdownComponents() {
        if (containers != null) {
            containers.stop();
        }
        super.shutdownComponents();
        CadPeer.awaitEnd(commitProcessor);
        if (role != null) {
            role.stop();
        }
    }

    /** From here new requests get no answer; their clients try another server. */
    void refuseRequests() {
        draining = true;
    }

    @Override
    public void submitLearnerRequest(Request request) {
        LeaseGate<Request> gate = questions;
        if (gate != null && request.getOwner() instanceof LearnerHandler) {
            boolean question = request instanceof LearnerSyncRequest;
            gate.submit(request, ((LearnerHandler) request.getOwner()).getSid(), question);
        } else {
            passLearnerRequest(request);
        }
    }

    private void passLearnerRequest(Request request) {
        if (!draining) {
            super.submitLearnerRequest(request);
        }
    }

    @Override
    public void submitRequest(Request request) {
        LeaseGate<Request> gate = leased;
        if (gate != null && request.cnxn != null) {
            gate.submit(request, request.sessionId, LeaderPosition.isRead(request.type));
        } else {
            pass(request);
        }
    }

    private void afterCommits(Request request) {
        if (reads != null) {
            reads.submit(request, request.sessionId, LeaderPosition.isRead(request.type));
        } else {
            pass(request);
        }
    }

    @Override
    public void processConnectRequest(ServerCnxn connection, ConnectRequest request)
        throws IOException, ClientCnxnLimitException {
        CadPeer.refuseWithoutLease(leased);
        super.processConnectRequest(connection, request);
    }

    /** Ends this leader: upstream looks at the state several times per tick. */
    void fail() {
        setState(State.ERROR);
    }

    private void pass(Request request) {
        if (!draining) {
            super.submitRequest(request);
        }
    }

    @Override
    public long restoreFromSnapshot(java.io.InputStream input) throws IOException {
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
        Role now = role;
        if (now != null) {
            CadMonitor.dump(now, response);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.quorum;

import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.core.Quorum;
import io.cad.zookeeper.lease.Heartbeat;
import io.cad.zookeeper.lease.HeartbeatAnswer;
import io.cad.zookeeper.metrics.CadMetrics;
import io.cad.zookeeper.node.Candidacy;
import io.cad.zookeeper.node.History;
import io.cad.zookeeper.node.PeerLease;
import io.cad.zookeeper.recovery.Rollback;
import io.cad.zookeeper.role.LeaderLeases;
import io.cad.zookeeper.role.LeaderRole;
import io.cad.zookeeper.role.Role;
import io.cad.zookeeper.wire.EpochAck;
import io.cad.zookeeper.wire.Hello;
import io.cad.zookeeper.wire.Packets;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.common.X509Exception;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.server.quorum.flexible.QuorumVerifier;
import org.apache.zookeeper.server.util.ZxidUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Upstream's leader, told what learners report and allowed to commit before
 * their acknowledgements where the mode says so. Decisions are the role's.
 */
final class CadLeader extends Leader implements LeaderRole.Learners {

    private static final Logger LOG = LoggerFactory.getLogger(CadLeader.class);
    /** No heartbeat that has been sent is this new. */
    private static final long NOT_YET = Long.MAX_VALUE;

    /** One capable learner: what it said of itself, and the number of its connection. */
    private static final class Registration {
        final Hello hello;
        final long connection;

        Registration(Hello hello, long connection) {
            this.hello = hello;
            this.connection = connection;
        }
    }

    private final CadConfig config;
    private final CadLeaderZooKeeperServer server;
    /** Learners that announced the capability; stock ones get only stock packets. */
    private final Map<LearnerHandler, Registration> capable = new ConcurrentHashMap<>();
    private final Set<LearnerHandler> stockVoters = ConcurrentHashMap.newKeySet();
    private final AtomicLong connections = new AtomicLong();
    private final PeerLease lease;
    /** What each server that promised this epoch owes to older ones, until its promise counts. */
    private final Map<Long, Long> owed = new ConcurrentHashMap<>();
    /** Where the log of each learner ended when it came. */
    private final Map<Long, Long> ends = new ConcurrentHashMap<>();
    private LeaderLeases leases;
    /** Guarded by upstream's lock of the election. */
    private Candidacy candidacy;
    private volatile long proposed;
    private volatile long committed;
    /**
     * Capable learners in the order in which they registered; its monitor guards the registrations at the role too.
     * Upstream removes handlers while it holds the lock of its learners, so this object's monitor must not be used.
     */
    private final Set<LearnerHandler> following = new LinkedHashSet<>();
    /** Empty where somebody waits for the learners, that is, where writes are not acknowledged early. */
    private final Map<LearnerHandler, SendPace> paces = new ConcurrentHashMap<>();
    private volatile LeaderRole role;
    private volatile boolean draining;
    private final Object resignation = new Object();
    /** Guarded by {@link #resignation}; what comes after it, the next role's state, is left alone. */
    private boolean resigned;

    /** The newest heartbeat that had been sent when the newest membership was appended. */
    private volatile long membershipAppended = NOT_YET;
    private volatile boolean membershipWaits;

    CadLeader(QuorumPeer peer, CadLeaderZooKeeperServer server, CadConfig config) throws IOException, X509Exception {
        super(peer, server);
        this.lease = CadPeer.lease(peer, config);
        this.config = config;
        this.server = server;
    }

    /** A quorum has acknowledged NEWLEADER: history persisted, epoch recorded. The role begins. */
    LeaderRole becomeEstablished(Role.Files files, long lastApplied) {
        proposed = zk.getZxid();
        committed = zk.getZxid();
        LeaderRole begun = new LeaderRole(config, config.mode, ZxidUtils.getEpochFromZxid(zk.getZxid()),
            self.getMyId(), lastApplied, memberships(), files, this, leases());
        begun.start(lastApplied);
        synchronized (following) {
            for (LearnerHandler handler : following) {
                register(begun, handler);
            }
            role = begun;
        }
        begun.historyComplete();
        LOG.info("Leading epoch {} with {}", Long.toHexString(begun.epoch), config.mode);
        return begun;
    }

    private void register(LeaderRole current, LearnerHandler handler) {
        Registration registration = capable.get(handler);
        if (registration != null && !current.connected(handler, registration.connection, handler.getSid(),
                votes(handler), registration.hello)) {
            LOG.warn("A connection of server {} is older than another one of it and is closed", handler.getSid());
            // Its thread does the rest; here upstream's locks may be held in the other order.
            handler.closeSocket();
        }
    }

    private static boolean votes(LearnerHandler handler) {
        return handler.getLearnerType() == QuorumPeer.LearnerType.PARTICIPANT;
    }

    private List<Quorum> memberships() {
        List<Quorum> all = new ArrayList<>(2);
        QuorumVerifier current = self.getQuorumVerifier();
        all.add(new VerifiedQuorum(current));
        QuorumVerifier next = self.getLastSeenQuorumVerifier();
        if (next != null && next.getVersion() > current.getVersion()) {
            all.add(new VerifiedQuorum(next));
        }
        return all;
    }

    private static final class VerifiedQuorum implements Quorum {
        private final QuorumVerifier verifier;

        VerifiedQuorum(QuorumVerifier verifier) {
            this.verifier = verifier;
        }

        @Override
        public boolean votes(long server) {
            return verifier.getVotingMembers().containsKey(server);
        }

        @Override
        public boolean containsQuorum(Set<Long> servers) {
            return verifier.containsQuorum(servers);
        }
    }

    // ---- handshake

    @Override
    void learnerConnected(LearnerHandler handler, byte[] info) throws IOException {
        if (config.mode.acknowledgesEarly() && config.linger > 0) {
            paces.put(handler, new SendPace(config.linger));
        }
        Hello hello = Hello.read(info, Hello.LEARNER_INFO_LENGTH);
        if (hello != null) {
            capable.put(handler, new Registration(hello, connections.incrementAndGet()));
            if (!hello.mode.equals(config.mode)) {
                LOG.warn("Server {} is configured for {}; while this server leads, {} holds",
                    handler.getSid(), hello.mode, config.mode);
            }
            return;
        }
        boolean stockVoter = self.getQuorumVerifier().getVotingMembers().containsKey(handler.getSid());
        if (config.mode.tracksDurable() && config.strict && stockVoter) {
            throw new IOException("cad.strict=true: server " + handler.getSid()
                + " is a stock voter and is refused; install the plugin there or set cad.strict=false");
        }
        LOG.warn("Server {} runs without the plugin: its log counts for no durable index, and clients that read "
            + "there see undurable data", handler.getSid());
        if (stockVoter) {
            stockVoters.add(handler);
            stockVotersChanged();
        }
    }

    private void stockVotersChanged() {
        LeaderRole current = role;
        if (current != null) {
            current.stockVotersChanged();
        }
    }

    @Override
    byte[] leaderInfo(LearnerHandler handler, byte[] version) {
        Registration registration = capable.get(handler);
        return registration == null ? version
            : Hello.ofLeader(config.mode, registration.connection, historyNow()).appendTo(version);
    }

    /** Until the epoch is recorded the one this server was elected with; then what it has applied of the new one as well. */
    private History historyNow() {
        try {
            return new History(self.getCurrentEpoch(), zk.getLastProcessedZxid());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    boolean epochAcknowledged(LearnerHandler handler, byte[] data) {
        EpochAck ack = EpochAck.read(data);
        if (ack.fullState) {
            LOG.warn("Server {} cannot cut its log and asks for the whole state", handler.getSid());
        }
        if (ack.owed != EpochAck.NOT_STATED) {
            owed.put(handler.getSid(), ack.owed);
        }
        return ack.fullState;
    }

    // ---- the election

    /** The candidate's own promise: by now it is durably recorded. */
    @Override
    public long getEpochToPropose(long sid, long lastAcceptedEpoch) throws InterruptedException, IOException {
        long chosen = super.getEpochToPropose(sid, lastAcceptedEpoch);
        if (sid == self.getMyId()) {
            owed.put(sid, lease.promise(chosen));
        }
        return chosen;
    }

    /**
     * A server promises this epoch. Upstream asks for a quorum of the current membership alone; a membership that is
     * only in the log binds as well (rule E1). For the leases a promise counts only if it states what is owed.
     */
    @Override
    public void waitForEpochAck(long id, StateSummary state) throws IOException, InterruptedException {
        ends.put(id, state.getLastZxid());
        synchronized (electingFollowers) {
            if (candidacy == null) {
                candidacy = new Candidacy(self.getMyId(), history(leaderStateSummary));
            }
            // A server that promised this epoch on an earlier connection does not say so again.
            boolean promises = state.getCurrentEpoch() != -1 && state.getLastZxid() != -1;
            if (promises && !candidacy.promised(id, history(state))) {
                throw new IOException("Server " + id + " is ahead of this leader: " + history(state) + " against "
                    + history(leaderStateSummary));
            }
            Long stated = owed.remove(id);
            if (stated != null) {
                leases().promised(id, stated);
            }
            if (!electionFinished && candidacy.isElected(memberships())) {
                electionFinished = true;
                electingFollowers.notifyAll();
            }
            long end = System.nanoTime() + 1_000_000L * self.getInitLimit() * self.getTickTime();
            while (!electionFinished) {
                long left = (end - System.nanoTime()) / 1_000_000;
                if (left <= 0) {
                    throw new InterruptedException("Time-out while waiting for a quorum to acknowledge the epoch");
                }
                electingFollowers.wait(left);
            }
        }
    }

    private static History history(StateSummary state) {
        return new History(state.getCurrentEpoch(), state.getLastZxid());
    }

    /** Made when the epoch is known, that is, after the first promise has been asked for. */
    private LeaderLeases leases() {
        synchronized (owed) {
            if (leases == null) {
                leases = new LeaderLeases(config, epoch, self.getMyId(), lease, memberships(), this::stepDown);
            }
            return leases;
        }
    }

    /** Learners find another leader at once, and upstream's loop ends the role when it looks at the server's state. */
    private void stepDown() {
        resign();
        for (LearnerHandler handler : getLearners()) {
            handler.shutdown();
        }
        server.fail();
    }

    @Override
    void shutdown(String reason) {
        leases().end();
        resign();
        super.shutdown(reason);
    }

    /**
     * Says to the election that this server leads no more. Upstream says so when the role has ended, and the role waits
     * for its log: as long as the disk hangs, voters that look for a leader at different times would find this one, and
     * each other as its followers. A reconfiguration has named the next leader already.
     */
    private void resign() {
        synchronized (resignation) {
            if (!resigned && !self.isReconfigStateChange()) {
                self.setPeerState(QuorumPeer.ServerState.LOOKING);
            }
            resigned = true;
        }
    }

    // ---- what learners report

    @Override
    boolean extensionPacket(LearnerHandler handler, QuorumPacket packet) {
        LeaderRole current = role;
        switch (packet.getType()) {
        case Packets.REPORT:
            if (current != null) {
                current.report(handler, Packets.epoch(packet), packet.getZxid(), Packets.applied(packet));
            }
            return true;
        case Packets.FLUSH_REQUEST:
            CadMetrics.get().flushRequest();
            if (current != null && Packets.epoch(packet) == current.epoch
                && Indices.epoch(packet.getZxid()) <= current.epoch) {
                current.need(packet.getZxid());
                sendNow(handler, Packets.durable(current.epoch, current.durable()));
            }
            return true;
        case Packets.HEARTBEAT_ANSWER:
            if (current != null) {
                current.answered(handler, HeartbeatAnswer.decode(packet.getData()));
                heartbeatsMoved();
            }
            return true;
        default:
            return false;
        }
    }

    @Override
    public void removeLearnerHandler(LearnerHandler handler) {
        capable.remove(handler);
        paces.remove(handler);
        if (stockVoters.remove(handler)) {
            stockVotersChanged();
        }
        synchronized (following) {
            following.remove(handler);
            if (role != null) {
                role.disconnected(handler);
            }
        }
        super.removeLearnerHandler(handler);
    }

    /** The learner's registration begins; one that joins late must learn D before anything else moves it. */
    @Override
    public synchronized long startForwarding(LearnerHandler handler, long lastSeenZxid) {
        long forwarded = super.startForwarding(handler, lastSeenZxid);
        if (!capable.containsKey(handler)) {
            return forwarded;
        }
        LeaderRole current;
        synchronized (following) {
            following.add(handler);
            current = role;
            if (current != null) {
                register(current, handler);
            }
        }
        if (current != null && current.durable() >= 0) {
            sendNow(handler, Packets.durable(current.epoch, current.durable()));
        }
        return forwarded;
    }

    /**
     * After establishment a snapshot that is sent must hold nothing that may be rolled back; before, it counts as log
     * and must not wait for what may need this very learner (rule E4).
     */
    @Override
    void beforeSnapshotSync(LearnerHandler handler) throws IOException, InterruptedException {
        sayWhatIsCommon(handler);
        LeaderRole current = role;
        if (current == null || !current.mode.acknowledgesBeforeDurable() || current.durable() == Indices.NONE) {
            return;
        }
        if (!current.awaitDurable(current.applying())) {
            throw new IOException("The role ended while a snapshot for server " + handler.getSid() + " waited");
        }
    }

    /** A learner whose history is replaced cannot see by itself which of its changes that takes back. */
    private void sayWhatIsCommon(LearnerHandler handler) throws IOException {
        if (!capable.containsKey(handler)) {
            return;
        }
        long common = Rollback.commonEnd(zk.getZKDatabase().getCommittedLog().stream().mapToLong(Proposal::getZxid),
            zk.getTxnLogFactory().getDataLogDir(), ends.getOrDefault(handler.getSid(), Indices.NONE));
        // Behind the tree, and before NEWLEADER, which makes the learner replace its history.
        handler.queuePacket(Packets.common(epoch, common));
    }

    // ---- LeaderRole.Learners

    @Override
    public void announceDurable(long index) {
        QuorumPacket packet = Packets.durable(role == null ? epochOf() : role.epoch, index);
        for (LearnerHandler handler : capable.keySet()) {
            if (isForwarding(handler)) {
                sendNow(handler, packet);
            }
        }
    }

    @Override
    public void askFlush(long target) {
        QuorumPacket packet = Packets.flush(role == null ? epochOf() : role.epoch, target);
        for (LearnerHandler handler : capable.keySet()) {
            if (handler.getLearnerType() == QuorumPeer.LearnerType.PARTICIPANT && isForwarding(handler)) {
                sendNow(handler, packet);
            }
        }
    }

    @Override
    public void heartbeat(Object handler, Heartbeat heartbeat) {
        sendNow((LearnerHandler) handler, Packets.heartbeat(heartbeat));
    }

    @Override
    public boolean haveStockVoters() {
        return !stockVoters.isEmpty();
    }

    @Override
    public long lastProposed() {
        return proposed;
    }

    @Override
    public long lastCommitted() {
        return committed;
    }

    private long epochOf() {
        return ZxidUtils.getEpochFromZxid(zk.getZxid());
    }

    /** Before it is forwarded to, a learner is being synchronised and must see stock packets only. */
    private boolean isForwarding(LearnerHandler handler) {
        return isLearnerSynced(handler) || getObservingLearners().contains(handler);
    }

    // ---- when packets leave

    /** Proposals and commits gather, for nobody waits for them; all else is sent with what gathered before it. */
    @Override
    void batchSent(LearnerHandler handler) throws InterruptedException {
        SendPace pace = paces.get(handler);
        if (pace != null) {
            pace.pause();
        }
    }

    private void sendNow(LearnerHandler handler, QuorumPacket packet) {
        handler.queuePacket(packet);
        hurry(handler);
    }

    /** This write waits for a quorum after all. */
    private void hurryAll() {
        paces.values().forEach(SendPace::hurry);
    }

    private void hurry(LearnerHandler handler) {
        SendPace pace = paces.get(handler);
        if (pace != null) {
            pace.hurry();
        }
    }

    // ---- committing

    /** A record has left this process: it survives the process, not yet a power loss. */
    void logged(Request request) {
        long zxid = request.getHdr().getZxid();
        if (!config.mode.acknowledgesEarly() || draining || !role.mayAcknowledgeEarly()) {
            hurryAll();
            processAck(self.getMyId(), zxid, null);
            return;
        }
        synchronized (this) {
            Proposal proposal = outstandingProposals.get(zxid);
            if (!allowedToCommit || proposal == null) {
                return;
            }
            if (mustWaitForQuorum(proposal)) {
                hurryAll();
                processAck(self.getMyId(), zxid, null);
                return;
            }
            // These acknowledgements only let upstream commit; persisted indices come from reports alone.
            for (SyncedLearnerTracker.QuorumVerifierAcksetPair pair : proposal.qvAcksetPairs) {
                for (Long voter : pair.getQuorumVerifier().getVotingMembers().keySet()) {
                    proposal.addAck(voter);
                }
            }
            if (tryToCommit(proposal, zxid, null)) {
                CadMetrics.get().earlyCommit();
            }
        }
    }

    @Override
    public void commit(long zxid) {
        committed = zxid;
        server.committed(zxid);
        super.commit(zxid);
    }

    @Override
    public void commitAndActivate(long zxid, long designatedLeader) {
        committed = zxid;
        server.committed(zxid);
        super.commitAndActivate(zxid, designatedLeader);
    }

    /** A membership takes effect only when quorums of the old and the new one hold it, and later entries wait for it. */
    private boolean mustWaitForQuorum(Proposal proposal) {
        return proposal.request.getHdr().getType() == OpCode.reconfig
            || self.getLastSeenQuorumVerifier().getVersion() > self.getQuorumVerifier().getVersion();
    }

    @Override
    public synchronized void processAck(long sid, long zxid, SocketAddress followerAddr) {
        super.processAck(sid, zxid, followerAddr);
        commitWhatMay();
    }

    /** What was logged while an earlier entry waited has its acknowledgements but not its turn. */
    private synchronized void commitWhatMay() {
        while (allowedToCommit && !outstandingProposals.isEmpty()) {
            Proposal next = outstandingProposals.get(lastCommitted + 1);
            if (next == null || !next.hasAllQuorums() || !tryToCommit(next, lastCommitted + 1, null)) {
                return;
            }
        }
    }

    @Override
    public Proposal propose(Request request) throws XidRolloverException {
        boolean membership = request.getHdr().getType() == OpCode.reconfig;
        if (membership) {
            membershipAppended = NOT_YET;
        }
        Proposal proposal = super.propose(request);
        proposed = request.zxid;
        if (membership) {
            membershipChanged();
            membershipAppended = role.lastHeartbeat();
        }
        return proposal;
    }

    @Override
    public synchronized boolean tryToCommit(Proposal proposal, long zxid, SocketAddress followerAddr) {
        if (isMembership(proposal) && !mayMembershipCommit()) {
            membershipWaits = true;
            return false;
        }
        boolean committed = super.tryToCommit(proposal, zxid, followerAddr);
        if (committed && isMembership(proposal)) {
            membershipWaits = false;
            membershipChanged();
        }
        if (committed && proposal.request != null && proposal.request.getOwner() instanceof LearnerHandler) {
            // Its client waits at that learner.
            hurry((LearnerHandler) proposal.request.getOwner());
        }
        return committed;
    }

    private static boolean isMembership(Proposal proposal) {
        return proposal.request != null && proposal.request.getHdr().getType() == OpCode.reconfig;
    }

    /**
     * A membership takes effect only when quorums of the old and the new one have answered a heartbeat that was sent
     * after it was appended (rule E9): else an old leader could still have a lease from the old one alone.
     */
    private boolean mayMembershipCommit() {
        return haveStockVoters() || role.isAnsweredAfter(membershipAppended);
    }

    /** A heartbeat was sent or answered: a membership may have waited for that. */
    @Override
    public void heartbeatsMoved() {
        if (membershipWaits && mayMembershipCommit()) {
            commitWhatMay();
        }
    }

    /**
     * The answer to a learner that asks for the leader's position. By its data a capable one sees that the lease held
     * after the question had come; it drops the read that waits for an answer without.
     */
    @Override
    public void sendSync(LearnerSyncRequest request) {
        byte[] confirmation = role.mayRead() ? Packets.positionConfirmed() : null;
        sendNow(request.fh, new QuorumPacket(Leader.SYNC, 0, confirmation, null));
    }

    private void membershipChanged() {
        LeaderRole current = role;
        if (current != null) {
            current.membershipChanged(memberships());
        }
    }

    // ---- planned stop

    /**
     * Refuses new requests, then waits until what was acknowledged is durable.
     *
     * @return false if time ran out first
     */
    boolean drain(long deadline) throws InterruptedException {
        server.refuseRequests();
        // A request that had passed the door already is acknowledged only when others hold it.
        draining = true;
        LeaderRole current = role;
        if (current == null || !current.mode.acknowledgesBeforeDurable()) {
            // What is acknowledged is durable already.
            return true;
        }
        while (System.nanoTime() - deadline < 0) {
            long last = getLastProposed();
            synchronized (this) {
                if (outstandingProposals.isEmpty() && current.applying() >= last && current.durable() >= last) {
                    return true;
                }
            }
            current.need(Math.min(last, current.lastAppended()));
            Thread.sleep(2);
        }
        return false;
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.quorum;

import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.config.Mode;
import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.core.Quorum;
import io.cad.zookeeper.metrics.CadMetrics;
import io.cad.zookeeper.role.LeaderRole;
import io.cad.zookeeper.role.Role;
import io.cad.zookeeper.wire.Hello;
import io.cad.zookeeper.wire.Packets;
import java.io.IOException;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
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

    private final CadConfig config;
    private final CadLeaderZooKeeperServer server;
    /** Learners that announced the capability; stock ones get only stock packets. */
    private final Map<LearnerHandler, Mode> capable = new ConcurrentHashMap<>();
    /**
     * Capable learners in the order in which they registered; its monitor guards the registrations at the role too.
     * Upstream removes handlers while it holds the lock of its learners, so this object's monitor must not be used.
     */
    private final Set<LearnerHandler> following = new LinkedHashSet<>();
    private volatile LeaderRole role;
    private volatile boolean draining;

    CadLeader(QuorumPeer peer, CadLeaderZooKeeperServer server, CadConfig config) throws IOException, X509Exception {
        super(peer, server);
        this.config = config;
        this.server = server;
    }

    /** A quorum has acknowledged NEWLEADER: history persisted, epoch recorded. The role begins. */
    LeaderRole becomeEstablished(Role.Files files, long lastApplied) {
        long epoch = ZxidUtils.getEpochFromZxid(zk.getZxid());
        LeaderRole begun = new LeaderRole(config, config.mode, epoch, self.getMyId(), lastApplied, memberships(),
            files, this);
        begun.start(lastApplied);
        synchronized (following) {
            for (LearnerHandler handler : following) {
                begun.connected(handler, handler.getSid());
            }
            role = begun;
        }
        begun.established();
        LOG.info("Leading epoch {} with {}", Long.toHexString(epoch), config.mode);
        return begun;
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
        Hello hello = Hello.read(info, Hello.LEARNER_INFO_LENGTH);
        if (hello != null) {
            capable.put(handler, hello.mode);
            if (!hello.mode.equals(config.mode)) {
                LOG.warn("Server {} is configured for {}; while this server leads, {} holds",
                    handler.getSid(), hello.mode, config.mode);
            }
            return;
        }
        if (config.mode.acknowledgesBeforeDurable() && config.strict
            && self.getQuorumVerifier().getVotingMembers().containsKey(handler.getSid())) {
            throw new IOException("cad.strict=true: server " + handler.getSid()
                + " is a stock voter and is refused; install the plugin there or set cad.strict=false");
        }
        LOG.warn("Server {} runs without the plugin: its log counts for no durable index, and clients that read "
            + "there see undurable data", handler.getSid());
    }

    @Override
    byte[] leaderInfo(LearnerHandler handler, byte[] version) {
        return capable.containsKey(handler) ? new Hello(config.mode).appendTo(version) : version;
    }

    @Override
    boolean epochAcknowledged(LearnerHandler handler, byte[] data) {
        boolean fullState = Hello.asksFullState(data);
        if (fullState) {
            LOG.warn("Server {} cannot cut its log and asks for the whole state", handler.getSid());
        }
        return fullState;
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
                handler.queuePacket(Packets.durable(current.epoch, current.durable()));
            }
            return true;
        default:
            return false;
        }
    }

    @Override
    public void removeLearnerHandler(LearnerHandler handler) {
        capable.remove(handler);
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
                current.connected(handler, handler.getSid());
            }
        }
        if (current != null && current.durable() >= 0) {
            handler.queuePacket(Packets.durable(current.epoch, current.durable()));
        }
        return forwarded;
    }

    /** After establishment a snapshot that is sent must hold nothing that may be rolled back (rule E4). */
    @Override
    void beforeSnapshotSync(LearnerHandler handler) throws IOException, InterruptedException {
        LeaderRole current = role;
        if (current == null || !current.mode.acknowledgesBeforeDurable()) {
            return;
        }
        if (!current.awaitDurable(current.applying())) {
            throw new IOException("The role ended while a snapshot for server " + handler.getSid() + " waited");
        }
    }

    // ---- LeaderRole.Learners

    @Override
    public void announceDurable(long index) {
        QuorumPacket packet = Packets.durable(role == null ? epochOf() : role.epoch, index);
        for (LearnerHandler handler : capable.keySet()) {
            if (isForwarding(handler)) {
                handler.queuePacket(packet);
            }
        }
    }

    @Override
    public void askFlush(long target) {
        QuorumPacket packet = Packets.flush(role == null ? epochOf() : role.epoch, target);
        for (LearnerHandler handler : capable.keySet()) {
            if (handler.getLearnerType() == QuorumPeer.LearnerType.PARTICIPANT && isForwarding(handler)) {
                handler.queuePacket(packet);
            }
        }
    }

    private long epochOf() {
        return ZxidUtils.getEpochFromZxid(zk.getZxid());
    }

    /** Before it is forwarded to, a learner is being synchronised and must see stock packets only. */
    private boolean isForwarding(LearnerHandler handler) {
        return isLearnerSynced(handler) || getObservingLearners().contains(handler);
    }

    // ---- committing

    /** A record has left this process: it survives the process, not yet a power loss. */
    void logged(Request request) {
        long zxid = request.getHdr().getZxid();
        if (!config.mode.acknowledgesEarly() || draining) {
            processAck(self.getMyId(), zxid, null);
            return;
        }
        synchronized (this) {
            Proposal proposal = outstandingProposals.get(zxid);
            if (!allowedToCommit || proposal == null) {
                return;
            }
            if (mustWaitForQuorum(proposal)) {
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
        server.committed(zxid);
        super.commit(zxid);
    }

    @Override
    public void commitAndActivate(long zxid, long designatedLeader) {
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
        // What was logged while an earlier entry waited has its acknowledgements but not its turn.
        while (allowedToCommit && !outstandingProposals.isEmpty()) {
            Proposal next = outstandingProposals.get(lastCommitted + 1);
            if (next == null || !next.hasAllQuorums() || !tryToCommit(next, lastCommitted + 1, followerAddr)) {
                return;
            }
        }
    }

    @Override
    public Proposal propose(Request request) throws XidRolloverException {
        Proposal proposal = super.propose(request);
        if (request.getHdr().getType() == OpCode.reconfig) {
            membershipChanged();
        }
        return proposal;
    }

    @Override
    public synchronized boolean tryToCommit(Proposal proposal, long zxid, SocketAddress followerAddr) {
        boolean committed = super.tryToCommit(proposal, zxid, followerAddr);
        if (committed && proposal.request != null && proposal.request.getHdr().getType() == OpCode.reconfig) {
            membershipChanged();
        }
        return committed;
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

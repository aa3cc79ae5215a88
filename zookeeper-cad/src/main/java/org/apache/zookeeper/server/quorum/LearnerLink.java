// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.quorum;

import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.config.Mode;
import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.durability.Store;
import io.cad.zookeeper.lease.Heartbeat;
import io.cad.zookeeper.lease.HeartbeatAnswer;
import io.cad.zookeeper.node.PeerLease;
import io.cad.zookeeper.role.FollowerRole;
import io.cad.zookeeper.role.Role;
import io.cad.zookeeper.wire.EpochAck;
import io.cad.zookeeper.wire.Hello;
import io.cad.zookeeper.wire.Packets;
import java.io.IOException;
import org.apache.zookeeper.server.ZKDatabase;
import org.apache.zookeeper.server.util.ZxidUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A learner's connection to its leader, as the plugin sees it: what is added
 * to the handshake, and our packets in both directions. Follower and observer
 * have different upstream superclasses and share this.
 */
final class LearnerLink implements FollowerRole.Link {

    private static final Logger LOG = LoggerFactory.getLogger(LearnerLink.class);

    private final CadConfig config;
    private final Learner learner;
    private final boolean votes;
    private final PeerLease lease;

    private volatile Mode mode = Mode.STOCK;
    private volatile FollowerRole role;
    private long epoch = -1;
    private boolean epochAcknowledged;
    private long persistedWithEpoch;
    /** What this server owes to older epochs, stated with its promise of this one. */
    private long owed;
    private volatile boolean synchronised;
    private final FuzzySnapshot fuzzy = new FuzzySnapshot();
    private volatile QuorumPacket earlyDurable;
    private volatile long earlyFlush;
    private final Outbox.Writer writer;
    private final Outbox outbox;

    LearnerLink(CadConfig config, Learner learner, boolean votes, Outbox.Writer writer) {
        this.config = config;
        this.learner = learner;
        this.votes = votes;
        this.lease = CadPeer.lease(learner.self, config);
        this.writer = writer;
        this.outbox = new Outbox(writer);
    }

    // ---- handshake

    /** Sees every packet before it leaves. */
    void outgoing(QuorumPacket packet) {
        if (packet == null) {
            return;
        }
        if (packet.getType() == Leader.FOLLOWERINFO || packet.getType() == Leader.OBSERVERINFO) {
            packet.setData(Hello.ofLearner(config.mode, lease.incarnation, lease.connecting())
                .appendTo(packet.getData()));
        } else if (packet.getType() == Leader.ACK && !epochAcknowledged && packet.getZxid() == epoch << 32) {
            // Upstream acknowledges NEWLEADER when history and epoch are on disk.
            epochAcknowledged = true;
            persistedWithEpoch = learner.zk.getZKDatabase().getDataTreeLastProcessedZxid();
        } else if (packet.getType() == Leader.ACKEPOCH) {
            packet.setData(new EpochAck(fullStateNeeded(), owed).appendTo(packet.getData()));
        }
    }

    private boolean fullStateNeeded() {
        return Store.of(learner.zk.getTxnLogFactory().getDataLogDir()).fullStateNeeded();
    }

    private Store snapshots() {
        return Store.of(learner.zk.getTxnLogFactory().getSnapDir());
    }

    /** Sees every packet as it arrives. */
    void incoming(QuorumPacket packet) throws IOException {
        fuzzy.incoming(packet, learner.zk.getZKDatabase());
        FollowerRole current = role;
        switch (packet.getType()) {
        case Leader.LEADERINFO:
            epoch = ZxidUtils.getEpochFromZxid(packet.getZxid());
            Hello hello = Hello.read(packet.getData(), Hello.LEADER_INFO_LENGTH);
            refuseIfItLacks(hello);
            // Before upstream records the epoch: from here nothing is answered for an older one (rule E0).
            owed = lease.promise(epoch);
            mode = hello == null ? Mode.STOCK : hello.mode;
            if (hello == null) {
                LOG.warn("The leader runs without the plugin: {} holds here while it leads", mode);
            } else if (!mode.equals(config.mode)) {
                LOG.warn("The leader dictates {}; this server is configured for {}", mode, config.mode);
            }
            if (hello != null && hello.hasLeases()) {
                lease.connected(epoch, hello.connection);
            }
            break;
        case Packets.DURABLE:
            if (current == null) {
                earlyDurable = new QuorumPacket(packet.getType(), packet.getZxid(), packet.getData(), null);
            } else {
                current.durableAnnounced(Packets.epoch(packet), packet.getZxid());
            }
            break;
        case Packets.COMMON:
            if (Packets.epoch(packet) == epoch) {
                snapshots().commonHistory(packet.getZxid());
            }
            break;
        case Packets.HEARTBEAT:
            if (synchronised) {
                answer(current, Heartbeat.decode(packet.getData()));
            }
            break;
        case Packets.FLUSH:
            if (Packets.epoch(packet) != epoch) {
                break;
            }
            if (current == null) {
                earlyFlush = Math.max(earlyFlush, packet.getZxid());
            } else {
                current.flushAsked(packet.getZxid());
            }
            break;
        default:
            break;
        }
    }

    /** Rule E7, before anything is promised or cut. */
    private void refuseIfItLacks(Hello hello) throws IOException {
        long durable = lease.witness.durable();
        if (hello == null || hello.history == null || durable == Indices.NONE || hello.history.contains(durable)) {
            return;
        }
        String why = "The leader lacks what is durable: its history is " + hello.history + ", and this server knows of "
            + Indices.format(durable);
        LOG.error("{}. It does not follow, and keeps its data. If the others lost theirs, stop and empty them, and start "
            + "them one after the other while this process runs; if an older state was restored on purpose, stop this "
            + "server, and restore or empty it too", why);
        throw new IOException(why);
    }

    /** By the thread that reads, as upstream answers pings: the fewer hands, the sooner. */
    private void answer(FollowerRole current, Heartbeat heartbeat) throws IOException {
        try {
            HeartbeatAnswer answer = current.heartbeat(heartbeat);
            if (answer != null) {
                writer.write(Packets.heartbeatAnswer(answer));
            }
        } catch (PeerLease.RefusedException e) {
            throw new IOException("This leader cannot be followed", e);
        }
    }

    /** Before the first step of the synchronisation. */
    void synchronising() {
        lease.synchronising();
        snapshots().commonHistory(Long.MAX_VALUE);
    }

    // ---- the role

    /** The server starts to serve in the leader's mode. */
    FollowerRole begin(Role.Files files, String name) {
        ZKDatabase db = learner.zk.getZKDatabase();
        if (db.getDataTreeLastProcessedZxid() < epoch << 32) {
            // The epoch is established (UPTODATE has come) and contains all that came before it; else a client that
            // has seen a lost write of an older epoch would be refused as "ahead" for as long as nobody writes.
            db.setlastProcessedZxid(epoch << 32);
        }
        long lastApplied = db.getDataTreeLastProcessedZxid();
        FollowerRole begun =
            new FollowerRole(config, mode, epoch, learner.self.getMyId(), lastApplied, files, this, name,
                lease, votes);
        begun.start(persistedWithEpoch);
        role = begun;
        return begun;
    }

    /** Synchronisation is over, and the connection carries ordinary packets. */
    void synchronised() {
        FollowerRole begun = role;
        QuorumPacket early = earlyDurable;
        if (early != null) {
            begun.durableAnnounced(Packets.epoch(early), early.getZxid());
        }
        outbox.start("cad-report-" + learner.self.getMyId());
        begun.synchronised(Math.max(persistedWithEpoch, epoch << 32), begun.applying());
        synchronised = true;
        if (earlyFlush > 0) {
            begun.flushAsked(earlyFlush);
        }
        LOG.info("Following epoch {} with {}", Long.toHexString(epoch), mode);
    }

    Mode mode() {
        return mode;
    }

    // ---- FollowerRole.Link

    @Override
    public void report(long persisted, long applied) {
        // Where durability does not matter to replies what a heartbeat's answer says is enough.
        if (votes && mode.tracksDurable()) {
            outbox.report(epoch, persisted, applied);
        }
    }

    @Override
    public void requestFlush(long target) {
        outbox.requestFlush(epoch, target);
    }

    /** The connection ends. */
    void close() {
        lease.disconnected();
        outbox.stop();
    }
}

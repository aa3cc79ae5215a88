// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.quorum;

import io.cad.zookeeper.CadObjects;
import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.durability.CadTxnLog;
import io.cad.zookeeper.durability.LeaseRecord;
import io.cad.zookeeper.durability.Store;
import io.cad.zookeeper.metrics.CadMetrics;
import io.cad.zookeeper.node.LeaseGate;
import io.cad.zookeeper.node.PeerLease;
import io.cad.zookeeper.role.ProcessLease;
import io.cad.zookeeper.role.Role;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.zookeeper.common.X509Exception;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.server.ServerCnxn;
import org.apache.zookeeper.server.ZKDatabase;
import org.apache.zookeeper.server.ZooKeeperServer;
import org.apache.zookeeper.server.persistence.CadStorage;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What the three roles of one peer share. */
public final class CadPeer {

    private static final Logger LOG = LoggerFactory.getLogger(CadPeer.class);
    private static final long COMMIT_END_MILLIS = 10_000;

    private CadPeer() {
    }

    /** Peers of this JVM to what they owe and hold; a peer that ends takes its entry with it. */
    private static final Map<QuorumPeer, PeerLease> LEASES = Collections.synchronizedMap(new WeakHashMap<>());

    /** What the process of this peer owes and holds. Made at the start of the peer: that is when its promise begins. */
    public static PeerLease lease(QuorumPeer peer, CadConfig config) {
        return LEASES.computeIfAbsent(peer, starting -> {
            try {
                File side = Store.of(peer.getTxnFactory().getDataLogDir()).sideDirectory();
                return ProcessLease.begin(config, new LeaseRecord(new File(side, "lease")), peer.getAcceptedEpoch());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    /** Ends a connection whose read may not be answered here; its client tries another server. */
    static void closeWithoutLease(ServerCnxn connection) {
        if (connection.isStale()) {
            return;
        }
        CadMetrics.get().closed("no-lease");
        connection.close(ServerCnxn.DisconnectReason.CONNECTION_CLOSE_FORCED);
    }

    /** A client that comes now would only wait: it tries another server. */
    static void refuseWithoutLease(LeaseGate<Request> gate) throws ServerCnxn.CloseRequestException {
        if (gate != null && gate.isLongWithout(System.nanoTime())) {
            throw new ServerCnxn.CloseRequestException("no lease for reads here; the client tries another server",
                ServerCnxn.DisconnectReason.CONNECTION_CLOSE_FORCED);
        }
    }

    public static Leader leader(QuorumPeer peer, FileTxnSnapLog files, ZKDatabase db, CadConfig config)
        throws IOException {
        CadObjects.count();
        try {
            return new CadLeader(peer, new CadLeaderZooKeeperServer(files, peer, db, config), config);
        } catch (X509Exception e) {
            throw new IOException(e);
        }
    }

    public static Follower follower(QuorumPeer peer, FileTxnSnapLog files, ZKDatabase db, CadConfig config)
        throws IOException {
        CadObjects.count();
        return new CadFollower(peer, new CadFollowerZooKeeperServer(files, peer, db, config), config);
    }

    public static Observer observer(QuorumPeer peer, FileTxnSnapLog files, ZKDatabase db, CadConfig config)
        throws IOException {
        CadObjects.count();
        return new CadObserver(peer, new CadObserverZooKeeperServer(files, peer, db, config), config);
    }

    /** The files behind a server, as a role needs them. */
    static Role.Files files(ZooKeeperServer server) {
        FileTxnSnapLog files = server.getTxnLogFactory();
        return new Role.Files(CadStorage.log(files), Store.of(files.getDataLogDir()), Store.of(files.getSnapDir()));
    }

    static CadTxnLog log(ZooKeeperServer server) {
        return CadStorage.log(server.getTxnLogFactory());
    }

    /**
     * Waits until the commit processor applies nothing more. Upstream goes on at
     * once to replay the log into the same tree, beside a change in the making.
     */
    static void awaitEnd(CommitProcessor processor) {
        if (processor == null) {
            return;
        }
        try {
            processor.join(COMMIT_END_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (processor.isAlive()) {
            LOG.warn("{} has not ended within {} ms", processor.getName(), COMMIT_END_MILLIS);
        }
    }

    /** How a server takes a snapshot. */
    interface Snapshooter {
        File take() throws IOException;
    }

    /**
     * Takes a learner's snapshot. During a synchronisation it is history that
     * the leader vouches for, so nothing holds it back; by SNAP it is the
     * leader's whole state, and replaces the old history before anything is
     * appended or the epoch recorded.
     */
    static File takeSnapshot(QuorumPeer peer, ZooKeeperServer server, Snapshooter snapshooter) throws IOException {
        if (peer.getSyncMode() == QuorumPeer.SyncMode.NONE) {
            return snapshooter.take();
        }
        FileTxnSnapLog files = server.getTxnLogFactory();
        Store store = Store.of(files.getSnapDir());
        store.gateSnapshots(null);
        if (peer.getSyncMode() != QuorumPeer.SyncMode.SNAP) {
            return snapshooter.take();
        }
        files.rollLog();
        store.adoptFor(files.getDataLogDir());
        try {
            return snapshooter.take();
        } finally {
            store.adoptFor(null);
        }
    }

    /**
     * Makes durable what this peer has acknowledged, as leader, or logged.
     *
     * @param deadline by System.nanoTime
     * @return false if time ran out
     */
    public static boolean drain(QuorumPeer peer, long deadline) throws InterruptedException {
        Leader leader = peer.leader;
        if (leader instanceof CadLeader && !((CadLeader) leader).drain(deadline)) {
            return false;
        }
        Follower follower = peer.follower;
        if (follower instanceof CadFollower) {
            Role role = ((CadFollowerZooKeeperServer) follower.zk).role();
            if (role != null && role.flusher != null) {
                role.flusher.stop();
            }
        }
        return true;
    }
}

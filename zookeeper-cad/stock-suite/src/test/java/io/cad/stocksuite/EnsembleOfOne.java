// SPDX-License-Identifier: Apache-2.0
package io.cad.stocksuite;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Field;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.PortAssignment;
import org.apache.zookeeper.server.EphemeralType;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;
import org.apache.zookeeper.server.ZooKeeperServerMain;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;
import org.apache.zookeeper.server.quorum.QuorumPeer;
import org.apache.zookeeper.server.quorum.QuorumPeer.QuorumServer;
import org.apache.zookeeper.server.quorum.flexible.QuorumMaj;

/**
 * Puts a one-server ensemble where an upstream test asks for a standalone server.
 *
 * <p>CAD exists in ensembles only, while most upstream tests hand a {@code new ZooKeeperServer}
 * to their connection factory. Named in {@code zookeeper.serverCnxnFactory}, this factory
 * keeps that server's directories, tick and session limits and starts a {@link QuorumPeer}
 * on them instead; the tests themselves stay as they are.
 */
public final class EnsembleOfOne extends NIOServerCnxnFactory {

    /** Bound on the election of the only voter, which takes a fraction of a second. */
    private static final long SERVING_WITHIN_MS = TimeUnit.SECONDS.toMillis(30);

    /** Upstream's election algorithm number: fast leader election is the only one left. */
    private static final int FAST_LEADER_ELECTION = 3;
    private static final int INIT_LIMIT_TICKS = 10;
    private static final int SYNC_LIMIT_TICKS = 5;

    private QuorumPeer peer;

    @Override
    public void startup(ZooKeeperServer standalone, boolean startServer) throws IOException, InterruptedException {
        if (!startServer || calledByStandaloneMain()) {
            super.startup(standalone, startServer);
            return;
        }
        FileTxnSnapLog directories = standalone.getTxnLogFactory();
        // FileTxnSnapLog works in the directory version-2 below the configured one.
        File snapDir = directories.getSnapDir().getParentFile();
        File logDir = directories.getDataLogDir().getParentFile();
        long id = serverId(standalone);
        // A standalone server refuses a wrong one in its caller's thread, an ensemble in its own.
        EphemeralType.validateServerId(id);
        QuorumServer self = new QuorumServer(
            id,
            new InetSocketAddress("127.0.0.1", PortAssignment.unique()),
            new InetSocketAddress("127.0.0.1", PortAssignment.unique()),
            new InetSocketAddress("127.0.0.1", getLocalPort()));
        Map<Long, QuorumServer> view = Map.of(id, self);
        QuorumPeer started = new QuorumPeer(view, snapDir, logDir, FAST_LEADER_ELECTION, id, standalone.getTickTime(),
            INIT_LIMIT_TICKS, SYNC_LIMIT_TICKS, 0, false, this, new QuorumMaj(view));
        started.setMinSessionTimeout(standalone.getMinSessionTimeout());
        started.setMaxSessionTimeout(standalone.getMaxSessionTimeout());
        started.initialize();
        peer = started;
        started.start();
        awaitServing(started);
    }

    /** {@link ZooKeeperServerMain} waits for the shutdown of the very server that it made. */
    private static boolean calledByStandaloneMain() {
        return StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE).walk(frames ->
            frames.anyMatch(frame -> ZooKeeperServerMain.class.isAssignableFrom(frame.getDeclaringClass())));
    }

    private void awaitServing(QuorumPeer started) throws IOException, InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(SERVING_WITHIN_MS);
        while (System.nanoTime() < deadline) {
            ZooKeeperServer server = getZooKeeperServer();
            if (server != null && server.isRunning()) {
                return;
            }
            TimeUnit.MILLISECONDS.sleep(5);
        }
        throw new IOException("the one-server ensemble does not serve after " + SERVING_WITHIN_MS
            + " ms; it is " + started.getServerState());
    }

    @Override
    public void shutdown() {
        QuorumPeer running = peer;
        if (running == null) {
            super.shutdown();
            return;
        }
        // QuorumPeer.shutdown() calls this method again, for the sockets.
        peer = null;
        running.shutdown();
        try {
            running.join(SERVING_WITHIN_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static long serverId(ZooKeeperServer standalone) {
        try {
            Field field = ZooKeeperServer.class.getDeclaredField("createSessionTrackerServerId");
            field.setAccessible(true);
            return field.getInt(standalone);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("this is no ZooKeeper 3.9 server", e);
        }
    }
}

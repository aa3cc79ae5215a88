// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper;

import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.config.SettingException;
import io.cad.zookeeper.config.SettingRules;
import io.cad.zookeeper.durability.CadTxnLog;
import io.cad.zookeeper.durability.Directories;
import io.cad.zookeeper.durability.Store;
import io.cad.zookeeper.recovery.LogRepair;
import io.cad.zookeeper.recovery.PublishedSnapshots;
import io.cad.zookeeper.recovery.Rollback;
import io.netty.channel.Channel;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import org.apache.zookeeper.server.CadConnections;
import org.apache.zookeeper.server.NIOServerCnxn;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.NettyServerCnxn;
import org.apache.zookeeper.server.NettyServerCnxnFactory;
import org.apache.zookeeper.server.ServerCnxn;
import org.apache.zookeeper.server.ServerExtension;
import org.apache.zookeeper.server.ZKDatabase;
import org.apache.zookeeper.server.ZooKeeperServer;
import org.apache.zookeeper.server.admin.CadAdminCommand;
import org.apache.zookeeper.server.admin.Commands;
import org.apache.zookeeper.server.command.AbstractFourLetterCommand;
import org.apache.zookeeper.server.command.CadCommand;
import org.apache.zookeeper.server.persistence.CadStorage;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;
import org.apache.zookeeper.server.persistence.SnapShot;
import org.apache.zookeeper.server.persistence.TxnLog;
import org.apache.zookeeper.server.quorum.CadPeer;
import org.apache.zookeeper.server.quorum.Follower;
import org.apache.zookeeper.server.quorum.Leader;
import org.apache.zookeeper.server.quorum.Observer;
import org.apache.zookeeper.server.quorum.QuorumPeer;
import org.apache.zookeeper.server.quorum.QuorumPeerConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The plugin's entry: what the patched core asks it for. Without any
 * {@code cad.*} setting every answer is the stock one.
 */
public final class CadExtension extends ServerExtension {

    private static final Logger LOG = LoggerFactory.getLogger(CadExtension.class);

    private static CadConfig config() {
        return CadConfig.from(System.getProperties());
    }

    private static boolean enabled() {
        return config() != null;
    }

    // ---- start

    @Override
    public void configured(QuorumPeerConfig peerConfig) throws QuorumPeerConfig.ConfigException {
        try {
            CadConfig config = config();
            if (config != null) {
                SettingRules.check(peerConfig, System.getProperties());
            }
        } catch (SettingException e) {
            System.err.println(e.getMessage());
            throw new QuorumPeerConfig.ConfigException(e.getMessage());
        }
    }

    @Override
    public void starting(QuorumPeer peer) {
        CadConfig config = config();
        if (config == null) {
            return;
        }
        SettingRules.checkPeer(peer, System.getProperties());
        occupy(peer);
        LOG.info("Durability mode {}", config.mode);
        LOG.info("Leases: {}", config.leases);
        if (Boolean.parseBoolean(System.getProperty("zookeeper.db.autocreate", "true"))) {
            LOG.warn("zookeeper.db.autocreate is not false: a server whose disk was wiped votes as an empty one; set "
                + "db.autocreate=false and prepare new servers with zkServer-initialize.sh");
        }
        Commands.registerCommand(new CadAdminCommand());
        PlannedStop.register(peer, config);
    }

    /** Before anything is read: a second server on the same directories would take the first one's last record for torn. */
    private static void occupy(QuorumPeer peer) {
        FileTxnSnapLog files = peer.getTxnFactory();
        try {
            Store.of(files.getDataLogDir()).occupy();
            Store.of(files.getSnapDir()).occupy();
        } catch (IOException e) {
            System.err.println(e.getMessage());
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public Follower follower(QuorumPeer peer, FileTxnSnapLog files, ZKDatabase db) throws IOException {
        CadConfig config = config();
        return config == null ? null : CadPeer.follower(peer, files, db, config);
    }

    @Override
    public Leader leader(QuorumPeer peer, FileTxnSnapLog files, ZKDatabase db) throws IOException {
        CadConfig config = config();
        return config == null ? null : CadPeer.leader(peer, files, db, config);
    }

    @Override
    public Observer observer(QuorumPeer peer, FileTxnSnapLog files, ZKDatabase db) throws IOException {
        CadConfig config = config();
        return config == null ? null : CadPeer.observer(peer, files, db, config);
    }

    // ---- connections

    @Override
    public NIOServerCnxn nioConnection(ZooKeeperServer server, SocketChannel channel, SelectionKey key,
                                       NIOServerCnxnFactory factory, NIOServerCnxnFactory.SelectorThread selector)
        throws IOException {
        return CadConnections.nio(server, channel, key, factory, selector);
    }

    @Override
    public NettyServerCnxn nettyConnection(Channel channel, ZooKeeperServer server, NettyServerCnxnFactory factory) {
        return CadConnections.netty(channel, server, factory);
    }

    // ---- files

    @Override
    public TxnLog txnLog(File logDir) {
        return enabled() ? new CadTxnLog(logDir) : super.txnLog(logDir);
    }

    @Override
    public SnapShot snapshots(File snapDir) {
        return enabled() ? new PublishedSnapshots(snapDir) : super.snapshots(snapDir);
    }

    @Override
    public void beforeRestore(FileTxnSnapLog files) throws IOException {
        if (enabled()) {
            LogRepair.beforeRestore(files.getDataLogDir(), files.getSnapDir());
        }
    }

    @Override
    public void beforeTruncate(FileTxnSnapLog files, long zxid) throws IOException {
        if (enabled()) {
            // Closed first: what the last sync covers must not raise the mark again after it was lowered.
            CadStorage.closeLog(files);
            Rollback.beforeTruncate(files.getDataLogDir(), files.getSnapDir(), zxid);
        }
    }

    @Override
    public void afterTruncate(FileTxnSnapLog files, long zxid) throws IOException {
        if (enabled()) {
            Rollback.afterTruncate(files.getDataLogDir(), files.getSnapDir(), zxid);
        }
    }

    /** Log before epoch (rule E2): a high epoch over a short log would win elections and erase durable data. */
    @Override
    public void beforeCurrentEpoch(QuorumPeer peer, long epoch) throws IOException {
        if (enabled()) {
            FileTxnSnapLog files = peer.getTxnFactory();
            files.commit();
            // What the epoch begins with may no longer be taken for a torn tail.
            Store store = Store.of(files.getDataLogDir());
            store.mark().raiseDurably(files.getLastLoggedZxid());
            store.recordEpoch(epoch);
        }
    }

    @Override
    public void fileReplaced(File file) throws IOException {
        if (enabled()) {
            Directories.syncParent(file);
        }
    }

    // ---- operators

    @Override
    public String fourLetterCommand() {
        return CadCommand.NAME;
    }

    @Override
    public AbstractFourLetterCommand fourLetterCommand(PrintWriter writer, ServerCnxn connection) {
        return new CadCommand(writer, connection);
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.apache.curator.test;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.client.FourLetterWordMain;
import org.apache.zookeeper.common.X509Exception.SSLContextException;
import org.apache.zookeeper.server.embedded.ZooKeeperServerEmbedded;
import org.apache.zookeeper.server.util.ConfigUtils;

/**
 * Stands before the class of this name in Curator's test kit, which runs embedded servers: where a standalone server
 * has become an ensemble of one, {@link #start} returns when it serves, as it does with a standalone one, and not
 * before its election.
 */
public class ZooKeeperServerEmbeddedAdapter implements ZooKeeperMainFace {

    private static final Duration STARTS_WITHIN = Duration.ofMinutes(1);

    private volatile ZooKeeperServerEmbedded server;

    @Override
    public void start(QuorumPeerConfigBuilder builder) {
        try {
            Properties properties = builder.buildProperties();
            properties.setProperty("admin.enableServer", "false");
            server = ZooKeeperServerEmbedded.builder().configuration(properties)
                .baseDir(Path.of(properties.getProperty("dataDir")).getParent()).build();
            server.start(STARTS_WITHIN.toMillis());
            if (QuorumPeerConfigBuilder.isEnsembleOfOne(properties)) {
                awaitServing();
            }
        } catch (Exception e) {
            throw new FailedServerStartException(e);
        }
    }

    private void awaitServing() throws Exception {
        long end = System.nanoTime() + STARTS_WITHIN.toNanos();
        while (!isServing()) {
            if (System.nanoTime() - end > 0) {
                throw new IOException("the ensemble of one does not serve after " + STARTS_WITHIN);
            }
            TimeUnit.MILLISECONDS.sleep(5);
        }
    }

    private boolean isServing() throws Exception {
        try {
            return FourLetterWordMain.send4LetterWord("127.0.0.1", getClientPort(), "srvr").contains("Mode:");
        } catch (IOException | SSLContextException e) {
            return false;
        }
    }

    @Override
    public int getClientPort() throws Exception {
        return Integer.parseInt(ConfigUtils.getHostAndPort(server.getConnectionString())[1]);
    }

    @Override
    public void kill() {
        close();
    }

    @Override
    public void close() {
        if (server != null) {
            server.close();
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.apache.curator.test;

import java.nio.file.Files;
import java.util.Properties;
import org.apache.zookeeper.server.quorum.QuorumPeerConfig;

/**
 * Stands before the class of this name in Curator's test kit, which embedded servers get their properties from: with
 * {@code -Dsuite.ensemble=true} those of a standalone server become those of an ensemble of one, because CAD exists in
 * ensembles only.
 */
public class QuorumPeerConfigBuilder {

    private final QuorumConfigBuilder servers;
    private final int index;
    private final int port;

    QuorumPeerConfigBuilder(QuorumConfigBuilder servers, int index, int port) {
        this.servers = servers;
        this.index = index;
        this.port = port;
    }

    public boolean isFromRandom() {
        return servers.isFromRandom();
    }

    public InstanceSpec getInstanceSpec() {
        return servers.getInstanceSpec(index);
    }

    public QuorumPeerConfig buildConfig() throws Exception {
        return servers.buildConfig(index, port);
    }

    public Properties buildProperties() throws Exception {
        Properties properties = servers.buildConfigProperties(index, port);
        if (servers.size() == 1 && Boolean.getBoolean("suite.ensemble")) {
            InstanceSpec self = getInstanceSpec();
            Files.writeString(self.getDataDirectory().toPath().resolve("myid"), Integer.toString(self.getServerId()));
            properties.setProperty("standaloneEnabled", "false");
            properties.setProperty("server." + self.getServerId(),
                self.getHostname() + ":" + self.getQuorumPort() + ":" + self.getElectionPort());
        }
        return properties;
    }

    /** Whether a standalone server has become one. */
    static boolean isEnsembleOfOne(Properties properties) {
        return "false".equals(properties.getProperty("standaloneEnabled"));
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.config;

import java.util.Properties;
import org.apache.zookeeper.server.quorum.QuorumPeer;
import org.apache.zookeeper.server.quorum.QuorumPeerConfig;
import org.apache.zookeeper.server.quorum.flexible.QuorumVerifier;

/** Settings of the server itself that contradict what a {@code cad.*} setting promises. */
public final class SettingRules {

    private SettingRules() {
    }

    /** Checks a parsed configuration, before anything is started. */
    public static void check(QuorumPeerConfig config, Properties properties) {
        if (!config.isDistributed()) {
            throw new SettingException("cad.durability", "a standalone server has no quorum to be durable on",
                "configure a one-server ensemble: standaloneEnabled=false and one server.N line");
        }
        checkObserverMaster(config.getObserverMasterPort());
        checkOracle(config.getQuorumVerifier());
        checkProperties(properties);
    }

    /** Checks a peer that was built without a configuration file. */
    public static void checkPeer(QuorumPeer peer, Properties properties) {
        checkObserverMaster(peer.getObserverMasterPort());
        checkOracle(peer.getQuorumVerifier());
        checkProperties(properties);
    }

    private static void checkObserverMaster(int port) {
        if (port > 0) {
            throw new SettingException("observerMasterPort", "an observer master relays no durable index",
                "remove it; observers then connect to the leader");
        }
    }

    private static void checkOracle(QuorumVerifier verifier) {
        if (verifier != null && verifier.getOraclePath() != null) {
            throw new SettingException("oraclePath", "it makes one of two servers a quorum, which then shares no server "
                + "with the other's, so neither leases nor the durable index would mean anything",
                "remove it; use three servers");
        }
    }

    private static void checkProperties(Properties properties) {
        if ("no".equals(properties.getProperty("zookeeper.forceSync"))) {
            throw new SettingException("forceSync=no", "the durable index would not be durable",
                "remove it; cad.durability=eventual acknowledges before the fsync, with a bounded window");
        }
        if (Boolean.parseBoolean(properties.getProperty("readonlymode.enabled"))) {
            throw new SettingException("readonlymode.enabled", "a server without a leader would show undurable data",
                "remove it");
        }
    }
}

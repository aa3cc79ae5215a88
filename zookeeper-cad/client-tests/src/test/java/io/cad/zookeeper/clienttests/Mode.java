// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.clienttests;

import io.cad.zookeeper.testkit.EnsembleConfig;
import io.cad.zookeeper.testkit.ServerBuild;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** The servers that clients meet: the stock release, and ours in each mode that it can be configured for. */
enum Mode {
    STOCK(null, null, null),
    IMMEDIATE_LEADER("immediate", "sync", "leader"),
    IMMEDIATE_ANY("immediate", "sync", "any"),
    EVENTUAL_SYNC("eventual", "sync", "any"),
    EVENTUAL_ASYNC("eventual", "async", "any"),
    CAD_SYNC("cad", "sync", "leader"),
    CAD_ASYNC("cad", "async", "leader");

    private final Map<String, String> cfg;

    Mode(String durability, String replication, String reads) {
        this.cfg = durability == null ? Map.of()
                : Map.of("cad.durability", durability, "cad.replication", replication, "cad.reads", reads);
    }

    boolean isStock() {
        return cfg.isEmpty();
    }

    /** A read at any server returns what was acknowledged before, without a sync by the client. */
    boolean readsAreFresh() {
        return "leader".equals(cfg.get("cad.reads"));
    }

    /** What was acknowledged is on the disks of a quorum. */
    boolean keepsWhatWasAcknowledged() {
        return isStock() || "immediate".equals(cfg.get("cad.durability"));
    }

    /** What somebody has read is on the disks of a quorum. */
    boolean keepsWhatWasRead() {
        return !"eventual".equals(cfg.get("cad.durability"));
    }

    /** An ensemble of this many servers in this mode. */
    EnsembleConfig ensemble(int servers) throws IOException {
        ServerBuild build = ServerBuild.stock();
        if (!isStock()) {
            build = build.withServerJar("cad", jar("client.tests.server.jar"), List.of(jar("client.tests.plugin.jar")));
        }
        return new EnsembleConfig(build, servers).name(name().toLowerCase(java.util.Locale.ROOT)).cfg(cfg);
    }

    private static Path jar(String property) {
        return Path.of(System.getProperty(property));
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import io.cad.zookeeper.testkit.disk.DiskProvider;
import io.cad.zookeeper.testkit.disk.PlainDisk;
import io.cad.zookeeper.testkit.machine.Loopback;
import io.cad.zookeeper.testkit.machine.Machines;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What an ensemble is made of. Setters return this object; {@link Ensemble#create} reads it once. */
public final class EnsembleConfig {
    private final ServerBuild build;
    private final int servers;
    private String name = "zk";
    private JvmProfile profile = JvmProfile.TEST;
    private Machines machines = new Loopback(PlainDisk.PROVIDER);
    private boolean adminServer;
    private final Map<String, String> cfg = new LinkedHashMap<>();
    private final List<String> jvmFlags = new ArrayList<>();

    /**
     * @param servers number of voters, at least 1; one is an ensemble of one, not a standalone server
     */
    public EnsembleConfig(ServerBuild build, int servers) {
        if (servers < 1) {
            throw new IllegalArgumentException("servers must be at least 1, not " + servers);
        }
        this.build = build;
        this.servers = servers;
        // A short tick makes elections and session expiry quick; the limits are in ticks and stay generous, because a
        // loaded machine may not run a server for a second.
        cfg.put("tickTime", "500");
        cfg.put("initLimit", "60");
        cfg.put("syncLimit", "20");
        cfg.put("maxSessionTimeout", "60000");
        cfg.put("maxClientCnxns", "0");
        cfg.put("standaloneEnabled", "false");
        cfg.put("4lw.commands.whitelist", "*");
    }

    /** Names the ensemble's directory below the run directory. */
    public EnsembleConfig name(String newName) {
        this.name = newName;
        return this;
    }

    /** Adds or replaces a line of zoo.cfg; unknown keys become system properties zookeeper.* in the server. */
    public EnsembleConfig cfg(String key, String value) {
        cfg.put(key, value);
        return this;
    }

    /** Adds or replaces lines of zoo.cfg. */
    public EnsembleConfig cfg(Map<String, String> lines) {
        cfg.putAll(lines);
        return this;
    }

    /** Adds flags to each server's JVM, after those of the profile. */
    public EnsembleConfig jvmFlags(String... flags) {
        Collections.addAll(jvmFlags, flags);
        return this;
    }

    /** Lets each server's JVM map an archive made by {@link ClassArchive#dump} from the same build. */
    public EnsembleConfig classArchive(Path archive) {
        return jvmFlags("-XX:SharedArchiveFile=" + archive);
    }

    public EnsembleConfig profile(JvmProfile newProfile) {
        this.profile = newProfile;
        return this;
    }

    /** Gives each server a disk, on loopback. */
    public EnsembleConfig disks(DiskProvider provider) {
        return machines(new Loopback(provider));
    }

    /** Where the servers run; on loopback with plain directories if not said. */
    public EnsembleConfig machines(Machines newMachines) {
        this.machines = newMachines;
        return this;
    }

    /** Switches the HTTP admin server on, on a free port; off by default. */
    public EnsembleConfig adminServer(boolean on) {
        this.adminServer = on;
        return this;
    }

    ServerBuild build() {
        return build;
    }

    int servers() {
        return servers;
    }

    String name() {
        return name;
    }

    Map<String, String> cfg() {
        return Collections.unmodifiableMap(cfg);
    }

    List<String> jvmFlags() {
        List<String> all = new ArrayList<>(profile.flags());
        all.addAll(jvmFlags);
        return all;
    }

    Machines machines() {
        return machines;
    }

    boolean adminServer() {
        return adminServer;
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.ServerBuild;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** A way to run the servers: which jars, and which lines of zoo.cfg beyond those that all modes share. */
public enum Mode implements DemoMode {
    STOCK("stock", false, Map.of()),
    STOCK_NO_SYNC("stock-forceSync=no", false, Map.of("forceSync", "no")),
    PLUGIN_OFF("plugin-off", true, Map.of()),
    IMMEDIATE("immediate", true, cad("immediate", "sync", "any")),
    STRONG("strong", true, cad("immediate", "sync", "leader")),
    WEAK("weak", true, cad("eventual", "async", "any")),
    CAD("cad", true, cad("cad", "async", "leader")),
    /** The paper's ORCA: as CAD, with reads at every server of the active set. */
    ORCA("orca", true, cad("cad", "async", "active-set")),
    /** The paper's trade-off: fewer servers that answer reads, fewer that fresh data have to wait for. */
    ORCA_AT_4("orca-at-4", true, activeSet(4)),
    ORCA_AT_3("orca-at-3", true, activeSet(3));

    private final String label;
    private final boolean patched;
    private final Map<String, String> cfg;

    Mode(String label, boolean patched, Map<String, String> cfg) {
        this.label = label;
        this.patched = patched;
        this.cfg = cfg;
    }

    private static Map<String, String> cad(String durability, String replication, String reads) {
        return Map.of("cad.durability", durability, "cad.replication", replication, "cad.reads", reads);
    }

    private static Map<String, String> activeSet(int size) {
        Map<String, String> lines = new HashMap<>(cad("cad", "async", "active-set"));
        lines.put("cad.active.set.max", Integer.toString(size));
        return Map.copyOf(lines);
    }

    @Override
    public String label() {
        return label;
    }

    @Override
    public boolean isPatched() {
        return patched;
    }

    @Override
    public boolean acknowledgesDurably() {
        return this == STOCK || this == IMMEDIATE || this == STRONG;
    }

    /** Stock's reads are local, so a reader at a slower server may see an older state; the others promise it away. */
    @Override
    public boolean keepsWhatWasRead() {
        return this == STRONG || isOnTrial();
    }

    @Override
    public boolean isWeak() {
        return this == WEAK || this == STOCK_NO_SYNC;
    }

    @Override
    public boolean isOnTrial() {
        return "cad".equals(cfg.get("cad.durability"));
    }

    /** Whether only servers that hold a lease answer reads, and do so by themselves. */
    boolean readsAtActiveSet() {
        return "active-set".equals(cfg.get("cad.reads"));
    }

    /** How many of an ensemble's servers answer reads. */
    int readers(int servers) {
        return Math.min(servers, Integer.parseInt(cfg.getOrDefault("cad.active.set.max", Integer.toString(servers))));
    }

    /**
     * The times that the manual recommends for slow links: where all servers and clients share a few cores, a heartbeat
     * waits for its turn like everybody else.
     */
    Map<String, String> patientLeases() {
        return cfg.containsKey("cad.durability")
                ? Map.of("cad.heartbeat", "100", "cad.lease", "600", "cad.leader.lease", "1000") : Map.of();
    }

    public Map<String, String> cfg() {
        return cfg;
    }

    /** What an operator would write into zoo.cfg, in one line. */
    @Override
    public String describe() {
        String lines = cfg.entrySet().stream().sorted(Map.Entry.comparingByKey())
                .map(line -> line.getKey() + "=" + line.getValue()).collect(Collectors.joining(" "));
        if (patched) {
            return lines.isEmpty() ? "patched server and plugin, no cad.* line" : lines;
        }
        return ("stock 3.9.5 " + lines).trim();
    }

    /**
     * The jars to run.
     *
     * @param serverJar patched server jar, null when there is none yet
     * @param plugins plugin jars
     * @throws IllegalArgumentException when the mode needs the patched jar and there is none
     */
    public ServerBuild build(Path serverJar, List<Path> plugins) throws IOException {
        if (!patched) {
            return ServerBuild.stock();
        }
        if (serverJar == null) {
            throw new IllegalArgumentException("mode " + label + " needs --server-jar and --plugin; build them (make build)");
        }
        return ServerBuild.stock().withServerJar("patched", serverJar, plugins);
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.config.CadConfig.Kind;
import io.cad.zookeeper.lease.LeaseSettings;
import io.cad.zookeeper.testing.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Properties;
import org.apache.zookeeper.server.quorum.QuorumPeerConfig;
import org.apache.zookeeper.server.quorum.QuorumPeerConfig.ConfigException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The settings: defaults, the eighteen combinations, and one line for each that cannot be honoured. */
class SettingsTest {

    @TempDir
    Path temp;

    private static CadConfig config(String... pairs) {
        Properties properties = new Properties();
        for (int i = 0; i < pairs.length; i += 2) {
            properties.setProperty("zookeeper.cad." + pairs[i], pairs[i + 1]);
        }
        return CadConfig.from(properties);
    }

    private static void refused(String setting, Runnable attempt) {
        SettingException refusal = assertThrows(SettingException.class, attempt::run);
        String line = refusal.getMessage();
        assertTrue(line.startsWith(setting + ": "), line);
        assertTrue(line.contains("; "), "reason and remedy: " + line);
        assertFalse(line.contains("\n"), line);
    }

    @Test
    void noSettingIsTheStockServer() {
        assertNull(config());
        Properties other = new Properties();
        other.setProperty("zookeeper.forceSync", "yes");
        assertNull(CadConfig.from(other));
    }

    /** All combinations; an empty last column is an allowed one, else it names the setting that is refused. */
    @ParameterizedTest
    @CsvSource({
        "immediate, sync, leader,", "immediate, sync, any,", "immediate, sync, active-set,",
        "immediate, async, leader, cad.replication=async", "immediate, async, any, cad.replication=async",
        "immediate, async, active-set, cad.replication=async",
        "eventual, sync, leader,", "eventual, sync, any,", "eventual, sync, active-set, cad.reads=active-set",
        "eventual, async, leader,", "eventual, async, any,", "eventual, async, active-set, cad.reads=active-set",
        "cad, sync, leader,", "cad, sync, any, cad.reads=any", "cad, sync, active-set,",
        "cad, async, leader,", "cad, async, any, cad.reads=any", "cad, async, active-set,"})
    void combinations(String durability, String replication, String reads, String refusedSetting) {
        String[] pairs = {"durability", durability, "replication", replication, "reads", reads};
        if (refusedSetting == null) {
            assertEquals(durability + "+" + replication + "+" + reads, config(pairs).mode.toString());
        } else {
            refused(refusedSetting, () -> config(pairs));
        }
    }

    @Test
    void defaults() {
        CadConfig cad = config("durability", "cad");
        assertEquals("cad+sync+leader", cad.mode.toString());
        assertEquals(10_000_000L, cad.flushInterval);
        assertEquals(1L << 20, cad.flushBytes);
        assertEquals(1_000_000L, cad.linger);
        assertEquals(100_000, cad.windowTxns);
        assertEquals(64L << 20, cad.windowBytes);
        assertEquals(2_000_000_000L, cad.windowAge);
        assertEquals(EnumSet.allOf(Kind.class), cad.durableAcks);
        assertEquals(List.of(), cad.immediatePaths);
        assertTrue(cad.syncPersists);
        assertEquals(0, cad.holdTime);
        assertEquals(64L << 20, cad.holdBytes);
        assertFalse(cad.observersRefuse);
        assertFalse(cad.writeStatDurable);
        assertEquals(1_000_000, cad.dirtyMax);
        assertEquals(64L << 20, cad.diskReserve);
        assertEquals(10_000_000_000L, cad.drain);
        assertFalse(cad.strict);
        assertEquals(LeaseSettings.lan().toString(), cad.leases.toString());
        assertEquals(200_000_000L, cad.noLeaseWait);
        assertEquals(5_000_000_000L, cad.stuck);
        assertEquals(EnumSet.noneOf(Kind.class), config("durability", "eventual").durableAcks);
    }

    /** What follows from a longer lease follows by itself; a refusal shows the arithmetic. */
    @Test
    void leaseTimes() {
        CadConfig wan = config("durability", "cad", "heartbeat", "100", "lease", "600", "leader.lease", "1000");
        assertEquals(LeaseSettings.wan().toString(), wan.leases.toString());
        assertEquals(50_000, config("durability", "cad", "clock.drift", "0.05").leases.driftPpm());
        SettingException refusal =
            assertThrows(SettingException.class, () -> config("durability", "cad", "promise", "549"));
        assertEquals("cad.promise: 549 ms * (1 - 0.1) = 494.1 ms is less than (cad.leader.lease 300 ms + cad.lease "
            + "150 ms) * (1 + 0.1) = 495 ms: a new leader would serve while old leases may last; set it to 550 ms or "
            + "more, or remove it", refusal.getMessage());
    }

    @Test
    void lists() {
        CadConfig cad = config("durability", "cad", "durable.acks", "session, ttl", "immediate.paths", "/a, /b/c");
        assertEquals(EnumSet.of(Kind.SESSION, Kind.TTL), cad.durableAcks);
        assertEquals(List.of("/a", "/b/c"), cad.immediatePaths);
        assertEquals(EnumSet.noneOf(Kind.class), config("durability", "cad", "durable.acks", "none").durableAcks);
    }

    @ParameterizedTest
    @CsvSource({
        "durability, sometimes", "replication, both", "reads, everywhere", "flush.interval, -1", "flush.interval, soon",
        "flush.bytes, 0", "linger.ms, 1001", "window.txns, 0", "window.bytes, 0", "window.ms, 0", "window.ms, 1.5", "durable.acks, all",
        "durable.acks, 'session,none'", "immediate.paths, relative", "immediate.paths, /slash/", "sync.persists, yes",
        "hold.ms, -1", "hold.bytes, 10", "observer.reads, maybe", "write.stat, never", "dirty.max, 1",
        "disk.reserve, -5", "drain, -1", "strict, on",
        "heartbeat, 0", "heartbeat, often", "lease, 149", "removal, 183", "leader.lease, 50", "leader.lease, 2001",
        "promise, 549", "clock.drift, 0.6", "clock.drift, a little", "clock.drift, -0.1", "nolease.wait, -1",
        "stuck, 0", "active.set.max, 0", "active.set.servers, 'one,2'", "active.set.servers, '1,1'"})
    void wrongValuesAreRefused(String key, String value) {
        refused("cad." + key, () -> {
            if (key.equals("durability")) {
                config(key, value);
            } else {
                config("durability", "cad", key, value);
            }
        });
    }

    @Test
    void unknownSettingIsRefused() {
        refused("cad.windowtxns", () -> config("durability", "cad", "windowtxns", "5"));
    }

    @Test
    void settingsWithoutTheModeAreRefused() {
        refused("cad.durability", () -> config("reads", "leader"));
    }

    // ---- settings of the server itself

    private QuorumPeerConfig parse(String more, String servers, Settings settings) throws Exception {
        Path config = temp.resolve("zoo.cfg");
        Path data = Files.createDirectories(temp.resolve("data"));
        Files.writeString(data.resolve("myid"), "1");
        Files.writeString(config, "tickTime=2000\ninitLimit=5\nsyncLimit=5\nclientPort=2181\ndataDir=" + data + "\n"
            + more + "\n" + servers);
        QuorumPeerConfig parsed = new QuorumPeerConfig();
        settings.and("readonlymode.enabled", null, "zookeeper.forceSync", null);
        parsed.parse(config.toString());
        return parsed;
    }

    private static final String SERVERS = "server.1=127.0.0.1:2888:3888\nserver.2=127.0.0.1:2889:3889\n"
        + "server.3=127.0.0.1:2890:3890\n";

    private void refusedFile(String setting, String more, String servers) throws Exception {
        try (Settings settings = Settings.of()) {
            // Keys of the file become system properties, which must go again.
            settings.and("cad.durability", null, "cad.reads", null, "cad.replication", null, "cad.typo", null);
            ConfigException refusal = assertThrows(ConfigException.class, () -> parse(more, servers, settings));
            assertTrue(refusal.getMessage().startsWith(setting + ": "), refusal.getMessage());
        }
    }

    @Test
    void fileWithAWrongSettingIsRefused() throws Exception {
        refusedFile("cad.replication=async", "cad.durability=immediate\ncad.replication=async", SERVERS);
        refusedFile("cad.typo", "cad.durability=cad\ncad.typo=1", SERVERS);
    }

    @Test
    void forceSyncNoIsRefused() throws Exception {
        refusedFile("forceSync=no", "cad.durability=cad\nforceSync=no", SERVERS);
    }

    @Test
    void readOnlyModeIsRefused() throws Exception {
        try (Settings settings = Settings.of("readonlymode.enabled", "true", "cad.durability", "cad")) {
            SettingException refusal = assertThrows(SettingException.class,
                () -> SettingRules.check(distributed(), System.getProperties()));
            assertTrue(refusal.getMessage().startsWith("readonlymode.enabled: "), refusal.getMessage());
        }
    }

    private QuorumPeerConfig distributed() {
        try (Settings settings = Settings.of()) {
            return parse("", SERVERS, settings);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void observerMasterIsRefused() throws Exception {
        refusedFile("observerMasterPort", "cad.durability=cad\nobserverMasterPort=2191", SERVERS);
    }

    /** Also where more than two servers vote: a reconfiguration may leave two. */
    @Test
    void aQuorumByOracleIsRefused() throws Exception {
        refusedFile("oraclePath", "cad.durability=cad\noraclePath=" + temp.resolve("oracle"), SERVERS);
    }

    @Test
    void standaloneIsRefused() throws Exception {
        refusedFile("cad.durability", "cad.durability=cad", "");
    }

    @Test
    void ensembleOfOneIsAccepted() throws Exception {
        try (Settings settings = Settings.of()) {
            settings.and("cad.durability", null);
            assertTrue(parse("standaloneEnabled=false\ncad.durability=cad", "server.1=127.0.0.1:2888:3888\n", settings)
                .isDistributed());
        } finally {
            QuorumPeerConfig.setStandaloneEnabled(true);
        }
    }

    /** Every ensemble that may be reconfigured keeps its servers in a file of their own. */
    @Test
    void serversInADynamicFileAreAccepted() throws Exception {
        Path dynamic = temp.resolve("zoo.cfg.dynamic.100000000");
        Files.writeString(dynamic, "server.1=127.0.0.1:2888:3888:participant;2181\n"
            + "server.2=127.0.0.1:2889:3889:participant;2182\nserver.3=127.0.0.1:2890:3890:participant;2183\n");
        try (Settings settings = Settings.of()) {
            settings.and("cad.durability", null);
            Path config = temp.resolve("zoo.cfg");
            Path data = Files.createDirectories(temp.resolve("data"));
            Files.writeString(data.resolve("myid"), "1");
            Files.writeString(config, "tickTime=2000\ninitLimit=5\nsyncLimit=5\ndataDir=" + data
                + "\ncad.durability=cad\ndynamicConfigFile=" + dynamic + "\n");
            QuorumPeerConfig parsed = new QuorumPeerConfig();
            parsed.parse(config.toString());
            assertTrue(parsed.isDistributed());
        }
    }

    @Test
    void refusalIsWhatTheFileParserThrows() throws IOException {
        Path config = temp.resolve("zoo.cfg");
        Files.writeString(config, "dataDir=" + temp + "\nclientPort=2181\ncad.durability=cad\n");
        try (Settings settings = Settings.of()) {
            settings.and("cad.durability", null);
            assertThrows(ConfigException.class, () -> new QuorumPeerConfig().parse(config.toString()));
        }
    }
}

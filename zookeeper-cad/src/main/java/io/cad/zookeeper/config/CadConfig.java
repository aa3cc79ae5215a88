// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.config;

import io.cad.zookeeper.config.Mode.Durability;
import io.cad.zookeeper.config.Mode.Reads;
import io.cad.zookeeper.config.Mode.Replication;
import io.cad.zookeeper.lease.ActiveSetRules;
import io.cad.zookeeper.lease.LeaseSettings;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;

/**
 * The {@code cad.*} settings of one server. ZooKeeper turns an unknown key of
 * zoo.cfg into the system property {@code zookeeper.<key>}, so both spellings
 * arrive here. Durations are nanoseconds, sizes bytes.
 */
public final class CadConfig {

    /** Kinds of write that may be acknowledged only when durable ({@code cad.durable.acks}). */
    public enum Kind { SESSION, EPHEMERAL, SEQUENTIAL, CONTAINER, TTL }

    private static final String PREFIX = "zookeeper.cad.";
    private static final long MILLI = 1_000_000L;

    private static final Set<String> KEYS = new TreeSet<>(Arrays.asList(
        "durability", "replication", "reads", "flush.interval", "flush.bytes", "linger.ms",
        "window.txns", "window.bytes", "window.ms", "durable.acks", "immediate.paths", "sync.persists",
        "hold.ms", "hold.bytes", "observer.reads", "write.stat", "dirty.max", "disk.reserve", "drain", "strict",
        "heartbeat", "lease", "removal", "leader.lease", "promise", "clock.drift", "nolease.wait", "stuck",
        "active.set.max", "active.set.servers"));

    public final Mode mode;
    public final long flushInterval;
    public final long flushBytes;
    /** Longest time that proposals and commits gather before they leave for a learner, where writes do not wait for it. */
    public final long linger;
    public final long windowTxns;
    public final long windowBytes;
    public final long windowAge;
    public final Set<Kind> durableAcks;
    public final List<String> immediatePaths;
    public final boolean syncPersists;
    /** 0: a third of the connection's session time-out. */
    public final long holdTime;
    public final long holdBytes;
    public final boolean observersRefuse;
    public final boolean writeStatDurable;
    public final int dirtyMax;
    public final long diskReserve;
    public final long drain;
    public final boolean strict;
    public final LeaseSettings leases;
    public final ActiveSetRules activeSet;
    /** How long a read waits at a server that may not answer it. */
    public final long noLeaseWait;
    /** How long a leader's oldest work may make no progress. */
    public final long stuck;

    private CadConfig(Properties p) {
        for (String name : p.stringPropertyNames()) {
            if (name.startsWith(PREFIX) && !KEYS.contains(name.substring(PREFIX.length()))) {
                throw new SettingException(name.substring("zookeeper.".length()),
                    "there is no such setting", "known are cad." + String.join(", cad.", KEYS));
            }
        }
        if (get(p, "durability") == null) {
            throw new SettingException("cad.durability",
                "other cad.* settings are present but this one is not",
                "set it to immediate, eventual or cad, or remove all cad.* settings for a stock server");
        }
        Durability durability = choice(p, "durability", Durability.class, null);
        Replication replication = choice(p, "replication", Replication.class, Replication.SYNC);
        Reads reads = choice(p, "reads", Reads.class, Reads.LEADER);
        mode = new Mode(durability, replication, reads);
        checkCombination(mode);
        flushInterval = number(p, "flush.interval", 10, 0, 60_000) * MILLI;
        flushBytes = number(p, "flush.bytes", 1L << 20, 1, 1L << 40);
        linger = number(p, "linger.ms", 1, 0, 1_000) * MILLI;
        windowTxns = number(p, "window.txns", 100_000, 1, Integer.MAX_VALUE);
        windowBytes = number(p, "window.bytes", 64L << 20, 1, 1L << 40);
        windowAge = number(p, "window.ms", 2_000, 1, 3_600_000) * MILLI;
        durableAcks = kinds(p, durability);
        immediatePaths = paths(p);
        syncPersists = bool(p, "sync.persists", true);
        holdTime = number(p, "hold.ms", 0, 0, 3_600_000) * MILLI;
        holdBytes = number(p, "hold.bytes", 64L << 20, 1024, 1L << 40);
        observersRefuse = word(p, "observer.reads", "sync", "sync", "refuse").equals("refuse");
        writeStatDurable = word(p, "write.stat", "ack", "ack", "durable").equals("durable");
        dirtyMax = (int) number(p, "dirty.max", 1_000_000, 16, 100_000_000);
        diskReserve = number(p, "disk.reserve", 64L << 20, 0, 1L << 50);
        drain = number(p, "drain", 10_000, 0, 3_600_000) * MILLI;
        strict = bool(p, "strict", false);
        noLeaseWait = number(p, "nolease.wait", 200, 0, 3_600_000) * MILLI;
        stuck = number(p, "stuck", 5_000, 1, 3_600_000) * MILLI;
        try {
            leases = leases(p);
            leases.checkWindow(windowAge);
            activeSet = activeSet(p, leases);
        } catch (SettingException e) {
            throw e;
        } catch (IllegalArgumentException e) {
            throw new SettingException(e);
        }
    }

    /** Throws IllegalArgumentException, in the form of a refused setting, if the times contradict each other. */
    private static LeaseSettings leases(Properties p) {
        int drift = drift(p);
        long heartbeat = time(p, "heartbeat", LeaseSettings.lan().heartbeat());
        long lease = time(p, "lease", LeaseSettings.lan().readLease());
        long leaderLease = time(p, "leader.lease", LeaseSettings.lan().leaderLease());
        long removal = time(p, "removal", LeaseSettings.defaultRemoval(lease, drift));
        long promise = time(p, "promise", LeaseSettings.defaultPromise(lease, leaderLease, drift));
        return new LeaseSettings(heartbeat, lease, removal, leaderLease, promise, drift);
    }

    private static long time(Properties p, String key, long fallback) {
        return number(p, key, fallback / MILLI, 1, LeaseSettings.MAX_NANOS / MILLI) * MILLI;
    }

    /** In parts per million. */
    private static int drift(Properties p) {
        String value = get(p, "clock.drift");
        if (value == null) {
            return LeaseSettings.lan().driftPpm();
        }
        try {
            return new BigDecimal(value).movePointRight(6).intValueExact();
        } catch (NumberFormatException | ArithmeticException e) {
            throw new SettingException("cad.clock.drift", "'" + value + "' is not a fraction with up to six digits",
                "use a number from 0 to 0.5, for example 0.10");
        }
    }

    private static ActiveSetRules activeSet(Properties p, LeaseSettings leases) {
        ActiveSetRules everybody = ActiveSetRules.everybody(leases);
        int max = (int) number(p, "active.set.max", Integer.MAX_VALUE, 1, Integer.MAX_VALUE);
        return everybody.within(max, servers(get(p, "active.set.servers")));
    }

    private static List<Long> servers(String value) {
        List<Long> servers = new ArrayList<>();
        if (value != null && !value.isEmpty()) {
            for (String word : value.split(",")) {
                try {
                    servers.add(Long.parseLong(word.trim()));
                } catch (NumberFormatException e) {
                    throw new SettingException("cad.active.set.servers", "'" + word.trim() + "' is not a server id",
                        "list the numbers of server.N lines, the preferred first, separated by commas");
                }
            }
        }
        return servers;
    }

    /**
     * Reads the settings.
     *
     * @return null if no {@code cad.*} setting is present: the server is the stock one
     * @throws SettingException a setting or a combination cannot be honoured
     */
    public static CadConfig from(Properties properties) {
        for (String name : properties.stringPropertyNames()) {
            if (name.startsWith(PREFIX)) {
                return new CadConfig(properties);
            }
        }
        return null;
    }

    /** Combinations that would promise nothing are refused, never weakened (promise G6). */
    static void checkCombination(Mode mode) {
        if (mode.durability == Durability.IMMEDIATE && mode.replication == Replication.ASYNC) {
            throw new SettingException("cad.replication=async",
                "with cad.durability=immediate a write waits for a quorum anyway",
                "use cad.replication=sync, or cad.durability=eventual or cad");
        }
        if (mode.durability == Durability.EVENTUAL && mode.reads == Reads.ACTIVE_SET) {
            throw new SettingException("cad.reads=active-set",
                "with cad.durability=eventual a lease promises nothing",
                "use cad.durability=cad, or cad.reads=leader or any");
        }
        if (mode.durability == Durability.CAD && mode.reads == Reads.ANY) {
            throw new SettingException("cad.reads=any",
                "with cad.durability=cad unchecked replicas could go back in time",
                "use cad.reads=leader, or cad.durability=eventual");
        }
    }

    private static Set<Kind> kinds(Properties p, Durability durability) {
        String value = get(p, "durable.acks");
        if (value == null) {
            return durability == Durability.CAD ? EnumSet.allOf(Kind.class) : EnumSet.noneOf(Kind.class);
        }
        Set<Kind> kinds = EnumSet.noneOf(Kind.class);
        if (value.equals("none")) {
            return kinds;
        }
        for (String word : value.split(",")) {
            try {
                kinds.add(Kind.valueOf(word.trim().toUpperCase(Locale.ROOT)));
            } catch (IllegalArgumentException e) {
                throw new SettingException("cad.durable.acks", "'" + word.trim() + "' is not a kind of write",
                    "list any of session, ephemeral, sequential, container, ttl, or none");
            }
        }
        return kinds;
    }

    private static List<String> paths(Properties p) {
        String value = get(p, "immediate.paths");
        if (value == null || value.isEmpty()) {
            return Collections.emptyList();
        }
        Set<String> paths = new LinkedHashSet<>();
        for (String word : value.split(",")) {
            String path = word.trim();
            if (!path.startsWith("/") || (path.length() > 1 && path.endsWith("/"))) {
                throw new SettingException("cad.immediate.paths", "'" + path + "' is not a path",
                    "list absolute paths without a trailing slash, separated by commas");
            }
            paths.add(path);
        }
        return List.copyOf(paths);
    }

    private static String get(Properties p, String key) {
        String value = p.getProperty(PREFIX + key);
        return value == null ? null : value.trim();
    }

    private static <E extends Enum<E>> E choice(Properties p, String key, Class<E> type, E fallback) {
        String value = get(p, key);
        if (value == null) {
            return fallback;
        }
        StringBuilder known = new StringBuilder();
        for (E constant : type.getEnumConstants()) {
            if (Mode.name(constant).equals(value)) {
                return constant;
            }
            known.append(known.length() == 0 ? "" : ", ").append(Mode.name(constant));
        }
        throw new SettingException("cad." + key, "'" + value + "' is not a value of it", "use one of " + known);
    }

    private static String word(Properties p, String key, String fallback, String... known) {
        String value = get(p, key);
        if (value == null) {
            return fallback;
        }
        if (!Arrays.asList(known).contains(value)) {
            throw new SettingException("cad." + key, "'" + value + "' is not a value of it",
                "use one of " + String.join(", ", known));
        }
        return value;
    }

    private static boolean bool(Properties p, String key, boolean fallback) {
        return Boolean.parseBoolean(word(p, key, Boolean.toString(fallback), "true", "false"));
    }

    private static long number(Properties p, String key, long fallback, long min, long max) {
        String value = get(p, key);
        if (value == null) {
            return fallback;
        }
        try {
            long number = Long.parseLong(value);
            if (number >= min && number <= max) {
                return number;
            }
        } catch (NumberFormatException e) {
            // answered below
        }
        throw new SettingException("cad." + key, "'" + value + "' is not a number in its range",
            "use a whole number from " + min + " to " + max);
    }
}

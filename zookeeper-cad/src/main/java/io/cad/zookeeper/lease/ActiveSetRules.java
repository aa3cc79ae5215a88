// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.lease;

import java.util.List;

/** What an operator may say about the active set. Times in nanoseconds. */
public final class ActiveSetRules {
    private static final long MILLI = 1_000_000;

    final int max;
    final List<Long> servers;
    final long slowAfter;
    final long readmitAfter;

    /**
     * @param max members at most, the leader included ({@code cad.active.set.max})
     * @param servers who may be one beside the leader, the preferred first; empty: everybody
     *     ({@code cad.active.set.servers})
     * @param slowAfter a member that needs longer to apply what the others have is told to leave
     * @param readmitAfter how long it then has to keep up before it comes back
     */
    public ActiveSetRules(int max, List<Long> servers, long slowAfter, long readmitAfter) {
        if (max < 1) {
            throw new IllegalArgumentException("cad.active.set.max: " + max
                    + " leaves no place for the leader; set it to 1 or more");
        }
        if (servers.stream().distinct().count() != servers.size()) {
            throw new IllegalArgumentException("cad.active.set.servers: a server stands in " + servers
                    + " twice; list each one once");
        }
        if (slowAfter <= 0 || readmitAfter < 0) {
            throw new IllegalArgumentException("slow after " + slowAfter + " ns, readmitted after " + readmitAfter
                    + " ns: these are no times");
        }
        this.max = max;
        this.servers = List.copyOf(servers);
        this.slowAfter = slowAfter;
        this.readmitAfter = readmitAfter;
    }

    /** Everybody may be a member. Slow after 500 ms, never sooner than ten heartbeats; back after ten times that. */
    public static ActiveSetRules everybody(LeaseSettings settings) {
        long slow = Math.max(500 * MILLI, 10 * settings.heartbeat());
        return new ActiveSetRules(Integer.MAX_VALUE, List.of(), slow, 10 * slow);
    }

    /** The same times with other bounds. */
    public ActiveSetRules within(int newMax, List<Long> newServers) {
        return new ActiveSetRules(newMax, newServers, slowAfter, readmitAfter);
    }

    /** The leader alone. */
    public ActiveSetRules leaderOnly() {
        return within(1, List.of());
    }

    boolean allows(long server) {
        return servers.isEmpty() || servers.contains(server);
    }

    /** The lower the dearer. */
    int rank(long server) {
        return servers.isEmpty() ? 0 : servers.indexOf(server);
    }
}

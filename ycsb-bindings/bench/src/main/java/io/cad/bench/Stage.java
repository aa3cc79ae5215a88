// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import java.util.Locale;

/**
 * Where the systems of a comparison run, and where their clients sit.
 *
 * @param servers voters of each system
 * @param quota processors that each server gets of the machine's; 0 for all of them. On few cores only this shows what
 *     several servers can do that one cannot
 */
record Stage(int servers, Clients clients, double quota) {

    /** Which servers the clients talk to. */
    enum Clients {
        AT_LEADER("at the leader"),
        /** At every server that answers reads. */
        EVERYWHERE("at all servers that answer reads"),
        /** For a denominator that has only one such server: its followers would have to ask first. */
        EVERYWHERE_OVER_LEADER("at all servers over the same at the leader");

        private final String words;

        Clients(String words) {
            this.words = words;
        }
    }

    /** With five servers of each system two cores compare little but their own load. */
    static final int SERVERS = 3;
    /** Clients at the leader, and servers that may use the whole machine. */
    static final Stage AT_LEADER = new Stage(SERVERS, Clients.AT_LEADER, 0);

    boolean hasQuota() {
        return quota > 0;
    }

    /** Whether each server needs a host of its own, which only some users may make. */
    boolean onHosts() {
        return clients != Clients.AT_LEADER || hasQuota();
    }

    /** Whether the clients of one side are spread. */
    boolean isSpread(boolean denominator) {
        return switch (clients) {
            case AT_LEADER -> false;
            case EVERYWHERE -> true;
            case EVERYWHERE_OVER_LEADER -> !denominator;
        };
    }

    Stage with(int newServers) {
        return new Stage(newServers, clients, quota);
    }

    /** End of a cell's name; empty on the usual stage, whose number of servers stands in the raw data. */
    String suffix() {
        return !onHosts() ? "" : String.format(Locale.ROOT, ".s%d.%s.q%s", servers,
                clients.name().toLowerCase(Locale.ROOT).replace('_', '-'), quota);
    }

    String describe() {
        return clients.words + ", " + servers + " servers"
                + (hasQuota() ? String.format(Locale.ROOT, " with %.2f cores each", quota) : "");
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.ServerProcess;
import java.util.List;
import java.util.Locale;

/** How a server fails, and how it comes back. */
enum Fault {
    LEADER_KILL(true, false),
    LEADER_POWER_LOSS(true, true),
    LEADER_PARTITION(true, true),
    LEADER_PAUSE(true, false),
    FOLLOWER_KILL(false, false),
    FOLLOWER_POWER_LOSS(false, true);

    private final boolean atLeader;
    private final boolean silent;

    Fault(boolean atLeader, boolean silent) {
        this.atLeader = atLeader;
        this.silent = silent;
    }

    boolean atLeader() {
        return atLeader;
    }

    /** Whether it takes a network of the server's own for nobody to be told. */
    boolean needsHosts() {
        return silent;
    }

    /** Whether the server has to start again. */
    boolean endsProcess() {
        return this != LEADER_PARTITION && this != LEADER_PAUSE;
    }

    String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** Returns when the server answers nobody any more. */
    void strike(Deployment system, ServerProcess victim) throws Exception {
        switch (this) {
            case LEADER_KILL, FOLLOWER_KILL -> system.ensemble().kill(List.of(victim));
            case LEADER_POWER_LOSS, FOLLOWER_POWER_LOSS -> system.ensemble().powerLoss(List.of(victim));
            case LEADER_PARTITION -> system.hosts().isolate(victim.id());
            case LEADER_PAUSE -> victim.pause();
        }
    }

    /** Lets the server come back, and does not wait for it. */
    void undo(Deployment system, ServerProcess victim) throws Exception {
        switch (this) {
            case LEADER_KILL, FOLLOWER_KILL, LEADER_POWER_LOSS, FOLLOWER_POWER_LOSS -> victim.start();
            case LEADER_PARTITION -> system.hosts().heal();
            case LEADER_PAUSE -> victim.resume();
        }
    }
}

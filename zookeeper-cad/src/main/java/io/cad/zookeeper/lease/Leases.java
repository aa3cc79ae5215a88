// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.lease;

/** Makes the objects of the leases. Tests override single methods to make wrong ones. */
public class Leases {
    public Promise promise(LeaseSettings settings, long promised, long recorded, long now, Promise.Actions out) {
        return new Promise(settings, promised, recorded, now, out);
    }

    public ReadLease readLease(long process, LeaseSettings settings, Promise promise, long now, long wall,
            ReadLease.Actions out) {
        return new ReadLease(process, settings, promise, now, wall, out);
    }

    public LeaderLease leaderLease(long epoch, long self, LeaseSettings settings, Promise promise, StuckLeader stuck,
            long now, long wall, LeaderLease.Actions out) {
        return new LeaderLease(epoch, self, settings, promise, stuck, now, wall, out);
    }

    public StuckLeader stuckLeader(long timeout) {
        return new StuckLeader(timeout);
    }

    public ActiveSet activeSet(long epoch, LeaseSettings settings, ActiveSetRules rules, LeaderLease lease,
            Promise promise, ActiveSet.History history, ActiveSet.Actions out) {
        return new ActiveSet(epoch, settings, rules, lease, promise, history, out);
    }
}

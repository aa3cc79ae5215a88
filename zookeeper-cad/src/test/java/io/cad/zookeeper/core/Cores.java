// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import io.cad.zookeeper.index.DirtyIndex;
import io.cad.zookeeper.lease.Leases;

/** Makes the objects that vectors and the simulation drive: the real ones. A wrong variant overrides one method. */
public class Cores {
    public LeaderCore leader(long epoch, long self, long timeout, LeaderCore.Actions out) {
        return new LeaderCore(epoch, self, timeout, out);
    }

    public FollowerCore follower(long epoch, long timeout, FollowerCore.Actions out) {
        return new FollowerCore(epoch, timeout, out);
    }

    public ReplyQueue<String> replies() {
        return new ReplyQueue<>();
    }

    public Window window(long txns, long bytes, long age) {
        return new Window(txns, bytes, age);
    }

    public DirtyIndex dirty(int max, long barrier) {
        return new DirtyIndex(max, barrier);
    }

    public Leases leases() {
        return new Leases();
    }
}

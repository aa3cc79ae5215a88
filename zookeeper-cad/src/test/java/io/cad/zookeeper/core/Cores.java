// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import io.cad.zookeeper.index.DirtyIndex;
import io.cad.zookeeper.lease.Leases;

/** Makes the objects that vectors drive: the real ones. A wrong variant overrides one method. */
class Cores {
    LeaderCore leader(long epoch, long self, long timeout, LeaderCore.Actions out) {
        return new LeaderCore(epoch, self, timeout, out);
    }

    FollowerCore follower(long epoch, long timeout, FollowerCore.Actions out) {
        return new FollowerCore(epoch, timeout, out);
    }

    ReplyQueue<String> replies() {
        return new ReplyQueue<>();
    }

    Window window(long txns, long bytes, long age) {
        return new Window(txns, bytes, age);
    }

    DirtyIndex dirty(int max, long barrier) {
        return new DirtyIndex(max, barrier);
    }

    Leases leases() {
        return new Leases();
    }
}

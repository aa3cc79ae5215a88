// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.role;

/** A leader in office whose lease is over: its heartbeats have ended, as if nobody answered them. */
public final class LostLease {
    private LostLease() {
    }

    public static void at(LeaderRole leader) {
        leader.leases.end();
    }
}

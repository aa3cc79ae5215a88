// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.node;

/** The clocks of one machine, in nanoseconds: the monotonic one, and the wall clock that goes on while it sleeps. */
public interface Clock {
    /** Receives one reading of both clocks. */
    interface Use {
        void at(long now, long wall);
    }

    /** A lease of either kind. */
    interface Lease {
        boolean holds(long now, long wall);
    }

    /** The monotonic clock. */
    long now();

    /** Both clocks at the same moment. */
    void read(Use use);

    /** On the path of every read: the caller keeps its lease in a field, so that nothing is allocated. */
    boolean holds(Lease lease);
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.durability;

/** What this server knows of the durable index, within one role and epoch. */
public interface Durability {

    /** D(s): persisted by a quorum and applied by every server that may answer reads. */
    long durable();

    /** Something with this index is to be read or acknowledged durably: make it durable at once. */
    void need(long index);
}

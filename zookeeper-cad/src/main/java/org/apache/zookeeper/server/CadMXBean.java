// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server;

/** What JMX clients see of a role. Indices are written epoch:counter. */
public interface CadMXBean {

    /** Durability, replication and reads of this epoch. */
    String getMode();

    /** D as this server knows it. */
    String getDurableIndex();

    String getAppliedIndex();

    /** Changes applied here above D. */
    long getDurableLagTxns();

    /** Age of the oldest of them, ms. */
    long getDurableLagMillis();

    long getUndurableBytes();

    long getRepliesHeld();

    long getBytesHeld();
}

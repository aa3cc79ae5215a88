// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.history;

/**
 * One operation of one client on one key, as the client saw it.
 *
 * @param invokedNanos System.nanoTime() before the call; comparable within one history only
 * @param completedNanos System.nanoTime() after the call
 * @param server id of the server that the client was connected to
 * @param value identity of the value written or read; {@link #NO_VALUE} when a read found no node
 * @param version data version of the node after the write, or as read; -1 when unknown
 * @param mzxid zxid of the last update of the node's data; 0 when a read found no node, -1 when unknown
 * @param error null when the operation succeeded, else ZooKeeper's name of the error
 */
public record Op(
        Kind kind,
        int client,
        int server,
        String key,
        long invokedNanos,
        long completedNanos,
        long value,
        int version,
        long mzxid,
        String error) {

    /** Value of a read that found no node. */
    public static final long NO_VALUE = -1;

    /** What an operation does. */
    public enum Kind { READ, WRITE }

    public boolean ok() {
        return error == null;
    }

    public long latencyNanos() {
        return completedNanos - invokedNanos;
    }
}

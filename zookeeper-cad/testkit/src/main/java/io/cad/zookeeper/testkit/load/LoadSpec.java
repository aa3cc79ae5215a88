// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.load;

/**
 * A closed-loop load of reads and overwrites on a fixed set of nodes.
 *
 * @param clients sessions, each with one operation in flight
 * @param keys number of nodes
 * @param valueBytes size of each value, at least 8
 * @param zipfian exponent of the key popularity, 0 for uniform
 * @param readShare share of reads among the operations, 0 to 1
 * @param freshShare share of the reads that ask for a node which some client wrote a moment ago, 0 to 1
 * @param seed decides keys, kinds and values of every client; the interleaving is the machine's
 */
public record LoadSpec(
        int clients, int keys, int valueBytes, double zipfian, double readShare, double freshShare, long seed) {

    /** Values start with their identity. */
    static final int MIN_VALUE_BYTES = Long.BYTES;

    public LoadSpec {
        require(clients >= 1, "clients must be at least 1", clients);
        require(keys >= 1, "keys must be at least 1", keys);
        require(valueBytes >= MIN_VALUE_BYTES, "valueBytes must be at least " + MIN_VALUE_BYTES, valueBytes);
        require(zipfian >= 0, "zipfian must not be negative", zipfian);
        require(readShare >= 0 && readShare <= 1, "readShare must be between 0 and 1", readShare);
        require(freshShare >= 0 && freshShare <= 1, "freshShare must be between 0 and 1", freshShare);
    }

    private static void require(boolean holds, String rule, Object value) {
        if (!holds) {
            throw new IllegalArgumentException(rule + ", not " + value);
        }
    }
}

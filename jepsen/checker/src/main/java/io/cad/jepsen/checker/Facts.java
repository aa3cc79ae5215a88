// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

/**
 * What one operation states about its item.
 *
 * @param payload null: absent, or not stated
 * @param version indexed style: the update that was read or made; null if unknown
 * @param number indexed style: the version number of the item, 0 when created; chain style: the depth; -1 if unknown
 * @param created indexed style: the update that created the item, so its incarnation; null if unknown
 * @param header indexed style: the last index of the server that answered; null if unknown
 * @param uid chain style: the name of the update; null if none
 * @param previous chain style: the name of the update before it; null at the root, or if unknown
 * @param knowsPrevious chain style: whether {@code previous} was stated
 * @param present whether the item exists in the state
 */
public record Facts(boolean present, Object payload, Index version, long number, Index created, Index header,
        Object uid, Object previous, boolean knowsPrevious) {
    /** Nothing is known. */
    public static final Facts NONE = new Facts(false, null, null, -1, null, null, null, null, false);

    /** Indexed style: the item exists. */
    public static Facts present(Object payload, Index version, long number, Index created) {
        return new Facts(true, payload, version, number, created, null, null, null, false);
    }

    /** Indexed style: the item does not exist; the index is that of its deletion, or null. */
    public static Facts absent(Index version) {
        return new Facts(false, null, version, -1, null, null, null, null, false);
    }

    /** What a write is about to put there. */
    public static Facts written(Object payload) {
        return new Facts(true, payload, null, -1, null, null, null, null, false);
    }

    /** Chain style: one update and the one before it, null at the root. */
    public static Facts link(Object payload, Object uid, Object previous, long depth) {
        return new Facts(true, payload, null, depth, null, null, uid, previous, true);
    }
}

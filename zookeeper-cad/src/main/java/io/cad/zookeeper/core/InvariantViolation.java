// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

/**
 * The server is about to break a promise of the protocol: it must stop instead. The checks are on in production.
 *
 * <p>An Error, not an exception: ZooKeeper's selector threads log and ignore every RuntimeException.
 */
public final class InvariantViolation extends Error {
    private static final long serialVersionUID = 1;

    private final String invariant;

    /**
     * @param invariant its name in the specification, for example {@code DurableIndexMonotonic}
     * @param values what was found
     */
    public InvariantViolation(String invariant, String values) {
        super(invariant + " is violated: " + values);
        this.invariant = invariant;
    }

    public String invariant() {
        return invariant;
    }
}

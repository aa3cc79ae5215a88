// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.client;

/**
 * Nobody can tell any more whether writes of this client are durable: the connection on which the servers would have
 * said so is gone. The writes may be in effect, now and after the next crash, or may be lost. Read before deciding: a
 * value that a server with {@code cad.durability=cad} or {@code immediate} returns is durable.
 */
public final class DurabilityUnknownException extends Exception {
    private static final long serialVersionUID = 1L;

    DurabilityUnknownException(String message, Throwable cause) {
        super(message, cause);
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.lease;

/**
 * Names one answer of a follower to a heartbeat. It says nothing about time: when the answer was sent stands in the
 * table of the follower alone.
 */
public final class Ticket {
    private final long process;
    private final long connection;
    private final long number;

    /**
     * @param process which process of that server
     * @param connection on which connection
     * @param number counts the answers of the process
     */
    public Ticket(long process, long connection, long number) {
        this.process = process;
        this.connection = connection;
        this.number = number;
    }

    public long process() {
        return process;
    }

    public long connection() {
        return connection;
    }

    public long number() {
        return number;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Ticket && ((Ticket) other).process == process
                && ((Ticket) other).connection == connection && ((Ticket) other).number == number;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(process * 31 * 31 + connection * 31 + number);
    }

    @Override
    public String toString() {
        return process + "/" + connection + "/" + number;
    }
}

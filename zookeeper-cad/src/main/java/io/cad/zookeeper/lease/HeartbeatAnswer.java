// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.lease;

import io.cad.zookeeper.core.Indices;

/** What a follower answers: a promise, a ticket, and how far it is. */
public final class HeartbeatAnswer {
    /** The only role so far: stores log and state. */
    public static final int ROLE_FULL = 0;

    static final int VERSION = 1;

    private static final int POSITION = 1; // epoch, connection, number
    private static final int TICKET = 2; // process, connection, number
    private static final int REPORT = 3; // persisted, applied
    private static final int LEFT = 4;
    private static final int SENDER = 5; // role, incarnation

    private final long epoch;
    private final long connection;
    private final long number;
    private final Ticket ticket;
    private final long persisted;
    private final long applied;
    private final long left;
    private final int role;
    private final long incarnation;

    /**
     * @param epoch of the heartbeat answered, and so are connection and number
     * @param ticket names this answer
     * @param persisted how far the log is, {@link Indices#NONE} while the epoch is not recorded
     * @param applied how far reads see it, {@link Indices#NONE} while the epoch is not recorded
     * @param left the request to leave for which this server has marked itself out, or {@link Heartbeat#NO_LEAVE}
     * @param role what the server stores
     * @param incarnation which process of the server this is; a later one has a higher number
     */
    public HeartbeatAnswer(long epoch, long connection, long number, Ticket ticket, long persisted, long applied,
            long left, int role, long incarnation) {
        this.epoch = epoch;
        this.connection = connection;
        this.number = number;
        this.ticket = ticket;
        this.persisted = persisted;
        this.applied = applied;
        this.left = left;
        this.role = role;
        this.incarnation = incarnation;
    }

    public byte[] encode() {
        Fields fields = new Fields(VERSION).put(POSITION, epoch, connection, number)
                .put(TICKET, ticket.process(), ticket.connection(), ticket.number()).put(REPORT, persisted, applied)
                .put(SENDER, role, incarnation);
        if (left != Heartbeat.NO_LEAVE) {
            fields.put(LEFT, left);
        }
        return fields.encode();
    }

    /** Throws IllegalArgumentException if the bytes are no answer, of this version or a later one. */
    public static HeartbeatAnswer decode(byte[] bytes) {
        Fields fields = Fields.decode(bytes);
        long[] position = fields.numbers(POSITION, 3);
        long[] ticket = fields.numbers(TICKET, 3);
        long[] report = fields.numbers(REPORT, 2);
        long[] sender = fields.numbers(SENDER, 2);
        return new HeartbeatAnswer(position[0], position[1], position[2],
                new Ticket(ticket[0], ticket[1], ticket[2]), report[0], report[1],
                fields.number(LEFT, Heartbeat.NO_LEAVE), (int) sender[0], sender[1]);
    }

    public long epoch() {
        return epoch;
    }

    public long connection() {
        return connection;
    }

    public long number() {
        return number;
    }

    public Ticket ticket() {
        return ticket;
    }

    public long persisted() {
        return persisted;
    }

    public long applied() {
        return applied;
    }

    public long left() {
        return left;
    }

    public int role() {
        return role;
    }

    public long incarnation() {
        return incarnation;
    }
}

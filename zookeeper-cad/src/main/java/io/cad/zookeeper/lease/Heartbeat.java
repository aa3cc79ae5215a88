// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.lease;

import io.cad.zookeeper.core.Indices;

/** What the leader tells one follower once per heartbeat interval. */
public final class Heartbeat {
    /** No request to leave the active set. */
    public static final long NO_LEAVE = 0;

    static final int VERSION = 1;

    private static final int POSITION = 1; // epoch, connection, number
    private static final int DURABLE = 2;
    private static final int TIMES = 3; // read lease, promise, drift
    private static final int ECHO = 4; // process, connection, number
    private static final int LEAVE = 5;

    private final long epoch;
    private final long connection;
    private final long number;
    private final long durable;
    private final long readLease;
    private final long promise;
    private final int driftPpm;
    private final Ticket echo;
    private final long leave;

    /**
     * @param epoch the leader's
     * @param connection the registration that it belongs to
     * @param number counts the heartbeats of the epoch
     * @param durable the durable index, {@link Indices#NONE} before the epoch is established
     * @param readLease the leader's mt, nanoseconds
     * @param promise the leader's Lp, nanoseconds
     * @param driftPpm the leader's rho
     * @param echo the newest ticket, or null
     * @param leave the number of a request to leave the active set, or {@link #NO_LEAVE}
     */
    public Heartbeat(long epoch, long connection, long number, long durable, long readLease, long promise, int driftPpm,
            Ticket echo, long leave) {
        this.epoch = epoch;
        this.connection = connection;
        this.number = number;
        this.durable = durable;
        this.readLease = readLease;
        this.promise = promise;
        this.driftPpm = driftPpm;
        this.echo = echo;
        this.leave = leave;
    }

    public byte[] encode() {
        Fields fields = new Fields(VERSION).put(POSITION, epoch, connection, number).put(DURABLE, durable)
                .put(TIMES, readLease, promise, driftPpm);
        if (echo != null) {
            fields.put(ECHO, echo.process(), echo.connection(), echo.number());
        }
        if (leave != NO_LEAVE) {
            fields.put(LEAVE, leave);
        }
        return fields.encode();
    }

    /** Throws IllegalArgumentException if the bytes are no heartbeat, of this version or a later one. */
    public static Heartbeat decode(byte[] bytes) {
        Fields fields = Fields.decode(bytes);
        long[] position = fields.numbers(POSITION, 3);
        long[] times = fields.numbers(TIMES, 3);
        if (!isTime(times[0]) || !isTime(times[1]) || times[2] < 0 || times[2] > LeaseSettings.MAX_DRIFT_PPM) {
            throw Fields.malformed("lease " + times[0] + ", promise " + times[1] + ", drift " + times[2]);
        }
        long[] echo = fields.has(ECHO) ? fields.numbers(ECHO, 3) : null;
        return new Heartbeat(position[0], position[1], position[2], fields.number(DURABLE, Indices.NONE), times[0],
                times[1], (int) times[2], echo == null ? null : new Ticket(echo[0], echo[1], echo[2]),
                fields.number(LEAVE, NO_LEAVE));
    }

    private static boolean isTime(long nanos) {
        return nanos > 0 && nanos <= LeaseSettings.MAX_NANOS;
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

    public long durable() {
        return durable;
    }

    public long readLease() {
        return readLease;
    }

    public long promise() {
        return promise;
    }

    public int driftPpm() {
        return driftPpm;
    }

    /** Null if there is none. */
    public Ticket echo() {
        return echo;
    }

    public long leave() {
        return leave;
    }
}

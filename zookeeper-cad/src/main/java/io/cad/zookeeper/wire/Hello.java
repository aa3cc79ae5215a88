// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.wire;

import io.cad.zookeeper.config.Mode;
import io.cad.zookeeper.node.History;
import java.nio.ByteBuffer;

/**
 * What a capable peer appends to the handshake, behind the bytes that stock
 * peers read. A record of fields, each type, length, value: a newer version
 * may add fields and lengthen known ones, an older one skips what it does not
 * know.
 */
public final class Hello {

    /** Length of upstream's LearnerInfo, after which a learner's record begins. */
    public static final int LEARNER_INFO_LENGTH = 20;
    /** Length of upstream's protocol version in LEADERINFO, after which the leader's record begins. */
    public static final int LEADER_INFO_LENGTH = 4;

    /** A peer without leases says nothing of itself. */
    public static final long NONE = -1;

    private static final int MAGIC = 0x43414448; // CADH
    private static final int VERSION = 1;
    private static final int MAX_FIELDS = 128;

    private static final short FIELD_MODE = 1;
    private static final short FIELD_ROLE = 2;
    private static final short FIELD_SENDER = 3;
    private static final short FIELD_CONNECTION = 4;
    private static final short FIELD_HISTORY = 5;

    /** The only role a data node can have so far: it stores log and state. */
    private static final byte ROLE_FULL = 0;

    public final int version;
    /** The sender's mode: configured by a learner, dictated by a leader. */
    public final Mode mode;
    /** Which process of the learner's server this is, or {@link #NONE}. */
    public final long incarnation;
    /** Which connection of that process this is, or {@link #NONE}. */
    public final long attempt;
    /** The number that the leader gave to the connection, or {@link #NONE}. */
    public final long connection;
    /** The leader's; null if it does not say. */
    public final History history;

    private Hello(int version, Mode mode, long incarnation, long attempt, long connection, History history) {
        this.version = version;
        this.mode = mode;
        this.incarnation = incarnation;
        this.attempt = attempt;
        this.connection = connection;
        this.history = history;
    }

    /** A learner's. */
    public static Hello ofLearner(Mode mode, long incarnation, long attempt) {
        return new Hello(VERSION, mode, incarnation, attempt, NONE, null);
    }

    /** A leader's. */
    public static Hello ofLeader(Mode mode, long connection, History history) {
        return new Hello(VERSION, mode, NONE, NONE, connection, history);
    }

    /** Whether the sender takes part in leases. */
    public boolean hasLeases() {
        return incarnation != NONE || connection != NONE;
    }

    /** Appends the record to a packet's data. */
    public byte[] appendTo(byte[] data) {
        ByteBuffer fields = ByteBuffer.allocate(MAX_FIELDS);
        fields.putShort(FIELD_MODE).putShort((short) 3)
            .put((byte) mode.durability.ordinal())
            .put((byte) mode.replication.ordinal())
            .put((byte) mode.reads.ordinal());
        fields.putShort(FIELD_ROLE).putShort((short) 1).put(ROLE_FULL);
        if (incarnation != NONE) {
            fields.putShort(FIELD_SENDER).putShort((short) 16).putLong(incarnation).putLong(attempt);
        }
        if (connection != NONE) {
            fields.putShort(FIELD_CONNECTION).putShort((short) 8).putLong(connection);
        }
        if (history != null) {
            fields.putShort(FIELD_HISTORY).putShort((short) 16).putLong(history.epoch).putLong(history.last);
        }
        fields.flip();
        return Tail.append(data, MAGIC, version, fields);
    }

    /**
     * Reads the record behind the stock part.
     *
     * @param stockLength bytes that stock peers understand
     * @return null if the peer is a stock one
     */
    public static Hello read(byte[] data, int stockLength) {
        Reading in = new Reading();
        int version = Tail.read(data, stockLength, MAGIC, in);
        return in.mode == null ? null
            : new Hello(version, in.mode, in.incarnation, in.attempt, in.connection, in.history);
    }

    private static final class Reading implements Tail.Fields {
        Mode mode;
        long incarnation = NONE;
        long attempt = NONE;
        long connection = NONE;
        History history;

        @Override
        public void field(short type, ByteBuffer value) {
            switch (type) {
            case FIELD_MODE:
                mode = new Mode(
                    Mode.Durability.values()[value.get()],
                    Mode.Replication.values()[value.get()],
                    Mode.Reads.values()[value.get()]);
                break;
            case FIELD_SENDER:
                incarnation = value.getLong();
                attempt = value.getLong();
                break;
            case FIELD_CONNECTION:
                connection = value.getLong();
                break;
            case FIELD_HISTORY:
                history = new History(value.getLong(), value.getLong());
                break;
            default:
                break;
            }
        }
    }
}

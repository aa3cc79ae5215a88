// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.wire;

import io.cad.zookeeper.config.Mode;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * What a capable peer appends to the handshake, behind the bytes that stock
 * peers read. A record of fields, each type, length, value: a newer version
 * may add fields, an older one skips what it does not know.
 */
public final class Hello {

    /** Length of upstream's LearnerInfo, after which a learner's record begins. */
    public static final int LEARNER_INFO_LENGTH = 20;
    /** Length of upstream's protocol version in LEADERINFO, after which the leader's record begins. */
    public static final int LEADER_INFO_LENGTH = 4;

    private static final int MAGIC = 0x43414448; // CADH
    private static final int VERSION = 1;
    private static final int FULL_STATE = 0x43414446; // CADF

    private static final short FIELD_MODE = 1;
    private static final short FIELD_ROLE = 2;

    /** The only role a data node can have so far: it stores log and state. */
    private static final byte ROLE_FULL = 0;

    public final int version;
    /** The sender's mode: configured by a learner, dictated by a leader. */
    public final Mode mode;

    public Hello(Mode mode) {
        this(VERSION, mode);
    }

    private Hello(int version, Mode mode) {
        this.version = version;
        this.mode = mode;
    }

    /** Appends to ACKEPOCH that this learner's log cannot be cut and that it needs the leader's whole state. */
    public static byte[] appendFullState(byte[] data) {
        return ByteBuffer.allocate(data.length + 4).put(data).putInt(FULL_STATE).array();
    }

    /** Whether an ACKEPOCH asks for the whole state. */
    public static boolean asksFullState(byte[] data) {
        return data != null && data.length >= 8 && ByteBuffer.wrap(data).getInt(4) == FULL_STATE;
    }

    /** Appends the record to a packet's data. */
    public byte[] appendTo(byte[] data) {
        ByteBuffer fields = ByteBuffer.allocate(64);
        fields.putShort(FIELD_MODE).putShort((short) 3)
            .put((byte) mode.durability.ordinal())
            .put((byte) mode.replication.ordinal())
            .put((byte) mode.reads.ordinal());
        fields.putShort(FIELD_ROLE).putShort((short) 1).put(ROLE_FULL);
        fields.flip();
        ByteBuffer all = ByteBuffer.allocate(data.length + 12 + fields.remaining());
        all.put(data).putInt(MAGIC).putInt(version).putInt(fields.remaining()).put(fields);
        return all.array();
    }

    /**
     * Reads the record behind the stock part.
     *
     * @param stockLength bytes that stock peers understand
     * @return null if the peer is a stock one
     */
    public static Hello read(byte[] data, int stockLength) {
        if (data == null || data.length < stockLength + 12) {
            return null;
        }
        ByteBuffer in = ByteBuffer.wrap(data, stockLength, data.length - stockLength);
        if (in.getInt() != MAGIC) {
            return null;
        }
        int version = in.getInt();
        int length = in.getInt();
        if (length < 0 || length > in.remaining()) {
            return null;
        }
        in.limit(in.position() + length);
        Mode mode = null;
        try {
            while (in.remaining() >= 4) {
                short type = in.getShort();
                int size = in.getShort() & 0xffff;
                ByteBuffer value = in.slice();
                value.limit(size);
                in.position(in.position() + size);
                if (type == FIELD_MODE) {
                    mode = readMode(value);
                }
            }
        } catch (BufferUnderflowException | IllegalArgumentException | ArrayIndexOutOfBoundsException e) {
            throw new IllegalArgumentException("A peer's CAD record cannot be read: " + Arrays.toString(data), e);
        }
        return mode == null ? null : new Hello(version, mode);
    }

    private static Mode readMode(ByteBuffer value) {
        return new Mode(
            Mode.Durability.values()[value.get()],
            Mode.Replication.values()[value.get()],
            Mode.Reads.values()[value.get()]);
    }
}

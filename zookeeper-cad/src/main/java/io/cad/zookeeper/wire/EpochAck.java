// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.wire;

import java.nio.ByteBuffer;

/**
 * What a capable learner appends to ACKEPOCH, its promise of an epoch, behind the four bytes that stock leaders read:
 * a record like {@link Hello}.
 */
public final class EpochAck {

    /** A promise that states nothing does not count for the leases. */
    public static final long NOT_STATED = -1;

    private static final int STOCK_LENGTH = 4;
    private static final int MAGIC = 0x43414441; // CADA
    private static final int VERSION = 1;

    private static final short FIELD_FULL_STATE = 1;
    private static final short FIELD_OWED = 2;

    /** The learner's log cannot be cut: it needs the leader's whole state. */
    public final boolean fullState;
    /** For how many nanoseconds leaders of older epochs may still rely on the learner. */
    public final long owed;

    public EpochAck(boolean fullState, long owed) {
        this.fullState = fullState;
        this.owed = owed;
    }

    /** Appends the record to the packet's data. */
    public byte[] appendTo(byte[] data) {
        ByteBuffer fields = ByteBuffer.allocate(16);
        if (fullState) {
            fields.putShort(FIELD_FULL_STATE).putShort((short) 0);
        }
        fields.putShort(FIELD_OWED).putShort((short) 8).putLong(owed).flip();
        return Tail.append(data, MAGIC, VERSION, fields);
    }

    /** Reads the record behind the stock part; a stock learner states nothing. */
    public static EpochAck read(byte[] data) {
        Reading in = new Reading();
        Tail.read(data, STOCK_LENGTH, MAGIC, in);
        return new EpochAck(in.fullState, in.owed);
    }

    private static final class Reading implements Tail.Fields {
        boolean fullState;
        long owed = NOT_STATED;

        @Override
        public void field(short type, ByteBuffer value) {
            if (type == FIELD_FULL_STATE) {
                fullState = true;
            } else if (type == FIELD_OWED) {
                owed = value.getLong();
            }
        }
    }
}

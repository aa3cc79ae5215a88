// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.wire;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * A record behind the bytes of a handshake packet that stock peers read: a magic number, a version, a length, then
 * fields of type, length and value. A newer version may add fields and lengthen known ones; what is not known is
 * skipped.
 */
final class Tail {

    /** The version of the records that are not there. */
    static final int ABSENT = -1;

    private static final int HEADER = 12;

    /** Takes the fields of a record, in order. */
    interface Fields {
        void field(short type, ByteBuffer value);
    }

    private Tail() {
    }

    /** Appends a record; {@code fields} is ready to be read. */
    static byte[] append(byte[] data, int magic, int version, ByteBuffer fields) {
        ByteBuffer all = ByteBuffer.allocate(data.length + HEADER + fields.remaining());
        all.put(data).putInt(magic).putInt(version).putInt(fields.remaining()).put(fields);
        return all.array();
    }

    /**
     * Reads the record that follows the first {@code stockLength} bytes.
     *
     * @return its version, or {@link #ABSENT}
     * @throws IllegalArgumentException it is malformed
     */
    static int read(byte[] data, int stockLength, int magic, Fields out) {
        if (data == null || data.length < stockLength + HEADER) {
            return ABSENT;
        }
        ByteBuffer in = ByteBuffer.wrap(data, stockLength, data.length - stockLength);
        if (in.getInt() != magic) {
            return ABSENT;
        }
        int version = in.getInt();
        int length = in.getInt();
        if (length < 0 || length > in.remaining()) {
            return ABSENT;
        }
        in.limit(in.position() + length);
        try {
            while (in.remaining() >= 4) {
                short type = in.getShort();
                int size = in.getShort() & 0xffff;
                ByteBuffer value = in.slice();
                value.limit(size);
                in.position(in.position() + size);
                out.field(type, value);
            }
        } catch (BufferUnderflowException | IllegalArgumentException | ArrayIndexOutOfBoundsException e) {
            throw new IllegalArgumentException("A peer's CAD record cannot be read: " + Arrays.toString(data), e);
        }
        return version;
    }
}

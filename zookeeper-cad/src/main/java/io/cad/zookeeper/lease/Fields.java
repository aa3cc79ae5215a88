// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.lease;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * A record of typed fields: version (2 bytes), length of all fields (4 bytes), then per field its type (2 bytes), its
 * length (2 bytes) and its value, which for the types known here is a row of 8-byte numbers. Big endian. A newer
 * version may add fields and lengthen known ones; what is not known is skipped.
 */
final class Fields {
    private static final int HEADER = 6;
    private static final int FIELD_HEADER = 4;

    private final int version;
    private final Map<Integer, long[]> values = new HashMap<>();
    private byte[] encoded = new byte[128];
    private int size = HEADER;

    Fields(int version) {
        this.version = version;
    }

    int version() {
        return version;
    }

    // --- writing

    Fields put(int type, long... numbers) {
        int length = 8 * numbers.length;
        if (encoded.length < size + FIELD_HEADER + length) {
            encoded = Arrays.copyOf(encoded, 2 * (size + FIELD_HEADER + length));
        }
        write(size, 2, type);
        write(size + 2, 2, length);
        size += FIELD_HEADER;
        for (long number : numbers) {
            write(size, 8, number);
            size += 8;
        }
        return this;
    }

    byte[] encode() {
        write(0, 2, version);
        write(2, 4, size - HEADER);
        return Arrays.copyOf(encoded, size);
    }

    private void write(int at, int bytes, long value) {
        for (int i = 0; i < bytes; i++) {
            encoded[at + i] = (byte) (value >>> 8 * (bytes - 1 - i));
        }
    }

    // --- reading

    /** Throws IllegalArgumentException if the bytes are no such record. What stands behind it is ignored. */
    static Fields decode(byte[] bytes) {
        if (bytes.length < HEADER) {
            throw malformed("it ends within its header");
        }
        long length = read(bytes, 2, 4);
        if (length > bytes.length - HEADER) {
            throw malformed("it says " + length + " bytes, there are " + (bytes.length - HEADER));
        }
        Fields fields = new Fields((int) read(bytes, 0, 2));
        int end = HEADER + (int) length;
        int at = HEADER;
        while (at < end) {
            if (end - at < FIELD_HEADER) {
                throw malformed("it ends within a field's header");
            }
            int type = (int) read(bytes, at, 2);
            int size = (int) read(bytes, at + 2, 2);
            at += FIELD_HEADER;
            if (size > end - at) {
                throw malformed("field " + type + " says " + size + " bytes, there are " + (end - at));
            }
            long[] numbers = new long[size / 8];
            for (int i = 0; i < numbers.length; i++) {
                numbers[i] = read(bytes, at + 8 * i, 8);
            }
            if (fields.values.put(type, numbers) != null) {
                throw malformed("field " + type + " stands in it twice");
            }
            at += size;
        }
        return fields;
    }

    boolean has(int type) {
        return values.containsKey(type);
    }

    long number(int type) {
        return numbers(type, 1)[0];
    }

    long number(int type, long otherwise) {
        return has(type) ? number(type) : otherwise;
    }

    /** At least {@code count} numbers. */
    long[] numbers(int type, int count) {
        long[] numbers = values.get(type);
        if (numbers == null) {
            throw malformed("field " + type + " is missing");
        }
        if (numbers.length < count) {
            throw malformed("field " + type + " is too short");
        }
        return numbers;
    }

    private static long read(byte[] bytes, int at, int count) {
        long value = 0;
        for (int i = 0; i < count; i++) {
            value = value << 8 | bytes[at + i] & 0xff;
        }
        return value;
    }

    static IllegalArgumentException malformed(String why) {
        return new IllegalArgumentException("a peer's lease record cannot be read: " + why);
    }
}

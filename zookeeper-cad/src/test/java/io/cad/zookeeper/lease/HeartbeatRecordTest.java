// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.lease;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.core.Seeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class HeartbeatRecordTest {
    private static final Heartbeat FULL =
            new Heartbeat(2, 20, 5, 0x2_0000_0007L, 150_000_000, 560_000_000, 100_000, new Ticket(7, 20, 9), 3);
    private static final Heartbeat BARE = new Heartbeat(2, 20, 5, -1, 150_000_000, 560_000_000, 100_000, null, 0);
    private static final HeartbeatAnswer ANSWER =
            new HeartbeatAnswer(2, 20, 5, new Ticket(7, 20, 9), 0x2_0000_0003L, -1, 3, 0, 1_700_000_000_000L);

    /** The bytes are a contract with older and newer versions. */
    @Test
    void theBytesStayWhatTheyAre() {
        assertEquals("000100000044" + "00010018" + "0000000000000002" + "0000000000000014" + "0000000000000005"
                + "00020008" + "ffffffffffffffff"
                + "00030018" + "0000000008f0d180" + "000000002160ec00" + "00000000000186a0",
                HexFormat.of().formatHex(BARE.encode()));
    }

    @Test
    void whatIsWrittenIsRead() {
        assertSame(FULL, Heartbeat.decode(FULL.encode()));
        assertSame(BARE, Heartbeat.decode(BARE.encode()));
        assertNull(Heartbeat.decode(BARE.encode()).echo());
        assertSame(ANSWER, HeartbeatAnswer.decode(ANSWER.encode()));
    }

    /** Another order, longer fields, unknown ones, and something behind the record. */
    @Test
    void aLaterVersionIsUnderstood() {
        Seeds.each("later heartbeats", 300, random -> {
            assertSame(FULL, Heartbeat.decode(later(FULL.encode(), random)));
            assertSame(ANSWER, HeartbeatAnswer.decode(later(ANSWER.encode(), random)));
        });
    }

    /** Whatever comes, the answer is a record or one kind of exception, and never a time that is none. */
    @Test
    void damagedBytesAreRefusedOrRead() {
        Seeds.each("damaged heartbeats", 3000, random -> {
            byte[] bytes = (random.nextBoolean() ? FULL.encode() : ANSWER.encode()).clone();
            for (int i = random.nextInt(4); i >= 0; i--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            bytes = Arrays.copyOf(bytes, random.nextInt(4) == 0 ? random.nextInt(bytes.length + 9) : bytes.length);
            try {
                Heartbeat heartbeat = Heartbeat.decode(bytes);
                assertTrue(heartbeat.readLease() > 0 && heartbeat.readLease() <= LeaseSettings.MAX_NANOS);
                assertTrue(heartbeat.promise() > 0 && heartbeat.promise() <= LeaseSettings.MAX_NANOS);
            } catch (IllegalArgumentException e) {
                assertTrue(e.getMessage().startsWith("a peer's lease record cannot be read: "), e.getMessage());
            }
            try {
                HeartbeatAnswer.decode(bytes);
            } catch (IllegalArgumentException e) {
                assertTrue(e.getMessage().startsWith("a peer's lease record cannot be read: "), e.getMessage());
            }
        });
    }

    @Test
    void eachTruncationIsRefused() {
        byte[] bytes = FULL.encode();
        for (int length = 0; length < bytes.length; length++) {
            byte[] shorter = Arrays.copyOf(bytes, length);
            assertThrows(IllegalArgumentException.class, () -> Heartbeat.decode(shorter));
        }
        assertThrows(IllegalArgumentException.class, () -> Heartbeat.decode(ANSWER.encode()));
        byte[] twice = new Fields(1).put(1, 2, 20, 5).put(1, 2, 20, 5).encode();
        assertThrows(IllegalArgumentException.class, () -> Heartbeat.decode(twice));
    }

    private static byte[] later(byte[] bytes, Random random) {
        List<byte[]> fields = new ArrayList<>();
        for (int at = 6; at < bytes.length;) {
            int size = (bytes[at + 2] & 0xff) << 8 | bytes[at + 3] & 0xff;
            fields.add(longer(Arrays.copyOfRange(bytes, at, at + 4 + size), random.nextInt(2) * 8));
            at += 4 + size;
        }
        byte[] unknown = new byte[4 + random.nextInt(300)];
        random.nextBytes(unknown);
        unknown[0] = 0x70;
        fields.add(withSize(unknown));
        Collections.shuffle(fields, random);
        int length = fields.stream().mapToInt(field -> field.length).sum();
        byte[] all = new byte[6 + length + random.nextInt(5)];
        all[1] = (byte) (bytes[1] + 1);
        all[4] = (byte) (length >>> 8);
        all[5] = (byte) length;
        int at = 6;
        for (byte[] field : fields) {
            System.arraycopy(field, 0, all, at, field.length);
            at += field.length;
        }
        return all;
    }

    private static byte[] longer(byte[] field, int more) {
        return withSize(Arrays.copyOf(field, field.length + more));
    }

    private static byte[] withSize(byte[] field) {
        field[2] = (byte) (field.length - 4 >>> 8);
        field[3] = (byte) (field.length - 4);
        return field;
    }

    private static void assertSame(Heartbeat expected, Heartbeat found) {
        assertArrayEquals(expected.encode(), found.encode());
    }

    private static void assertSame(HeartbeatAnswer expected, HeartbeatAnswer found) {
        assertArrayEquals(expected.encode(), found.encode());
    }
}

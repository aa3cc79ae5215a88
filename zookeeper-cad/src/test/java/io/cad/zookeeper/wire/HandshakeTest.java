// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.config.Mode;
import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.node.History;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

/** What peers append to the handshake, of this version, of a later one, and of none. */
class HandshakeTest {

    private static final Mode MODE = new Mode(Mode.Durability.CAD, Mode.Replication.ASYNC, Mode.Reads.ACTIVE_SET);
    private static final byte[] LEARNER = new byte[Hello.LEARNER_INFO_LENGTH];
    private static final byte[] LEADER = new byte[Hello.LEADER_INFO_LENGTH];
    /** Magic, version and length stand before the fields. */
    private static final int HEADER = 12;

    /** The record as a later version might write it: a higher version, a field nobody knows, longer known fields. */
    private static byte[] ofLaterVersion(byte[] data, int stockLength) {
        ByteBuffer in = ByteBuffer.wrap(data, stockLength, data.length - stockLength);
        ByteBuffer out = ByteBuffer.allocate(1000);
        out.put(data, 0, stockLength).putInt(in.getInt()).putInt(in.getInt() + 1);
        in.getInt();
        out.putInt(0).putShort((short) 999).putShort((short) 3).put(new byte[] {1, 2, 3});
        while (in.hasRemaining()) {
            out.putShort(in.getShort());
            int size = in.getShort();
            out.putShort((short) (size + 5));
            out.put(data, in.position(), size).put(new byte[5]);
            in.position(in.position() + size);
        }
        out.flip();
        out.putInt(stockLength + 8, out.limit() - stockLength - HEADER);
        byte[] all = new byte[out.limit() + 4];
        out.get(all, 0, out.limit());
        return all;
    }

    @Test
    void aLearnerIntroducesItself() {
        byte[] sent = Hello.ofLearner(MODE, 17, 3).appendTo(LEARNER);
        for (byte[] data : new byte[][] {sent, ofLaterVersion(sent, LEARNER.length)}) {
            Hello hello = Hello.read(data, LEARNER.length);
            assertEquals(MODE, hello.mode);
            assertEquals(17, hello.incarnation);
            assertEquals(3, hello.attempt);
            assertTrue(hello.hasLeases());
        }
        assertEquals(2, Hello.read(ofLaterVersion(sent, LEARNER.length), LEARNER.length).version);
    }

    @Test
    void aLeaderNamesTheConnection() {
        byte[] sent = Hello.ofLeader(MODE, 9, new History(5, Indices.of(5, 17))).appendTo(LEADER);
        for (byte[] data : new byte[][] {sent, ofLaterVersion(sent, LEADER.length)}) {
            Hello hello = Hello.read(data, LEADER.length);
            assertEquals(MODE, hello.mode);
            assertEquals(9, hello.connection);
            assertEquals(5, hello.history.epoch);
            assertEquals(Indices.of(5, 17), hello.history.last);
            assertTrue(hello.hasLeases());
        }
    }

    @Test
    void aLearnerPromises() {
        for (boolean fullState : new boolean[] {false, true}) {
            byte[] sent = new EpochAck(fullState, 560_000_000L).appendTo(new byte[4]);
            for (byte[] data : new byte[][] {sent, ofLaterVersion(sent, 4)}) {
                assertEquals(fullState, EpochAck.read(data).fullState);
                assertEquals(560_000_000L, EpochAck.read(data).owed);
            }
        }
    }

    @Test
    void aPeerWithoutLeasesIsCapableAndNoMore() {
        Hello hello = Hello.read(Hello.ofLearner(MODE, Hello.NONE, Hello.NONE).appendTo(LEARNER), LEARNER.length);
        assertEquals(MODE, hello.mode);
        assertFalse(hello.hasLeases());
    }

    @Test
    void aStockPeerSaysNothing() {
        assertNull(Hello.read(LEARNER, LEARNER.length));
        assertNull(Hello.read(null, LEARNER.length));
        assertNull(Hello.read(new byte[100], LEARNER.length));
        assertEquals(EpochAck.NOT_STATED, EpochAck.read(new byte[4]).owed);
        assertFalse(EpochAck.read(new byte[4]).fullState);
    }

    @Test
    void aDamagedRecordIsRefused() {
        byte[] sent = Hello.ofLearner(MODE, 17, 3).appendTo(LEARNER);
        ByteBuffer.wrap(sent).putShort(LEARNER.length + HEADER + 2, (short) 5000);
        assertThrows(IllegalArgumentException.class, () -> Hello.read(sent, LEARNER.length));
    }
}

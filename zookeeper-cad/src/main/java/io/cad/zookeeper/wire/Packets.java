// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.wire;

import io.cad.zookeeper.lease.Heartbeat;
import io.cad.zookeeper.lease.HeartbeatAnswer;
import java.nio.ByteBuffer;
import org.apache.zookeeper.server.quorum.QuorumPacket;

/**
 * Packets between capable peers; stock peers never see them. Each carries its
 * epoch, so that one from an older life is recognised.
 */
public final class Packets {

    /** Leader to learner: the history is durable up to the packet's zxid. */
    public static final int DURABLE = 70;
    /** Learner to leader: persisted up to the packet's zxid; applied is in the data. */
    public static final int REPORT = 71;
    /** Leader to voter: sync at least up to the packet's zxid and report. */
    public static final int FLUSH = 72;
    /** Learner to leader: make the history durable up to the packet's zxid. */
    public static final int FLUSH_REQUEST = 73;

    /** Leader to voter, once per heartbeat interval: a {@link Heartbeat}. */
    public static final int HEARTBEAT = 74;
    /** Voter to leader: a {@link HeartbeatAnswer}. */
    public static final int HEARTBEAT_ANSWER = 75;

    /** Leader to learner, with its whole state: what both histories hold ends at the packet's zxid. */
    public static final int COMMON = 76;

    private Packets() {
    }

    public static QuorumPacket durable(long epoch, long index) {
        return packet(DURABLE, index, epoch);
    }

    public static QuorumPacket report(long epoch, long persisted, long applied) {
        return packet(REPORT, persisted, epoch, applied);
    }

    public static QuorumPacket flush(long epoch, long target) {
        return packet(FLUSH, target, epoch);
    }

    public static QuorumPacket flushRequest(long epoch, long index) {
        return packet(FLUSH_REQUEST, index, epoch);
    }

    public static QuorumPacket heartbeat(Heartbeat heartbeat) {
        return new QuorumPacket(HEARTBEAT, heartbeat.number(), heartbeat.encode(), null);
    }

    public static QuorumPacket heartbeatAnswer(HeartbeatAnswer answer) {
        return new QuorumPacket(HEARTBEAT_ANSWER, answer.number(), answer.encode(), null);
    }

    public static QuorumPacket common(long epoch, long index) {
        return packet(COMMON, index, epoch);
    }

    /** What upstream's answer to a learner's sync carries if the leader held its lease when it gave it. */
    public static byte[] positionConfirmed() {
        return new byte[] {1};
    }

    public static boolean isPositionConfirmed(QuorumPacket sync) {
        return sync.getData() != null && sync.getData().length > 0;
    }

    /** Whether the packet is one of these, which upstream's dispatch does not know. */
    public static boolean isOurs(QuorumPacket packet) {
        return packet.getType() >= DURABLE && packet.getType() <= COMMON;
    }

    /** The epoch that the packet belongs to. */
    public static long epoch(QuorumPacket packet) {
        return ByteBuffer.wrap(packet.getData()).getLong();
    }

    /** The applied index of a report. */
    public static long applied(QuorumPacket packet) {
        return ByteBuffer.wrap(packet.getData()).getLong(8);
    }

    private static QuorumPacket packet(int type, long zxid, long... values) {
        ByteBuffer data = ByteBuffer.allocate(8 * values.length);
        for (long value : values) {
            data.putLong(value);
        }
        return new QuorumPacket(type, zxid, data.array(), null);
    }
}

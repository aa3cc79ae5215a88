// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.simulation;

import io.cad.zookeeper.core.Indices;
import java.nio.charset.StandardCharsets;
import org.apache.jute.Record;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.txn.CreateTxn;
import org.apache.zookeeper.txn.DeleteTxn;
import org.apache.zookeeper.txn.SetDataTxn;
import org.apache.zookeeper.txn.TxnHeader;

/** One change and the one before it: the last one says what a whole history was. */
final class Entry {
    final long index;
    final Entry previous;
    final int length;
    final String path;
    /** What the node is after this change; null: absent. */
    final String value;
    final int version;
    final long created;
    /** The last entry up to this one that is a membership; null: still the first membership. */
    final Entry membership;
    final Request request;

    /** @param value null to delete the node */
    Entry(long index, Entry previous, String path, String value) {
        Entry before = of(previous, path);
        boolean exists = before != null && before.value != null;
        this.index = index;
        this.previous = previous;
        this.length = previous == null ? 1 : previous.length + 1;
        this.path = path;
        this.value = value;
        this.version = exists && value != null ? before.version + 1 : 0;
        this.created = exists ? before.created : index;
        this.membership = path.equals(Memberships.PATH) ? this : membershipOf(previous);
        int type = value == null ? OpCode.delete : exists ? OpCode.setData : OpCode.create;
        TxnHeader header = new TxnHeader(1, (int) Indices.counter(index), index, 1, type);
        this.request = new Request(1, header.getCxid(), type, header, txn(type), index);
    }

    private Record txn(int type) {
        byte[] data = value == null ? null : value.getBytes(StandardCharsets.UTF_8);
        return switch (type) {
            case OpCode.delete -> new DeleteTxn(path);
            case OpCode.setData -> new SetDataTxn(path, data, version);
            default -> new CreateTxn(path, data, Ids.OPEN_ACL_UNSAFE, false, length);
        };
    }

    static int length(Entry last) {
        return last == null ? 0 : last.length;
    }

    static long index(Entry last) {
        return last == null ? 0 : last.index;
    }

    static Entry membershipOf(Entry last) {
        return last == null ? null : last.membership;
    }

    /** The history up to some length. */
    static Entry cut(Entry last, int length) {
        Entry at = last;
        while (length(at) > length) {
            at = at.previous;
        }
        return at;
    }

    static boolean isPrefix(Entry shorter, Entry longer) {
        return cut(longer, length(shorter)) == shorter;
    }

    static Entry commonPrefix(Entry one, Entry other) {
        Entry a = cut(one, length(other));
        Entry b = cut(other, length(one));
        while (a != b) {
            a = a.previous;
            b = b.previous;
        }
        return a;
    }

    /** The last change of a history up to an index. */
    static Entry upTo(Entry last, long index) {
        Entry at = last;
        while (at != null && at.index > index) {
            at = at.previous;
        }
        return at;
    }

    /** The last change of a path; null if there is none. */
    static Entry of(Entry last, String path) {
        Entry at = last;
        while (at != null && !at.path.equals(path)) {
            at = at.previous;
        }
        return at;
    }
}

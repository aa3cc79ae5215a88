// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.index;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Collection;
import org.apache.jute.Record;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.server.ByteBufferInputStream;
import org.apache.zookeeper.server.DataNode;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.txn.CheckVersionTxn;
import org.apache.zookeeper.txn.CloseSessionTxn;
import org.apache.zookeeper.txn.CreateContainerTxn;
import org.apache.zookeeper.txn.CreateTTLTxn;
import org.apache.zookeeper.txn.CreateTxn;
import org.apache.zookeeper.txn.DeleteTxn;
import org.apache.zookeeper.txn.ErrorTxn;
import org.apache.zookeeper.txn.MultiTxn;
import org.apache.zookeeper.txn.SetACLTxn;
import org.apache.zookeeper.txn.SetDataTxn;
import org.apache.zookeeper.txn.Txn;
import org.apache.zookeeper.txn.TxnHeader;

/**
 * Which items a change touches: the paths whose reads it alters, and the
 * session. A create or delete alters the parent too (its children, cversion,
 * pzxid). Exact where a node's Stat is not: setACL and quota move no zxid, and
 * an absent node has none.
 */
public final class StateIndex {

    private final DirtyIndex dirty;
    private volatile long lastApplied;

    /** @param lastApplied index of the state before the first stamp */
    public StateIndex(DirtyIndex dirty, long lastApplied) {
        this.dirty = dirty;
        this.lastApplied = lastApplied;
    }

    /** The item of a session: what reads of its ephemerals depend on. */
    public static String session(long id) {
        return "session:" + Long.toHexString(id);
    }

    /** Index of the last change that was stamped: an upper bound of everything a reply can show. */
    public long lastApplied() {
        return lastApplied;
    }

    /** Nothing undurable is known and nothing may be hidden above D by a synchronisation. */
    public boolean isClean(long durable) {
        return dirty.size() == 0 && dirty.barrier() <= durable;
    }

    public long required(String item) {
        return dirty.required(item);
    }

    public long requiredUnder(String path) {
        return dirty.requiredUnder(path);
    }

    public void durable(long index) {
        dirty.durable(index);
    }

    public int size() {
        return dirty.size();
    }

    /**
     * Records what a change touches. Called before the change is applied,
     * because a deletion or the end of a session must still find its nodes.
     */
    public void stamp(TxnHeader header, Record txn, DataTree tree) {
        long zxid = header.getZxid();
        lastApplied = zxid;
        if (header.getType() == OpCode.multi) {
            for (Txn part : ((MultiTxn) txn).getTxns()) {
                stamp(part.getType(), decode(part), header.getClientId(), zxid, tree);
            }
            return;
        }
        stamp(header.getType(), txn, header.getClientId(), zxid, tree);
    }

    private void stamp(int type, Record txn, long session, long zxid, DataTree tree) {
        switch (type) {
        case OpCode.create:
        case OpCode.create2: {
            CreateTxn create = (CreateTxn) txn;
            touchWithParent(create.getPath(), zxid);
            if (create.getEphemeral()) {
                dirty.touch(session(session), zxid);
            }
            break;
        }
        case OpCode.createTTL:
            touchWithParent(((CreateTTLTxn) txn).getPath(), zxid);
            break;
        case OpCode.createContainer:
            touchWithParent(((CreateContainerTxn) txn).getPath(), zxid);
            break;
        case OpCode.delete:
        case OpCode.deleteContainer: {
            String path = ((DeleteTxn) txn).getPath();
            DataNode node = tree.getNode(path);
            if (node != null && node.stat.getEphemeralOwner() != 0) {
                dirty.touch(session(node.stat.getEphemeralOwner()), zxid);
            }
            touchWithParent(path, zxid);
            break;
        }
        case OpCode.setData:
        case OpCode.reconfig:
            dirty.touch(((SetDataTxn) txn).getPath(), zxid);
            break;
        case OpCode.setACL:
            dirty.touch(((SetACLTxn) txn).getPath(), zxid);
            break;
        case OpCode.createSession:
            dirty.touch(session(session), zxid);
            break;
        case OpCode.closeSession:
            dirty.touch(session(session), zxid);
            touchAll(tree.getEphemerals(session), zxid);
            if (txn instanceof CloseSessionTxn) {
                touchAll(((CloseSessionTxn) txn).getPaths2Delete(), zxid);
            }
            break;
        case OpCode.check:
        case OpCode.error:
            break;
        default:
            throw new IllegalStateException("A change of unknown type " + type + " cannot be indexed");
        }
    }

    private void touchAll(Collection<String> paths, long zxid) {
        for (String path : paths) {
            touchWithParent(path, zxid);
        }
    }

    private void touchWithParent(String path, long zxid) {
        dirty.touch(path, zxid);
        int slash = path.lastIndexOf('/');
        dirty.touch(slash <= 0 ? "/" : path.substring(0, slash), zxid);
    }

    /** The record inside a part of a multi. */
    public static Record decode(Txn part) {
        Record record;
        switch (part.getType()) {
        case OpCode.create:
        case OpCode.create2:
            record = new CreateTxn();
            break;
        case OpCode.createTTL:
            record = new CreateTTLTxn();
            break;
        case OpCode.createContainer:
            record = new CreateContainerTxn();
            break;
        case OpCode.delete:
        case OpCode.deleteContainer:
            record = new DeleteTxn();
            break;
        case OpCode.setData:
            record = new SetDataTxn();
            break;
        case OpCode.error:
            record = new ErrorTxn();
            break;
        case OpCode.check:
            record = new CheckVersionTxn();
            break;
        default:
            throw new IllegalStateException("A multi holds a part of unknown type " + part.getType());
        }
        try {
            ByteBufferInputStream.byteBuffer2Record(ByteBuffer.wrap(part.getData()), record);
        } catch (IOException e) {
            throw new IllegalStateException("A part of a multi cannot be read", e);
        }
        return record;
    }
}

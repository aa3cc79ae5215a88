// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.crash;

import io.cad.zookeeper.durability.Store;
import io.cad.zookeeper.testing.LogFiles;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.TreeSet;
import org.apache.zookeeper.server.DataNode;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.server.ZKDatabase;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;
import org.apache.zookeeper.server.quorum.QuorumPeer;

/** The storage of one server, opened as a start does it: the real log, snapshots, epoch files and recovery. */
public final class Server implements AutoCloseable {

    public final FileTxnSnapLog files;
    public final ZKDatabase database;
    public final QuorumPeer peer;

    /**
     * Starts.
     *
     * @throws IOException the server refuses to start
     */
    public Server(Path disk) throws IOException {
        files = new FileTxnSnapLog(disk.resolve("log").toFile(), disk.resolve("data").toFile());
        database = new ZKDatabase(files);
        peer = new QuorumPeer();
        peer.setTxnFactory(files);
        peer.setZKDatabase(database);
        try {
            Method load = QuorumPeer.class.getDeclaredMethod("loadDataBase");
            load.setAccessible(true);
            load.invoke(peer);
        } catch (InvocationTargetException e) {
            close();
            throw new IOException("refused to start: " + root(e), e);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("QuorumPeer has changed", e);
        }
    }

    private static Throwable root(Throwable e) {
        return e.getCause() == null ? e : root(e.getCause());
    }

    /** Bytes of data of the change at an index: records of many sizes, some longer than a sector. */
    static int size(long index) {
        return 30 + (int) (index * 197 % 700);
    }

    /** Appends a change and applies it. */
    void append(long index) throws IOException {
        Request request = LogFiles.txn(index, size(index));
        files.append(request);
        database.processTxn(request.getHdr(), request.getTxn(), null);
    }

    /** The indices of the changes whose effects are in the tree, each checked whole. */
    TreeSet<Long> history() {
        TreeSet<Long> found = new TreeSet<>();
        DataTree tree = database.getDataTree();
        for (String name : tree.getNode("/").getChildren()) {
            if (!name.startsWith("n")) {
                continue;
            }
            String[] parts = name.substring(1).split("-");
            long index = Long.parseLong(parts[0]) << 32 | Long.parseLong(parts[1]);
            DataNode node = tree.getNode("/" + name);
            if (node.getData().length != size(index) || node.stat.getCzxid() != index) {
                throw new IllegalStateException("/" + name + " is not what was written");
            }
            found.add(index);
        }
        return found;
    }

    /** The indices of the changes that rollbacks have taken back and kept. */
    TreeSet<Long> rolledBack() throws IOException {
        File kept = new File(Store.sideDirectory(files.getDataLogDir()), "rolled-back");
        return kept.isDirectory() ? new TreeSet<>(LogFiles.indices(kept, 0)) : new TreeSet<>();
    }

    public long last() {
        return database.getDataTree().lastProcessedZxid;
    }

    /** A recorded epoch, by the name of its file. */
    public long epoch(String name) throws IOException {
        return Long.parseLong(Files.readString(new File(files.getSnapDir(), name).toPath()).trim());
    }

    @Override
    public void close() throws IOException {
        files.close();
        Store.forget(files.getDataLogDir());
        Store.forget(files.getSnapDir());
    }
}

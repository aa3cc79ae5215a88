// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.simulation;

import io.cad.zookeeper.crash.Server;
import io.cad.zookeeper.durability.Store;
import io.cad.zookeeper.index.StateIndex;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.jute.BinaryInputArchive;
import org.apache.jute.BinaryOutputArchive;
import org.apache.zookeeper.server.DataNode;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.persistence.CadStorage;
import org.apache.zookeeper.server.quorum.QuorumPeer;
import org.apache.zookeeper.server.util.SerializeUtils;

/** The real log, snapshots, epoch files and tree of one process, in a directory that may lose power. */
final class Storage {
    /** What waits for the log, and decides about snapshots. */
    interface Owner extends Store.PersistedListener, Store.SnapshotGate {
    }

    private final PowerLossDisk disk;
    private final Server server;
    private final Owner owner;

    /** Starts as a server starts: repairs the log, reads it, finds the epochs. */
    Storage(PowerLossDisk disk, Owner owner) {
        this.disk = disk;
        this.owner = owner;
        try {
            server = new Server(disk.directory());
            disk.allSynced();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        logs().listen(owner, 0);
        Store.of(server.files.getSnapDir()).gateSnapshots(owner);
    }

    private Store logs() {
        return Store.of(server.files.getDataLogDir());
    }

    /** The process is gone. Nobody hears of what closing the files does. */
    long crash(boolean losesPower, Random random) {
        long lost = disk.crash(losesPower, random);
        logs().release(owner);
        try {
            server.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        disk.forgetFormerLife();
        return lost;
    }

    /** Ends for good. */
    void close() {
        logs().release(owner);
        try {
            server.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    // --- epochs

    long acceptedEpoch() {
        return call(() -> server.peer.getAcceptedEpoch());
    }

    long currentEpoch() {
        return call(() -> server.peer.getCurrentEpoch());
    }

    void accept(long epoch) {
        run(() -> server.peer.setAcceptedEpoch(epoch));
    }

    /** As the server does it: the log is durable first (rule E2). */
    void record(long epoch) {
        run(() -> server.peer.setCurrentEpoch(epoch));
    }

    /** As a wrong server does it: the log may not be durable yet. */
    void recordAlone(long epoch) {
        run(() -> Files.writeString(new File(server.files.getSnapDir(), QuorumPeer.CURRENT_EPOCH_FILENAME).toPath(),
                Long.toString(epoch)));
    }

    // --- log

    /** Appends a change and hands it to the operating system. */
    void append(Entry entry) {
        run(() -> {
            server.files.append(entry.request);
            CadStorage.log(server.files).write();
        });
    }

    void sync() {
        run(() -> CadStorage.log(server.files).sync());
    }

    /**
     * Cuts the log and reads what is left.
     *
     * @return false if it cannot be cut: the whole state is needed
     */
    boolean cut(long index) {
        try {
            boolean done = server.database.truncateLog(index);
            disk.allSynced();
            return done;
        } catch (IllegalStateException e) {
            run(() -> server.database.loadDataBase());
            return false;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    boolean needsFullState() {
        return logs().fullStateNeeded();
    }

    /** Reads into memory what the log holds beyond it, as the end of a role does. */
    void fastForward() {
        run(() -> server.database.fastForwardDataBase());
    }

    // --- snapshots

    /** Ends the log file and writes a snapshot, which is published if its owner says so. */
    void snapshot() {
        run(() -> {
            server.files.rollLog();
            server.files.save(server.database.getDataTree(), new ConcurrentHashMap<>(), false);
        });
    }

    byte[] wholeState() {
        return call(() -> {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            SerializeUtils.serializeSnapshot(server.database.getDataTree(), BinaryOutputArchive.getArchive(bytes),
                    new HashMap<>());
            return bytes.toByteArray();
        });
    }

    /** Replaces the history by another server's state, as CadPeer does it. */
    void adopt(byte[] state, long index) {
        run(() -> {
            DataTree tree = new DataTree();
            SerializeUtils.deserializeSnapshot(tree, BinaryInputArchive.getArchive(new ByteArrayInputStream(state)),
                    new HashMap<>());
            tree.lastProcessedZxid = index;
            Store store = Store.of(server.files.getSnapDir());
            store.gateSnapshots(null);
            server.files.rollLog();
            store.adoptFor(server.files.getDataLogDir());
            server.files.save(tree, new ConcurrentHashMap<>(), true);
            store.adoptFor(null);
            server.database.clear();
            server.database.loadDataBase();
            store.gateSnapshots(owner);
            disk.allSynced();
        });
    }

    // --- tree

    void apply(Entry entry, StateIndex index) {
        index.stamp(entry.request.getHdr(), entry.request.getTxn(), server.database.getDataTree());
        server.database.processTxn(entry.request.getHdr(), entry.request.getTxn(), null);
        server.database.addCommittedProposal(entry.request);
    }

    long last() {
        return server.last();
    }

    /** The node at a path; null if it is absent. */
    DataNode node(String path) {
        return server.database.getDataTree().getNode(path);
    }

    static String value(DataNode node) {
        return new String(node.getData(), StandardCharsets.UTF_8);
    }

    /** Differences between memory and a history, for some paths; null if there are none. */
    String differsFrom(Entry last, Iterable<String> paths) {
        for (String path : paths) {
            Entry wanted = Entry.of(last, path);
            boolean exists = wanted != null && wanted.value != null;
            DataNode node = node(path);
            boolean agrees = exists ? node != null && node.stat.getMzxid() == wanted.index
                    && node.stat.getVersion() == wanted.version && value(node).equals(wanted.value) : node == null;
            if (!agrees) {
                return path + " is " + (node == null ? "absent" : Long.toHexString(node.stat.getMzxid()))
                        + ", not as after " + (exists ? Long.toHexString(wanted.index) : "its deletion");
            }
        }
        return null;
    }

    private interface Step {
        void run() throws IOException;
    }

    private interface Question<T> {
        T ask() throws IOException;
    }

    private static void run(Step step) {
        call(() -> {
            step.run();
            return null;
        });
    }

    private static <T> T call(Question<T> question) {
        try {
            return question.ask();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.recovery;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.durability.Directories;
import io.cad.zookeeper.durability.DirectoryLock;
import io.cad.zookeeper.durability.PersistedMark;
import io.cad.zookeeper.durability.SegmentEnds;
import io.cad.zookeeper.durability.Store;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.jute.Record;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.server.TxnLogEntry;
import org.apache.zookeeper.server.persistence.SnapStream;
import org.apache.zookeeper.server.util.SerializeUtils;
import org.apache.zookeeper.txn.CreateTxn;
import org.apache.zookeeper.txn.DeleteTxn;
import org.apache.zookeeper.txn.SetACLTxn;
import org.apache.zookeeper.txn.SetDataTxn;
import org.apache.zookeeper.txn.TxnHeader;

/** Looks at, or mends, the directories of a server that does not run: what {@code zk-cad log} does. */
public final class LogTool implements Closeable {

    /** What {@link #check} finds. */
    public enum State {
        /** A start, of a stock server too, takes it as it is. */
        SOUND,
        /** A start of ours mends it; a stock server may refuse it or read it with a gap. */
        NEEDS_REPAIR,
        /** Synced entries are missing: a start is refused, and {@link #repair} too. */
        CORRUPT
    }

    private static final String VERSION_DIRECTORY = "version-2";

    private final File logDir;
    private final File snapDir;
    private final PrintStream out;

    /**
     * @param dataDir    dataDir of zoo.cfg
     * @param dataLogDir dataLogDir of zoo.cfg, or dataDir again
     */
    public LogTool(File dataDir, File dataLogDir, PrintStream out) throws IOException {
        this.snapDir = new File(dataDir, VERSION_DIRECTORY);
        this.logDir = new File(dataLogDir, VERSION_DIRECTORY);
        this.out = out;
        for (File directory : new File[] {snapDir, logDir}) {
            if (!directory.isDirectory()) {
                throw new IOException("no directory " + directory + ": name the dataDir of a server that has run");
            }
        }
        if (HistoryFiles.logs(logDir).isEmpty() && !HistoryFiles.logs(snapDir).isEmpty()) {
            throw new IOException("the log is in " + snapDir + " and none in " + logDir
                + ": name the dataDir first, then the dataLogDir");
        }
    }

    /** Lets servers start here again. */
    @Override
    public void close() throws IOException {
        Store.forget(logDir);
        Store.forget(snapDir);
    }

    /**
     * Says what is there and what a start would make of it; changes nothing.
     *
     * @throws IOException a server runs here, among other things
     */
    public State check() throws IOException {
        for (File directory : new File[] {snapDir, logDir}) {
            DirectoryLock.requireFree(new File(Store.sideDirectory(directory), Store.LOCK));
        }
        File side = Store.sideDirectory(logDir);
        long mark = PersistedMark.peek(new File(side, Store.MARK));
        SegmentEnds ends = new SegmentEnds(new File(side, Store.SEGMENTS));
        boolean stale = Store.recordsAreStale(logDir, EpochFiles.current(snapDir));
        out.printf("recorded epoch %d, persisted mark %s%s%n", EpochFiles.current(snapDir), Indices.format(mark),
            stale ? ", written before a server without CAD ran here: it counts no more" : "");
        for (File snapshot : oldestFirst(HistoryFiles.snapshots(snapDir))) {
            out.printf("%s: %s%n", snapshot.getName(), SnapStream.isValidSnapshot(snapshot) ? "whole" : "not readable");
        }
        for (File log : oldestFirst(HistoryFiles.logs(logDir))) {
            LogScan scan = LogScan.of(log, 0);
            out.printf("%s: %d records, %s to %s%s%s%n", log.getName(), scan.records, Indices.format(scan.first),
                Indices.format(scan.last), ends.end(log) == null ? "" : ", finished",
                scan.defect == null ? "" : "; then " + scan.defect);
        }
        for (File kept : kept()) {
            out.printf("rolled back: %s, %d records%n", kept, LogScan.of(kept, 0).records);
        }
        return verdict(stale
            ? Diagnosis.of(logDir, snapDir, 0, new SegmentEnds(new File(side, "none")))
            : Diagnosis.of(logDir, snapDir, mark, ends), stale);
    }

    private State verdict(Diagnosis diagnosis, boolean stale) {
        if (diagnosis.corruption != null) {
            out.println(diagnosis.corruption);
            return State.CORRUPT;
        }
        List<String> repairs = new ArrayList<>();
        if (diagnosis.torn != null) {
            repairs.add("the tail of " + diagnosis.torn.file.getName() + " is torn (" + diagnosis.torn.defect
                + "): it would be cut behind " + Indices.format(diagnosis.end));
        }
        if (Adoption.isPending(snapDir)) {
            repairs.add("a leader's state was being taken over: that would be completed");
        }
        if (stale) {
            repairs.add("what was recorded of the log would be dropped");
        }
        repairs.forEach(out::println);
        out.println(repairs.isEmpty() ? "sound: the history ends at " + Indices.format(diagnosis.end)
            : "needs repair: a server with CAD does it at its start, zk-cad log repair does it now");
        return repairs.isEmpty() ? State.SOUND : State.NEEDS_REPAIR;
    }

    /**
     * Does what a start would do.
     *
     * @param forStock also forgets what only CAD reads, so that a stock server may write here and a later return to
     *                 CAD finds no stale record
     * @throws IOException the log is corrupt, or a server runs here; nothing was changed
     */
    public void repair(boolean forStock) throws IOException {
        Store.of(snapDir).occupy();
        Store.of(logDir).occupy();
        LogRepair.beforeRestore(logDir, snapDir);
        if (forStock) {
            for (File directory : new File[] {logDir, snapDir}) {
                File side = Store.sideDirectory(directory);
                for (String name : new String[] {Store.MARK, Store.SEGMENTS, Store.EPOCH}) {
                    Files.deleteIfExists(new File(side, name).toPath());
                }
                if (side.isDirectory()) {
                    Directories.sync(side);
                }
            }
        }
        out.println(forStock ? "ready for a stock server" : "ready for a start");
    }

    /**
     * Prints the records of the log, or of what rollbacks took back.
     *
     * @param from lowest index to print
     */
    public void show(boolean rolledBack, long from) throws IOException {
        for (File file : rolledBack ? kept() : oldestFirst(HistoryFiles.logs(logDir))) {
            out.println(file);
            LogScan scan = LogScan.of(file, 0, (index, checksum, body) -> {
                if (index >= from) {
                    print(index, body);
                }
            });
            if (scan.defect != null) {
                out.println("  " + scan.defect);
            }
        }
    }

    private void print(long index, byte[] body) {
        try {
            TxnLogEntry entry = SerializeUtils.deserializeTxn(body);
            TxnHeader header = entry.getHeader();
            out.printf("  %s 0x%x session 0x%x cxid %d %s%s%n", Indices.format(index), index, header.getClientId(),
                header.getCxid(), Request.op2String(header.getType()), subject(entry.getTxn()));
        } catch (IOException e) {
            out.printf("  %s cannot be decoded: %s%n", Indices.format(index), e);
        }
    }

    private static String subject(Record txn) {
        if (txn instanceof CreateTxn) {
            return path(((CreateTxn) txn).getPath(), ((CreateTxn) txn).getData());
        }
        if (txn instanceof SetDataTxn) {
            return path(((SetDataTxn) txn).getPath(), ((SetDataTxn) txn).getData());
        }
        if (txn instanceof DeleteTxn) {
            return " " + ((DeleteTxn) txn).getPath();
        }
        return txn instanceof SetACLTxn ? " " + ((SetACLTxn) txn).getPath() : "";
    }

    private static String path(String path, byte[] data) {
        return " " + path + " (" + (data == null ? 0 : data.length) + " bytes)";
    }

    /** What rollbacks kept, oldest change first. */
    private List<File> kept() {
        return oldestFirst(HistoryFiles.logs(new File(Store.sideDirectory(logDir), RolledBack.DIRECTORY)));
    }

    private static List<File> oldestFirst(List<File> newestFirst) {
        Collections.reverse(newestFirst);
        return newestFirst;
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.recovery;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.durability.SegmentEnds;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.zookeeper.server.persistence.FileTxnLog;
import org.apache.zookeeper.server.persistence.SnapStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a start would find in the log, by reading alone (rule E5): whole, a torn tail, or corruption. */
final class Diagnosis {

    private static final Logger LOG = LoggerFactory.getLogger(Diagnosis.class);

    /** The newest snapshot that can be read, null without one. */
    final File snapshot;
    /** Its index, -1 without one. */
    final long base;
    /** The recorded persisted mark. */
    final long mark;
    /** Log files that count, oldest first. */
    final File[] files;
    /** Those of them that hold no entry. */
    final List<File> empty = new ArrayList<>();
    /** Index of the last entry that may be kept. */
    long end;
    /** The file whose tail is torn, else null; later files go with the tail. */
    LogScan torn;
    /** Position of the torn file in {@link #files}. */
    int tornAt;
    /** Why no start may change anything here, else null. */
    String corruption;

    /** Index in the name of the newest snapshot, whether or not it can be read; -1 without one. */
    private final long newestName;

    private Diagnosis(File logDir, File snapDir, long mark) throws IOException {
        this.mark = mark;
        List<File> snapshots = HistoryFiles.snapshots(snapDir);
        newestName = snapshots.isEmpty() ? -1 : HistoryFiles.index(snapshots.get(0));
        snapshot = newestReadable(snapshots);
        base = snapshot == null ? -1 : HistoryFiles.index(snapshot);
        files = FileTxnLog.getLogFiles(HistoryFiles.files(logDir), Math.max(base, 0));
        end = Math.max(base, 0);
    }

    /**
     * Reads the log and decides.
     *
     * @param mark recorded persisted mark
     * @param ends where finished files end
     */
    static Diagnosis of(File logDir, File snapDir, long mark, SegmentEnds ends) throws IOException {
        Diagnosis diagnosis = new Diagnosis(logDir, snapDir, mark);
        diagnosis.read(logDir, ends);
        return diagnosis;
    }

    private void read(File logDir, SegmentEnds ends) throws IOException {
        for (int i = 0; i < files.length; i++) {
            LogScan scan = LogScan.of(files[i], 0);
            if (scan.records > 0 && base >= 0 && scan.first > end && !LogScan.begins(end, scan.first)) {
                if (mark == 0 && newestName > end) {
                    // As stock servers leave it. What is missing was purged, perhaps, because that snapshot held it.
                    corruption = refusal(files[i], "it begins with " + Indices.format(scan.first) + " behind "
                        + Indices.format(end) + ", and a newer snapshot than that cannot be read");
                    return;
                }
                scan = LogScan.unusable(files[i], Indices.format(scan.first) + " does not follow " + Indices.format(end));
            }
            Long finished = ends.end(files[i]);
            if (finished != null && scan.last < finished) {
                corrupt(files[i], "it ends at " + Indices.format(scan.last), finished);
                return;
            }
            end = Math.max(end, scan.last);
            if (scan.defect == null && scan.records == 0) {
                empty.add(files[i]);
            }
            if (scan.defect != null) {
                torn = scan;
                tornAt = i;
                if (end < mark) {
                    corrupt(files[i], scan.defect + " behind " + Indices.format(end), mark);
                }
                return;
            }
        }
        if (end < mark) {
            corrupt(files.length == 0 ? logDir : files[files.length - 1], "it ends at " + Indices.format(end), mark);
        }
    }

    private void corrupt(File file, String what, long synced) {
        corruption = refusal(file, what + ", but everything up to " + Indices.format(synced) + " had been synced");
    }

    private static String refusal(File file, String what) {
        return "Corrupt log " + file + ": " + what + ". Nothing was changed. To restore this server from its peers, "
            + "move its data and log directories away, keep myid, and start it while a majority of the others runs";
    }

    private static File newestReadable(List<File> snapshots) {
        for (File file : snapshots) {
            try {
                if (SnapStream.isValidSnapshot(file)) {
                    return file;
                }
            } catch (IOException e) {
                LOG.warn("Skipping snapshot {}: {}", file, e.toString());
            }
        }
        return null;
    }
}

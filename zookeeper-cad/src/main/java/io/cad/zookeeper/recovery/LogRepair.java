// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.recovery;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.durability.Directories;
import io.cad.zookeeper.durability.Store;
import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import org.apache.zookeeper.server.persistence.FileTxnLog;
import org.apache.zookeeper.server.persistence.SnapStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes a log readable again after a power loss (rule E5). What lies above the
 * recorded persisted mark was never promised: a torn or missing tail there is
 * cut. A defect at or below the mark is corruption: the start is refused and
 * nothing is changed.
 */
public final class LogRepair {

    private static final Logger LOG = LoggerFactory.getLogger(LogRepair.class);

    private LogRepair() {
    }

    /**
     * Repairs the log that a restore is about to read.
     *
     * @param logDir  dataLogDir/version-2
     * @param snapDir dataDir/version-2
     * @throws IOException the log is corrupt, or cannot be read
     */
    public static void beforeRestore(File logDir, File snapDir) throws IOException {
        Store store = Store.of(logDir);
        discardUnpublished(Store.of(snapDir));
        Adoption.finish(logDir, snapDir);
        long mark = store.mark().value();
        long base = newestSnapshot(snapDir);
        File[] files = FileTxnLog.getLogFiles(logDir.listFiles(), Math.max(base, 0));
        long end = repair(store, logDir, files, base, mark);
        syncAll(files);
        EpochFiles.catchUp(snapDir, end);
    }

    /** Cuts what may be cut; answers the index of the last entry that is left. */
    private static long repair(Store store, File logDir, File[] files, long base, long mark) throws IOException {
        long end = Math.max(base, 0);
        for (int i = 0; i < files.length; i++) {
            LogScan scan = LogScan.of(files[i], 0);
            if (scan.records > 0 && base >= 0 && scan.first > end && !LogScan.begins(end, scan.first)) {
                scan = LogScan.unusable(files[i], Indices.format(scan.first) + " does not follow " + Indices.format(end));
            }
            Long finished = store.segments().end(files[i]);
            if (finished != null && scan.last < finished) {
                throw corruption(files[i], "it ends at " + Indices.format(scan.last), finished);
            }
            end = Math.max(end, scan.last);
            if (scan.defect != null) {
                cut(scan, files, i, end, mark);
                return end;
            }
        }
        if (end < mark) {
            throw corruption(files.length == 0 ? logDir : files[files.length - 1],
                "it ends at " + Indices.format(end), mark);
        }
        return end;
    }

    /** After the death of the process alone the log may be complete and yet not durable. */
    private static void syncAll(File[] files) throws IOException {
        for (int i = Math.max(0, files.length - 2); i < files.length; i++) {
            if (files[i].exists()) {
                try (FileChannel channel = FileChannel.open(files[i].toPath(), StandardOpenOption.WRITE)) {
                    channel.force(true);
                }
            }
        }
    }

    private static void cut(LogScan scan, File[] files, int index, long end, long mark) throws IOException {
        if (end < mark) {
            throw corruption(scan.file, scan.defect + " behind " + Indices.format(Math.max(end, 0)), mark);
        }
        long bytes = scan.file.length() - scan.goodBytes;
        for (int i = files.length - 1; i > index; i--) {
            Files.delete(files[i].toPath());
        }
        if (scan.records == 0) {
            Files.delete(scan.file.toPath());
        } else {
            try (FileChannel channel = FileChannel.open(scan.file.toPath(), StandardOpenOption.WRITE)) {
                channel.truncate(scan.goodBytes);
                channel.force(true);
            }
        }
        Directories.sync(scan.file.getParentFile());
        LOG.warn("Cut the torn tail of {}: {}; the log now ends at {}, {} bytes and {} later files removed, "
                + "persisted mark {}", scan.file, scan.defect, Indices.format(end), bytes,
            files.length - 1 - index, Indices.format(mark));
    }

    private static IOException corruption(File file, String what, long mark) {
        return new IOException("Corrupt log " + file + ": " + what + ", but everything up to "
            + Indices.format(mark) + " had been synced. Nothing was changed. To restore this server from its peers, "
            + "move its data and log directories away, keep myid, and start it while a majority of the others runs");
    }

    private static long newestSnapshot(File snapDir) {
        for (File file : HistoryFiles.snapshots(snapDir)) {
            try {
                if (SnapStream.isValidSnapshot(file)) {
                    return HistoryFiles.index(file);
                }
            } catch (IOException e) {
                LOG.warn("Skipping snapshot {}: {}", file, e.toString());
            }
        }
        return -1;
    }

    private static void discardUnpublished(Store store) throws IOException {
        File[] left = new File(store.sideDirectory(), "unpublished").listFiles();
        if (left != null) {
            for (File file : left) {
                Files.deleteIfExists(file.toPath());
            }
        }
    }
}

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
import java.util.List;
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
        syncNames(logDir);
        syncNames(snapDir);
        discardUnpublished(Store.of(snapDir));
        Adoption.finish(logDir, snapDir);
        distrustStaleRecords(store, logDir, snapDir);
        Diagnosis diagnosis = Diagnosis.of(logDir, snapDir, store.mark().value(), store.segments());
        if (diagnosis.corruption != null) {
            throw new IOException(diagnosis.corruption);
        }
        if (diagnosis.torn != null) {
            cut(diagnosis);
        }
        remove(diagnosis.empty, logDir);
        syncContents(diagnosis);
        EpochFiles.catchUp(store, snapDir, diagnosis.end);
    }

    /** A stock server that ran here in between may have cut the log: what was recorded of it holds no more. */
    private static void distrustStaleRecords(Store store, File logDir, File snapDir) throws IOException {
        long recorded = EpochFiles.current(snapDir);
        if (Store.recordsAreStale(logDir, recorded)) {
            LOG.warn("Epoch {} was recorded by a server without CAD: the persisted mark {} and the ends of log files "
                + "are dropped; a damaged tail counts as torn until the next sync", recorded, store.mark());
            store.distrust(recorded);
        }
    }

    /**
     * A crash may leave the header of a new file alone. Upstream takes the name of such a file for its last entry, and
     * with it the recorded mark would rise above the log.
     */
    private static void remove(List<File> empty, File logDir) throws IOException {
        for (File file : empty) {
            Files.deleteIfExists(file.toPath());
            LOG.info("Removed {}: it holds no entry", file);
        }
        if (!empty.isEmpty()) {
            Directories.sync(logDir);
        }
    }

    /**
     * After the death of the process alone everything is there, and some of it only in memory: what a start finds and
     * builds upon must not be gone after the next power loss. So it is with the names, which come first, because the
     * files that they replace are deleted.
     */
    private static void syncNames(File directory) throws IOException {
        Directories.syncParent(directory);
        Directories.sync(directory);
    }

    /** All that is read: a stock server syncs no snapshot, and may have left the tails of several files. */
    private static void syncContents(Diagnosis diagnosis) throws IOException {
        if (diagnosis.snapshot != null) {
            sync(diagnosis.snapshot);
        }
        for (File file : diagnosis.files) {
            if (file.exists()) {
                sync(file);
            }
        }
    }

    private static void sync(File file) throws IOException {
        try (FileChannel channel = FileChannel.open(file.toPath(), StandardOpenOption.WRITE)) {
            channel.force(true);
        }
    }

    private static void cut(Diagnosis diagnosis) throws IOException {
        LogScan scan = diagnosis.torn;
        long bytes = scan.file.length() - scan.goodBytes;
        File[] files = diagnosis.files;
        for (int i = files.length - 1; i > diagnosis.tornAt; i--) {
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
                + "persisted mark {}", scan.file, scan.defect, Indices.format(diagnosis.end), bytes,
            files.length - 1 - diagnosis.tornAt, Indices.format(diagnosis.mark));
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

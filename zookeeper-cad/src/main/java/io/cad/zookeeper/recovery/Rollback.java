// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.recovery;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.durability.Directories;
import io.cad.zookeeper.durability.Store;
import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.LongStream;
import org.apache.zookeeper.server.persistence.FileTxnLog;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Cuts from the log what a new leader does not have (rule E4). Order matters:
 * every crash point leaves the old history or a prefix of it.
 */
public final class Rollback {

    private static final Logger LOG = LoggerFactory.getLogger(Rollback.class);

    private Rollback() {
    }

    /**
     * The log is about to be cut behind an index. Nothing is changed unless the
     * cut is possible: the index itself must be in the log, and no snapshot may
     * hold later changes. Then the cut records are kept aside
     * and the mark is lowered.
     *
     * @throws IllegalStateException the cut is impossible; the next registration asks for the whole
     *     state. Unchecked, because upstream turns an IOException here into the end of the process
     */
    public static void beforeTruncate(File logDir, File snapDir, long zxid) throws IOException {
        String obstacle = obstacle(logDir, snapDir, zxid);
        if (obstacle != null) {
            Store.of(logDir).needFullState(true);
            throw new IllegalStateException("The log cannot be cut at " + Indices.format(zxid) + ": " + obstacle
                + ". Nothing was changed; this server asks the leader for its whole state");
        }
        RolledBack.keep(logDir, zxid, "the leader's history ends at " + Indices.format(zxid));
        Store.of(logDir).cut(zxid);
    }

    /**
     * Where the history of another server departs from this one.
     *
     * @param committed the newest part of this history, ascending, as far as it is in memory
     * @param logDir where there is more of it
     * @param end of the other one's log
     * @return the newest index of this history that is not behind that end, or Long.MAX_VALUE if there is none
     */
    public static long commonEnd(LongStream committed, File logDir, long end) throws IOException {
        OptionalLong inMemory = committed.filter(index -> index <= end).max();
        if (inMemory.isPresent()) {
            return inMemory.getAsLong();
        }
        long[] found = {Long.MAX_VALUE};
        File[] files = FileTxnLog.getLogFiles(HistoryFiles.files(logDir), end);
        if (files.length > 0) {
            LogScan.of(files[0], 0, (at, checksum, body) -> found[0] = at <= end ? at : found[0]);
        }
        return found[0];
    }

    /** Upstream keeps the first record at or above the index: unless that is the index itself, one too many is left. */
    private static String obstacle(File logDir, File snapDir, long zxid) throws IOException {
        for (File snapshot : HistoryFiles.snapshots(snapDir)) {
            if (HistoryFiles.index(snapshot) > zxid) {
                return snapshot + " holds later changes";
            }
        }
        boolean[] inLog = {false};
        for (File log : HistoryFiles.logs(logDir)) {
            LogScan.of(log, 0, (index, checksum, body) -> inLog[0] |= index == zxid);
        }
        return inLog[0] ? null : "that change is not in the log";
    }

    /** The log was cut: makes the cut durable and checks that it ends where it must. */
    public static void afterTruncate(File logDir, File snapDir, long zxid) throws IOException {
        long last = 0;
        List<File> files = HistoryFiles.logs(logDir);
        for (File file : files) {
            LogScan scan = LogScan.of(file, 0);
            last = Math.max(last, scan.last);
        }
        if (last > zxid) {
            throw new IllegalStateException("The log was cut at " + Indices.format(zxid) + " but still ends at "
                + Indices.format(last));
        }
        if (!files.isEmpty()) {
            syncFile(files.get(0));
        }
        Directories.sync(logDir);
        LOG.info("The log ends at {} now", Indices.format(zxid));
    }

    private static void syncFile(File file) throws IOException {
        try (FileChannel channel = FileChannel.open(file.toPath(), StandardOpenOption.WRITE)) {
            channel.force(true);
        }
    }
}

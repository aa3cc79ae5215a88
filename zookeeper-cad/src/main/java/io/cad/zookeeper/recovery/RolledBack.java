// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.recovery;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.durability.Directories;
import io.cad.zookeeper.durability.Store;
import io.cad.zookeeper.metrics.CadMetrics;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.zookeeper.server.persistence.FileTxnLog;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps what a rollback takes back, in the format of a log file, so that "what
 * did I lose?" has an answer: {@code zkTxnLogToolkit.sh} prints the files of
 * {@code cad/v1/rolled-back/}. Bounded in number and size, oldest dropped first.
 */
final class RolledBack {

    private static final Logger LOG = LoggerFactory.getLogger(RolledBack.class);

    static final String DIRECTORY = "rolled-back";
    private static final int HEADER_BYTES = 16;
    private static final String UNFINISHED = "unfinished";
    private static final int MAX_FILES = 16;
    private static final long MAX_BYTES = 64L << 20;

    private RolledBack() {
    }

    /**
     * Copies the records above an index before they are cut, if it can. Says in
     * one log line how many there are.
     *
     * @param why what takes them back
     */
    static void keep(File logDir, long above, String why) {
        try {
            copy(logDir, above, why);
        } catch (IOException e) {
            LOG.warn("Changes above {} are rolled back and could not be kept aside: {}",
                Indices.format(above), e.toString());
        }
    }

    private static void copy(File logDir, long above, String why) throws IOException {
        Copy copy = new Copy(above);
        // Oldest first, without those that end at or below the index: there may be gigabytes of them.
        for (File file : FileTxnLog.getLogFiles(HistoryFiles.files(logDir), above + 1)) {
            LogScan.of(file, 0, copy);
        }
        if (copy.records == 0) {
            return;
        }
        File kept = write(Store.of(logDir), copy);
        CadMetrics.get().rolledBack(copy.records);
        LOG.warn("Rolling back {} changes, {} to {}, {} bytes: {}. {}", copy.records, Indices.format(copy.first),
            Indices.format(copy.last), copy.bytes, why,
            kept == null ? "They are too large to be kept" : "They are kept in " + kept);
    }

    private static File write(Store store, Copy copy) throws IOException {
        if (copy.overflow) {
            return null;
        }
        File directory = new File(store.sideDirectory(), DIRECTORY);
        Directories.create(directory);
        File file = new File(directory, "log." + Long.toHexString(copy.first));
        if (file.length() >= HEADER_BYTES + copy.room) {
            // A cut goes from the newest change to the oldest. This one was interrupted, and all of it was kept before.
            return file;
        }
        // A power loss must not leave half a file under a name that is looked at.
        File unfinished = new File(directory, UNFINISHED);
        try (FileChannel channel = FileChannel.open(unfinished.toPath(), StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
            ByteBuffer header = ByteBuffer.allocate(HEADER_BYTES);
            header.putInt(FileTxnLog.TXNLOG_MAGIC).putInt(FileTxnLog.VERSION).putLong(0).flip();
            channel.write(header);
            for (ByteBuffer record : copy.kept) {
                channel.write(record);
            }
            channel.force(true);
        }
        Files.move(unfinished.toPath(), file.toPath(), StandardCopyOption.ATOMIC_MOVE);
        Directories.sync(directory);
        bound(directory, file);
        return file;
    }

    private static void bound(File directory, File newest) throws IOException {
        File[] files = directory.listFiles();
        if (files == null) {
            return;
        }
        List<File> newestFirst = new ArrayList<>(List.of(files));
        newestFirst.sort(Comparator.comparingLong(File::lastModified).reversed());
        int count = 0;
        long bytes = 0;
        for (File file : newestFirst) {
            count++;
            bytes += file.length();
            if (!file.equals(newest) && (count > MAX_FILES || bytes > MAX_BYTES)) {
                Files.deleteIfExists(file.toPath());
            }
        }
    }

    /** Collects the good records above an index. */
    private static final class Copy implements LogScan.Visitor {
        final long above;
        final List<ByteBuffer> kept = new ArrayList<>();
        long records;
        long bytes;
        long room;
        long first;
        long last;
        boolean overflow;

        Copy(long above) {
            this.above = above;
        }

        @Override
        public void record(long index, long checksum, byte[] body) {
            if (index <= above) {
                return;
            }
            first = records == 0 ? index : first;
            last = index;
            records++;
            bytes += body.length;
            overflow |= bytes > MAX_BYTES;
            if (overflow) {
                kept.clear();
                return;
            }
            ByteBuffer record = ByteBuffer.allocate(8 + 4 + body.length + 1);
            record.putLong(checksum).putInt(body.length).put(body).put((byte) 0x42).flip();
            room += record.limit();
            kept.add(record);
        }
    }
}

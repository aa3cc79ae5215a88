// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.durability;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;
import java.util.zip.Adler32;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.server.ServerMetrics;
import org.apache.zookeeper.server.ServerStats;
import org.apache.zookeeper.server.persistence.FilePadding;
import org.apache.zookeeper.server.persistence.FileTxnLog;
import org.apache.zookeeper.server.persistence.TxnLog;
import org.apache.zookeeper.server.persistence.Util;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The transaction log in upstream's format (FileTxnLog), with writing and
 * syncing told apart: {@link #append} collects records, {@link #write} hands
 * them to the operating system (they survive the death of the process),
 * {@link #sync} makes them durable and runs while others append. What is
 * persisted is announced as an event, after the sync that covers the bytes
 * and, for a new file, its directory entry.
 *
 * <p>One thread appends and writes; any thread may sync. Reading, cutting and
 * looking for the last record are upstream's.
 */
public final class CadTxnLog implements TxnLog {

    private static final Logger LOG = LoggerFactory.getLogger(CadTxnLog.class);
    private static final byte END_OF_RECORD = 0x42;
    private static final int RECORD_OVERHEAD = 8 + 4 + 1;
    private static final long SYNC_WARNING_MILLIS =
        Long.getLong("zookeeper.fsync.warningthresholdms", Long.getLong("fsync.warningthresholdms", 1000));

    /** The system call that makes a file's contents durable. */
    public interface Force {
        void force(FileChannel channel) throws IOException;
    }

    private static volatile Force force = channel -> channel.force(false);

    private final File logDir;
    private final Store store;
    private final Adler32 checksum = new Adler32();

    /** Held during a sync; taken before the monitor of this object. */
    private final Object syncLock = new Object();

    // Guarded by this object's monitor.
    private ByteBuffer buffer = ByteBuffer.allocate(64 * 1024);
    private FileChannel channel;
    private File file;
    private boolean entryIsNew;
    private long position;
    private long fileSize;
    private long lastAppended;
    private long lastWritten;
    private long unsyncedBytes;
    private long previousFiles;
    private ServerStats serverStats;

    private volatile long syncMillis = -1;

    public CadTxnLog(File logDir) {
        this.logDir = logDir;
        this.store = Store.of(logDir);
    }

    /** For tests that let a sync wait or fail inside one JVM. */
    public static void forceWith(Force replacement) {
        force = replacement;
    }

    @Override
    public synchronized void setServerStats(ServerStats stats) {
        serverStats = stats;
    }

    @Override
    public boolean append(Request request) throws IOException {
        if (request.getHdr() == null) {
            return false;
        }
        byte[] record = request.getSerializeData();
        if (record == null || record.length == 0) {
            throw new IOException("Faulty serialization for header and txn");
        }
        if (mustRollForSize()) {
            rollLog();
        }
        appendRecord(request.getHdr().getZxid(), record);
        return true;
    }

    private synchronized boolean mustRollForSize() {
        long limit = FileTxnLog.getTxnLogSizeLimit();
        return limit > 0 && channel != null && position + buffer.position() > limit;
    }

    private synchronized void appendRecord(long zxid, byte[] record) {
        if (zxid <= lastAppended) {
            LOG.warn("Current zxid 0x{} is <= 0x{}", Long.toHexString(zxid), Long.toHexString(lastAppended));
        }
        if (channel == null) {
            open(zxid);
        }
        int size = record.length + RECORD_OVERHEAD;
        if (buffer.remaining() < size) {
            write();
            if (buffer.capacity() < size) {
                buffer = ByteBuffer.allocate(size);
            }
        }
        checksum.reset();
        checksum.update(record, 0, record.length);
        buffer.putLong(checksum.getValue()).putInt(record.length).put(record).put(END_OF_RECORD);
        lastAppended = Math.max(lastAppended, zxid);
    }

    private void open(long zxid) {
        try {
            create(zxid);
        } catch (IOException e) {
            throw FailStop.storage("Creating " + file, e);
        }
    }

    private void create(long zxid) throws IOException {
        file = new File(logDir, Util.makeLogName(zxid));
        LOG.info("Creating new log file: {}", file.getName());
        channel = FileChannel.open(file.toPath(),
            StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE);
        entryIsNew = true;
        position = 0;
        fileSize = 0;
        buffer.clear();
        buffer.putInt(FileTxnLog.TXNLOG_MAGIC).putInt(FileTxnLog.VERSION).putLong(0);
        // The header precedes the padding, or an empty file would look like a torn one.
        writeBuffer();
        fileSize = position;
    }

    /**
     * Hands everything appended so far to the operating system. A failure ends
     * the server: part of a record may be in the file.
     *
     * @return highest index written
     */
    public synchronized long write() {
        if (channel != null && buffer.position() > 0) {
            try {
                pad();
                writeBuffer();
            } catch (IOException e) {
                throw FailStop.storage("Writing " + file, e);
            }
        }
        lastWritten = lastAppended;
        return lastWritten;
    }

    private void writeBuffer() throws IOException {
        buffer.flip();
        unsyncedBytes += buffer.remaining();
        while (buffer.hasRemaining()) {
            position += channel.write(buffer, position);
        }
        buffer.clear();
    }

    /** Preallocates as upstream does, so that most syncs need not record a new file size. */
    private void pad() throws IOException {
        long size = FilePadding.calculateFileSizeWithPadding(position, fileSize, FilePadding.getPreAllocSize());
        if (size != fileSize) {
            channel.write(ByteBuffer.wrap(new byte[1]), size - 1);
            fileSize = size;
        }
    }

    /**
     * Makes everything written so far durable, then announces it. Appends go
     * on meanwhile. A failure ends the server.
     *
     * @return highest index that is now persisted
     */
    public long sync() {
        synchronized (syncLock) {
            FileChannel toSync;
            File synced;
            boolean syncEntry;
            long upTo;
            synchronized (this) {
                toSync = channel;
                synced = file;
                syncEntry = entryIsNew;
                upTo = lastWritten;
                unsyncedBytes = 0;
            }
            if (toSync == null) {
                return upTo;
            }
            makeDurable(toSync, synced, syncEntry);
            synchronized (this) {
                if (syncEntry && channel == toSync) {
                    entryIsNew = false;
                }
            }
            store.persisted(upTo);
            return upTo;
        }
    }

    private void makeDurable(FileChannel toSync, File synced, boolean syncEntry) {
        long start = System.nanoTime();
        try {
            force.force(toSync);
            if (syncEntry) {
                Directories.sync(logDir);
            }
        } catch (IOException e) {
            throw FailStop.storage("Syncing " + synced, e);
        }
        long elapsed = System.nanoTime() - start;
        syncMillis = TimeUnit.NANOSECONDS.toMillis(elapsed);
        ServerMetrics.getMetrics().FSYNC_TIME.add(syncMillis);
        if (syncMillis > SYNC_WARNING_MILLIS) {
            ServerStats stats;
            synchronized (this) {
                stats = serverStats;
            }
            if (stats != null) {
                stats.incrementFsyncThresholdExceedCount();
            }
            LOG.warn("fsync-ing the write ahead log in {} took {}ms, which delays reads of fresh data. File: {}",
                Thread.currentThread().getName(), syncMillis, synced);
        }
    }

    /** Writes and syncs: after this everything appended is durable. */
    @Override
    public void commit() {
        write();
        sync();
    }

    /**
     * Ends the current file, durably: no file is opened before the previous
     * one is synced, so at most the newest can have a torn tail (rule E6).
     */
    @Override
    public void rollLog() {
        synchronized (syncLock) {
            commit();
            synchronized (this) {
                if (channel != null) {
                    finish();
                    channel = null;
                    previousFiles += position;
                    position = 0;
                    fileSize = 0;
                }
            }
        }
    }

    private void finish() {
        try {
            store.segments().finished(file, lastWritten);
            channel.close();
        } catch (IOException e) {
            throw FailStop.storage("Finishing " + file, e);
        }
    }

    @Override
    public void close() {
        rollLog();
    }

    /** Bytes written and not yet covered by a sync. */
    public synchronized long unsyncedBytes() {
        return unsyncedBytes;
    }

    @Override
    public TxnIterator read(long zxid) throws IOException {
        return new FileTxnLog(logDir).read(zxid);
    }

    @Override
    public long getLastLoggedZxid() {
        return new FileTxnLog(logDir).getLastLoggedZxid();
    }

    @Override
    public boolean truncate(long zxid) throws IOException {
        try (FileTxnLog log = new FileTxnLog(logDir)) {
            return log.truncate(zxid);
        }
    }

    @Override
    public long getDbId() throws IOException {
        try (FileTxnLog log = new FileTxnLog(logDir)) {
            return log.getDbId();
        }
    }

    @Override
    public long getTxnLogSyncElapsedTime() {
        return syncMillis;
    }

    @Override
    public synchronized void setTotalLogSize(long size) {
        previousFiles = size;
    }

    @Override
    public synchronized long getTotalLogSize() {
        return previousFiles + position;
    }
}

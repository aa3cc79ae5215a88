// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.recovery;

import io.cad.zookeeper.core.Indices;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.zip.Adler32;
import org.apache.zookeeper.server.persistence.FileTxnLog;

/**
 * Reads one log file record by record and says where the run of good records
 * ends and why. It trusts nothing: upstream's iterator throws at a torn record
 * and silently skips a hole before the file of a newer epoch.
 */
final class LogScan {

    private static final int HEADER_SIZE = 16;
    private static final int RECORD_OVERHEAD = 8 + 4 + 1;
    /** Position of the zxid in a serialised header: after client id and cxid. */
    private static final int ZXID_OFFSET = 8 + 4;

    /** Sees every good record. */
    interface Visitor {
        void record(long index, long checksum, byte[] body);
    }

    private static final Visitor NOBODY = (index, checksum, body) -> { };

    final File file;
    private final Visitor visitor;
    /** Index of the first good record, 0 if there is none. */
    long first;
    /** Index of the last good record, the one given if there is none. */
    long last;
    /** Bytes from the start of the file to the end of the last good record. */
    long goodBytes;
    /** Good records. */
    long records;
    /** Why the run ended before the end of the written part, or null. */
    String defect;

    private LogScan(File file, long previous, Visitor visitor) {
        this.file = file;
        this.last = previous;
        this.visitor = visitor;
    }

    /**
     * Scans a file.
     *
     * @param previous index of the record before this file, 0 if none is known
     */
    static LogScan of(File file, long previous) throws IOException {
        return of(file, previous, NOBODY);
    }

    static LogScan of(File file, long previous, Visitor visitor) throws IOException {
        LogScan scan = new LogScan(file, previous, visitor);
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(file), 1 << 16))) {
            scan.run(in, file.length());
        }
        return scan;
    }

    /** A file of which nothing may be used. */
    static LogScan unusable(File file, String defect) {
        LogScan scan = new LogScan(file, 0, NOBODY);
        scan.defect = defect;
        return scan;
    }

    private void run(DataInputStream in, long length) throws IOException {
        if (length < HEADER_SIZE) {
            defect = "the file header is incomplete";
            return;
        }
        if (in.readInt() != FileTxnLog.TXNLOG_MAGIC || in.readInt() != FileTxnLog.VERSION) {
            defect = "the file header is not that of a log";
            return;
        }
        in.readLong();
        goodBytes = HEADER_SIZE;
        Adler32 checksum = new Adler32();
        while (defect == null && goodBytes < length) {
            if (!record(in, length, checksum)) {
                return;
            }
        }
    }

    /** Reads one record; false at the end of what was written. */
    private boolean record(DataInputStream in, long length, Adler32 checksum) throws IOException {
        long left = length - goodBytes;
        if (left < RECORD_OVERHEAD) {
            return endedByZeros(in, 0);
        }
        long crc = in.readLong();
        int size = in.readInt();
        if (crc == 0 && size == 0) {
            return endedByZeros(in, RECORD_OVERHEAD - 1);
        }
        if (size < ZXID_OFFSET + 8 || size > left - RECORD_OVERHEAD) {
            defect = "a record has an impossible length";
            return false;
        }
        byte[] bytes = new byte[size];
        in.readFully(bytes);
        checksum.reset();
        checksum.update(bytes, 0, size);
        if (checksum.getValue() != crc || in.readByte() != 0x42) {
            defect = "a record does not verify";
            return false;
        }
        long zxid = ByteBuffer.wrap(bytes).getLong(ZXID_OFFSET);
        if (last != 0 && !follows(last, zxid)) {
            defect = Indices.format(zxid) + " does not follow " + Indices.format(last);
            return false;
        }
        if (first == 0) {
            first = zxid;
        }
        last = zxid;
        records++;
        visitor.record(zxid, crc, bytes);
        goodBytes += size + RECORD_OVERHEAD;
        return true;
    }

    /**
     * Within an epoch every index is present. Inside a file a newer epoch may
     * begin anywhere: a stock server that took over a snapshot went on in the
     * same file.
     */
    private static boolean follows(long previous, long next) {
        return next == previous + 1 || Indices.epoch(next) > Indices.epoch(previous);
    }

    /** Between files, and behind a snapshot, an epoch begins with its first index. */
    static boolean begins(long previous, long next) {
        if (next == previous + 1) {
            return true;
        }
        if (System.getProperty("zookeeper.testingonly.initialZxid") != null) {
            // Upstream's setting puts each epoch's first index anywhere, also behind a snapshot of its beginning.
            return Indices.epoch(next) > Indices.epoch(previous)
                || Indices.epoch(next) == Indices.epoch(previous) && Indices.counter(previous) == 0;
        }
        return Indices.epoch(next) > Indices.epoch(previous) && Indices.counter(next) == 1;
    }

    /** Preallocated space is zero to the end; anything else was written above a hole. */
    private boolean endedByZeros(DataInputStream in, int alreadyRead) throws IOException {
        byte[] chunk = new byte[1 << 16];
        try {
            for (int n = in.read(chunk); n > 0; n = in.read(chunk)) {
                for (int i = 0; i < n; i++) {
                    if (chunk[i] != 0) {
                        defect = "records follow a gap of zeros";
                        return false;
                    }
                }
            }
        } catch (EOFException e) {
            return false;
        }
        return false;
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testing;

import io.cad.zookeeper.core.Indices;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.server.persistence.FileTxnLog;
import org.apache.zookeeper.server.persistence.TxnLog;
import org.apache.zookeeper.server.persistence.TxnLog.TxnIterator;
import org.apache.zookeeper.txn.CreateTxn;
import org.apache.zookeeper.txn.TxnHeader;

/** Log files as a test needs them: written through the real classes, then damaged. */
public final class LogFiles {

    private LogFiles() {
    }

    /** The change at an index: it creates a node named after it. */
    public static Request txn(long index) {
        return txn(index, 20);
    }

    /** A change with so many bytes of data. */
    public static Request txn(long index, int size) {
        TxnHeader header = new TxnHeader(1, (int) Indices.counter(index), index, 1_000_000, OpCode.create);
        byte[] data = new byte[size];
        Arrays.fill(data, (byte) 7);
        return new Request(1, header.getCxid(), OpCode.create, header,
            new CreateTxn(path(index), data, ZooDefs.Ids.OPEN_ACL_UNSAFE, false, (int) Indices.counter(index)), index);
    }

    /** Name of the node that the change at an index creates. */
    public static String path(long index) {
        return "/n" + Indices.epoch(index) + "-" + Indices.counter(index);
    }

    /** Writes one file with the changes from..to of one epoch and makes it durable. */
    public static File write(TxnLog log, File directory, long from, long to) throws IOException {
        for (long index = from; index <= to; index++) {
            log.append(txn(index));
        }
        log.commit();
        log.rollLog();
        return file(directory, from);
    }

    /** The log file whose first change has this index. */
    public static File file(File directory, long first) {
        return new File(directory, "log." + Long.toHexString(first));
    }

    /** The indices that upstream's reader finds. */
    public static List<Long> indices(File directory, long from) throws IOException {
        List<Long> found = new ArrayList<>();
        try (FileTxnLog log = new FileTxnLog(directory); TxnIterator records = log.read(from)) {
            if (records.getHeader() != null) {
                do {
                    found.add(records.getHeader().getZxid());
                } while (records.next());
            }
        }
        return found;
    }

    /** Where the records of a file begin, by index, and under {@code Long.MAX_VALUE} where the last one ends. */
    public static Map<Long, Long> positions(File file) throws IOException {
        Map<Long, Long> positions = new TreeMap<>();
        try (RandomAccessFile in = new RandomAccessFile(file, "r")) {
            long at = 16;
            while (at + 12 < in.length()) {
                in.seek(at + 8);
                int size = in.readInt();
                if (size == 0) {
                    break;
                }
                in.seek(at + 12 + 12);
                positions.put(in.readLong(), at);
                at += 12 + size + 1;
            }
            positions.put(Long.MAX_VALUE, at);
        }
        return positions;
    }

    /** Zeroes bytes, as a sector that never reached the disk reads. */
    public static void zero(File file, long from, long to) throws IOException {
        try (RandomAccessFile out = new RandomAccessFile(file, "rw")) {
            out.seek(from);
            out.write(new byte[(int) (Math.min(to, out.length()) - from)]);
        }
    }

    /** Every file below a directory with its content: two such maps are equal if nothing was changed. */
    public static Map<String, String> contents(File directory) throws IOException {
        Map<String, String> contents = new TreeMap<>();
        try (Stream<Path> all = Files.walk(directory.toPath())) {
            for (Path path : (Iterable<Path>) all.filter(Files::isRegularFile)::iterator) {
                contents.put(directory.toPath().relativize(path).toString(),
                    Files.size(path) + ":" + Arrays.hashCode(Files.readAllBytes(path)));
            }
        }
        return contents;
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.durability;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Map;
import java.util.TreeMap;
import org.apache.zookeeper.common.AtomicFileOutputStream;

/**
 * Where each finished log file ends. A file is finished, and synced, before
 * the next one is opened, so a shorter one has lost what was durable. Without
 * this record a hole before the file of a newer epoch cannot be seen: nothing
 * else says how far the older epoch went.
 */
public final class SegmentEnds {

    private final File record;
    private final Map<String, Long> ends = new TreeMap<>();

    /** Reads a record, if there is one. */
    public SegmentEnds(File record) throws IOException {
        this.record = record;
        if (!record.exists()) {
            return;
        }
        for (String line : Files.readAllLines(record.toPath(), StandardCharsets.UTF_8)) {
            String[] words = line.split(" ");
            if (words.length != 2 || !words[1].matches("[0-9a-f]{1,16}")) {
                throw new IOException("Cannot read " + record + ": '" + line + "'; delete the file to start without it");
            }
            ends.put(words[0], Long.parseUnsignedLong(words[1], 16));
        }
    }

    /** Index of the last entry of a finished file, or null if none was recorded. */
    public synchronized Long end(File log) {
        return ends.get(log.getName());
    }

    synchronized boolean isEmpty() {
        return ends.isEmpty();
    }

    /** A log file is finished and durable; records it durably. Files that are gone are forgotten. */
    public synchronized void finished(File log, long last) throws IOException {
        ends.keySet().removeIf(name -> !new File(log.getParentFile(), name).exists());
        Long before = ends.put(log.getName(), last);
        if (before == null || before != last) {
            write();
        }
    }

    /** The log is about to be cut behind an index: no record may claim more. */
    synchronized void cut(long index) throws IOException {
        if (ends.values().removeIf(end -> end > index)) {
            write();
        }
    }

    private void write() throws IOException {
        StringBuilder lines = new StringBuilder();
        ends.forEach((name, end) -> lines.append(name).append(' ').append(Long.toHexString(end)).append('\n'));
        AtomicFileOutputStream out = new AtomicFileOutputStream(record);
        out.write(lines.toString().getBytes(StandardCharsets.UTF_8));
        out.close();
        Directories.sync(record.getParentFile());
    }
}

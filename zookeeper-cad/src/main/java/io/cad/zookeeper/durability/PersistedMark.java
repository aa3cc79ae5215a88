// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.durability;

import io.cad.zookeeper.core.Indices;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;

/**
 * The recorded persisted mark: a lower bound of what the log has synced. It
 * tells a torn tail (above it) from corruption (at or below it), rule E5.
 * Raising it needs no sync, since a stale mark is only lower; lowering it is
 * synced before anything is cut.
 */
public final class PersistedMark implements Closeable {

    private static final int SIZE = 16;

    private final FileChannel channel;
    private final ByteBuffer buffer = ByteBuffer.allocateDirect(SIZE);
    private long value;

    /** Opens or creates the mark; a file that does not verify counts as 0, the weakest bound. */
    public PersistedMark(File file) throws IOException {
        boolean fresh = !file.exists();
        channel = FileChannel.open(file.toPath(),
            StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
        value = read(channel);
        if (fresh) {
            write(0);
            channel.force(true);
            Directories.sync(file.getParentFile());
        }
    }

    /** The mark in a file, 0 if there is none; changes nothing. */
    public static long peek(File file) throws IOException {
        if (!file.exists()) {
            return 0;
        }
        try (FileChannel channel = FileChannel.open(file.toPath(), StandardOpenOption.READ)) {
            return read(channel);
        }
    }

    private static long read(FileChannel channel) throws IOException {
        ByteBuffer read = ByteBuffer.allocate(SIZE);
        int n = channel.read(read, 0);
        if (n < SIZE || read.getLong(0) != ~read.getLong(8)) {
            return 0;
        }
        return read.getLong(0);
    }

    /** Highest index known to have been synced. */
    public synchronized long value() {
        return value;
    }

    /** Raises the mark after a successful sync; a lower index is ignored. */
    public synchronized void raise(long index) throws IOException {
        if (index > value) {
            write(index);
        }
    }

    /** Raises the mark and makes it durable, whatever its value. */
    public synchronized void raiseDurably(long index) throws IOException {
        raise(index);
        channel.force(true);
    }

    /** Lowers the mark durably, before the log is cut behind the index. */
    public synchronized void lower(long index) throws IOException {
        if (index < value) {
            write(index);
            channel.force(true);
        }
    }

    private void write(long index) throws IOException {
        buffer.clear();
        buffer.putLong(index).putLong(~index).flip();
        for (long at = 0; buffer.hasRemaining();) {
            at += channel.write(buffer, at);
        }
        value = index;
    }

    @Override
    public synchronized void close() throws IOException {
        channel.close();
    }

    @Override
    public String toString() {
        return Indices.format(value());
    }
}

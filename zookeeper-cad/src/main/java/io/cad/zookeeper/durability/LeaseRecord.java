// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.durability;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/**
 * What a server must remember of its leases across the end of its process: how many processes it has had, and the
 * longest promise that one of them may still owe. Each write replaces the file as a whole.
 */
public final class LeaseRecord {

    /** No promise was ever recorded. */
    public static final long NO_PROMISE = -1;

    private static final int SIZE = 24;

    private final File file;
    private long process;
    private long promise = NO_PROMISE;

    /** Reads the record, if there is one. */
    public LeaseRecord(File file) throws IOException {
        this.file = file;
        if (file.exists()) {
            byte[] bytes = Files.readAllBytes(file.toPath());
            ByteBuffer in = ByteBuffer.wrap(bytes);
            if (bytes.length < SIZE || in.getLong(0) + in.getLong(8) != ~in.getLong(16)) {
                throw new IOException(file + " does not verify, so what this server has promised is unknown; remove it, "
                    + "and start the server when cad.promise has passed since its last life");
            }
            process = in.getLong(0);
            promise = in.getLong(8);
        }
    }

    /**
     * A process of the server begins.
     *
     * @param atLeast its number must not be lower
     * @return its number, durably recorded and higher than that of every earlier process
     */
    public synchronized long nextProcess(long atLeast) throws IOException {
        write(Math.max(process + 1, atLeast), promise);
        return process;
    }

    /** Nanoseconds, or {@link #NO_PROMISE}. */
    public synchronized long promise() {
        return promise;
    }

    /** Returns when the promise is durably recorded. */
    public synchronized void promise(long nanos) throws IOException {
        write(process, nanos);
    }

    private void write(long newProcess, long newPromise) throws IOException {
        File fresh = new File(file.getPath() + ".new");
        ByteBuffer out = ByteBuffer.allocate(SIZE);
        out.putLong(newProcess).putLong(newPromise).putLong(~(newProcess + newPromise)).flip();
        try (FileChannel channel = FileChannel.open(fresh.toPath(), StandardOpenOption.CREATE,
                StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
            while (out.hasRemaining()) {
                channel.write(out);
            }
            channel.force(true);
        }
        Files.move(fresh.toPath(), file.toPath(), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        Directories.sync(file.getParentFile());
        process = newProcess;
        promise = newPromise;
    }
}

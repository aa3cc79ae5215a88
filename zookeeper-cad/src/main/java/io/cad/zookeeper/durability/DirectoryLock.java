// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.durability;

import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.StandardOpenOption;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One process at a time writes to a data directory. To anybody else the record that a server is about to finish looks
 * torn: a repair, or the start of a second server, would cut it off below the first one's feet. The operating system
 * gives the lock back when the process ends, however it ends.
 */
public final class DirectoryLock implements Closeable {

    private static final Logger LOG = LoggerFactory.getLogger(DirectoryLock.class);

    private final FileChannel channel;

    private DirectoryLock(FileChannel channel) {
        this.channel = channel;
    }

    /**
     * Takes the lock.
     *
     * @param file made if it is not there
     * @throws IOException somebody else has it, or the file cannot be opened
     */
    public static DirectoryLock take(File file) throws IOException {
        FileChannel channel = FileChannel.open(file.toPath(), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        boolean taken = false;
        try {
            taken = lock(channel, false, file);
        } finally {
            if (!taken) {
                channel.close();
            }
        }
        if (!taken) {
            throw isTaken(file);
        }
        return new DirectoryLock(channel);
    }

    /**
     * For somebody who only reads. Not within the process that has the lock: it would lose it.
     *
     * @throws IOException somebody has the lock
     */
    public static void requireFree(File file) throws IOException {
        if (file.exists()) {
            try (FileChannel channel = FileChannel.open(file.toPath(), StandardOpenOption.READ)) {
                if (!lock(channel, true, file)) {
                    throw isTaken(file);
                }
            }
        }
    }

    private static IOException isTaken(File file) {
        return new IOException("A server runs here, as the lock " + file + " says: stop it first");
    }

    private static boolean lock(FileChannel channel, boolean shared, File file) {
        try {
            FileLock lock = channel.tryLock(0, Long.MAX_VALUE, shared);
            return lock != null;
        } catch (OverlappingFileLockException e) {
            return false;
        } catch (IOException e) {
            // Some file systems have no locks; without one nothing is worse than it was.
            LOG.warn("No lock on {}: {}; see to it that one server alone uses this directory", file, e.toString());
            return true;
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.disk;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

/** The disk of one server: a directory, and what happens to it when the power goes. */
public interface Disk extends AutoCloseable {

    /** What one power loss took away. */
    record Loss(long files, long bytes) {
        public Loss plus(Loss other) {
            return new Loss(files + other.files, bytes + other.bytes);
        }
    }

    /** Where the server keeps its data. */
    Path directory();

    /** Environment variables that the server's process needs so that the disk sees its calls. */
    Map<String, String> environment();

    /** Makes durable all that was written so far, as an operating system does some time after a start. */
    void sync() throws IOException, InterruptedException;

    /**
     * Sets how long each fsync takes from now on.
     *
     * @param millis at least this many milliseconds; 0 means that the device below really flushes, and takes its time
     */
    void setSyncLatency(double millis) throws IOException, InterruptedException;

    /** Takes all space away, or gives it back: from then on what needs space fails with ENOSPC. */
    void setFull(boolean full) throws IOException, InterruptedException;

    /** Lets every operation wait from now on, or go on. */
    void setFrozen(boolean frozen) throws IOException, InterruptedException;

    /**
     * Power loss: everything that was written and not synced is gone. No process may have files open here.
     *
     * @return what was lost
     */
    Loss powerLoss() throws IOException, InterruptedException;

    @Override
    void close() throws IOException;
}

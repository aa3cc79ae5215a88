// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.recovery;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.durability.Directories;
import io.cad.zookeeper.durability.Store;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import org.apache.zookeeper.common.AtomicFileOutputStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The recorded epoch and the log are two files, written in this order: log,
 * then epoch (rule E2). After a crash between the two upstream refuses to
 * start, because the log is ahead. An entry of an epoch in an unbroken log
 * proves that the whole initial history of that epoch is there, so the epoch
 * may be recorded after the fact.
 */
final class EpochFiles {

    private static final Logger LOG = LoggerFactory.getLogger(EpochFiles.class);
    private static final String CURRENT = "currentEpoch";
    private static final String ACCEPTED = "acceptedEpoch";

    private EpochFiles() {
    }

    /**
     * Records the epoch of the last entry if the crash came before that.
     *
     * @param end index of the last entry of log or snapshot, all of which is synced
     */
    static void catchUp(Store store, File snapDir, long end) throws IOException {
        long epoch = Indices.epoch(Math.max(end, 0));
        long current = current(snapDir);
        if (current < 0 || epoch <= current || epoch > read(new File(snapDir, ACCEPTED))) {
            return;
        }
        store.recordEpoch(epoch);
        AtomicFileOutputStream out = new AtomicFileOutputStream(new File(snapDir, CURRENT));
        out.write(Long.toString(epoch).getBytes(StandardCharsets.UTF_8));
        out.close();
        Directories.sync(snapDir);
        LOG.warn("The log reaches {} but the recorded epoch was {}: the crash came between the two; recorded epoch {}",
            Indices.format(end), current, epoch);
    }

    /** The recorded epoch, -1 if there is none. */
    static long current(File snapDir) throws IOException {
        return read(new File(snapDir, CURRENT));
    }

    private static long read(File file) throws IOException {
        if (!file.exists()) {
            return -1;
        }
        try {
            return Long.parseLong(new String(Files.readAllBytes(file.toPath()), StandardCharsets.UTF_8).trim());
        } catch (NumberFormatException e) {
            return -1;
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.recovery;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.durability.Directories;
import io.cad.zookeeper.durability.Store;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Replaces a server's history by the leader's whole state (rule E4). A new
 * snapshot beside the old log would be read together with it, dead tail
 * included, so the switch is one rename: before it the old history counts,
 * after it the new one, and a start in between finishes what was begun.
 */
final class Adoption {

    private static final Logger LOG = LoggerFactory.getLogger(Adoption.class);
    private static final String DECIDED = "adopted";

    private Adoption() {
    }

    /**
     * Switches to a new state. What that takes back is kept before the decision: a start that completes the switch may
     * find part of the log.
     *
     * @param synced the whole snapshot, durable, under its final name in a directory that no start reads
     * @param common where the history that is replaced departs from the leader's, if not at the snapshot
     */
    static void adopt(File synced, File logDir, File snapDir, long common) throws IOException {
        RolledBack.keep(logDir, Math.min(common, HistoryFiles.index(synced)), "the leader's state replaces them");
        File decided = new File(Store.of(snapDir).sideDirectory(), DECIDED);
        Directories.create(decided);
        Files.move(synced.toPath(), new File(decided, synced.getName()).toPath(), StandardCopyOption.ATOMIC_MOVE);
        finish(logDir, snapDir);
    }

    /** Whether a switch was decided and not completed. */
    static boolean isPending(File snapDir) {
        return !HistoryFiles.snapshots(new File(Store.sideDirectory(snapDir), DECIDED)).isEmpty();
    }

    /** Completes a switch that was decided; does nothing if there is none. */
    static void finish(File logDir, File snapDir) throws IOException {
        File decided = new File(Store.of(snapDir).sideDirectory(), DECIDED);
        for (File snapshot : HistoryFiles.snapshots(decided)) {
            // Before anything is deleted; whoever decided may have been killed.
            Directories.sync(decided);
            long base = HistoryFiles.index(snapshot);
            Store.of(logDir).cut(base);
            int removed = 0;
            for (File log : HistoryFiles.logs(logDir)) {
                Files.delete(log.toPath());
                removed++;
            }
            Directories.sync(logDir);
            for (File old : HistoryFiles.snapshots(snapDir)) {
                if (HistoryFiles.index(old) > base) {
                    Files.delete(old.toPath());
                    removed++;
                }
            }
            Files.move(snapshot.toPath(), new File(snapDir, snapshot.getName()).toPath(),
                StandardCopyOption.ATOMIC_MOVE);
            Directories.sync(snapDir);
            Directories.sync(decided);
            Store.of(logDir).needFullState(false);
            LOG.info("Took over the leader's state at {}; {} files of the old history removed",
                Indices.format(base), removed);
        }
    }
}

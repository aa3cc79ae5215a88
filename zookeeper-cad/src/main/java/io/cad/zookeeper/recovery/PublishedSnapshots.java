// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.recovery;

import io.cad.zookeeper.durability.Directories;
import io.cad.zookeeper.durability.Store;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.persistence.FileSnap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Snapshots that never contain what may be rolled back (rule E4): written
 * under another name, synced, and renamed into place only when the last
 * change that may be in them is durable. Upstream's cut of the log below a
 * snapshot succeeds and keeps the dead changes.
 */
public final class PublishedSnapshots extends FileSnap {

    private static final Logger LOG = LoggerFactory.getLogger(PublishedSnapshots.class);

    private final File snapDir;
    private final Store store;

    /** @param snapDir dataDir/version-2 */
    public PublishedSnapshots(File snapDir) {
        super(snapDir);
        this.snapDir = snapDir;
        this.store = Store.of(snapDir);
    }

    @Override
    public synchronized void serialize(DataTree tree, Map<Long, Integer> sessions, File snapshot, boolean fsync)
        throws IOException {
        File waiting = new File(store.sideDirectory(), "unpublished");
        Directories.create(waiting);
        File hidden = new File(waiting, snapshot.getName());
        Store.SnapshotGate gate = store.snapshotGate();
        try {
            super.serialize(tree, sessions, hidden, true);
            File logDir = store.adoptingFor();
            if (logDir != null) {
                Adoption.adopt(hidden, logDir, snapDir, store.commonHistory());
                return;
            }
            if (gate != null && !published(gate, snapshot)) {
                return;
            }
            Files.move(hidden.toPath(), snapshot.toPath(), StandardCopyOption.ATOMIC_MOVE);
            Directories.sync(snapDir);
        } finally {
            Files.deleteIfExists(hidden.toPath());
        }
    }

    private static boolean published(Store.SnapshotGate gate, File snapshot) throws IOException {
        try {
            if (gate.awaitDurable(gate.applying())) {
                return true;
            }
            LOG.info("Dropped {}: the role ended before its contents were durable", snapshot.getName());
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while waiting to publish " + snapshot, e);
        }
    }
}

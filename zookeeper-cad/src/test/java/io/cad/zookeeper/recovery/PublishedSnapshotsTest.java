// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.durability.Store;
import io.cad.zookeeper.testing.Await;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.persistence.SnapStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** No snapshot under its final name holds what may be rolled back. */
class PublishedSnapshotsTest {

    /** D and the applied index, in the test's hand. */
    private static final class Gate implements Store.SnapshotGate {
        private final CompletableFuture<Boolean> durable = new CompletableFuture<>();
        private final CompletableFuture<Long> waitedFor = new CompletableFuture<>();
        volatile Runnable whenAsked = () -> { };
        volatile long applying;

        @Override
        public boolean awaitDurable(long index) {
            waitedFor.complete(index);
            return durable.join();
        }

        @Override
        public long applying() {
            whenAsked.run();
            return applying;
        }
    }

    @TempDir
    Path temp;

    private File directory;
    private File snapshot;
    private PublishedSnapshots snapshots;
    private Gate gate;

    @BeforeEach
    void open() {
        directory = temp.resolve("version-2").toFile();
        assertTrue(directory.mkdirs());
        snapshot = new File(directory, "snapshot.5");
        snapshots = new PublishedSnapshots(directory);
        gate = new Gate();
        Store.of(directory).gateSnapshots(gate);
    }

    private void serialize() {
        try {
            snapshots.serialize(new DataTree(), new ConcurrentHashMap<>(), snapshot, false);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private File hidden() throws IOException {
        return new File(new File(Store.of(directory).sideDirectory(), "unpublished"), "snapshot.5");
    }

    /** Changes go on while the tree is written: the end of the writing decides. */
    @Test
    void waitsForWhatWasAppliedWhenTheWritingEnded() throws Exception {
        gate.applying = 5;
        gate.whenAsked = () -> {
            try {
                assertTrue(hidden().length() > 0, "the index is asked for after the writing");
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            gate.applying = 9;
        };
        CompletableFuture<Void> done = CompletableFuture.runAsync(this::serialize);
        assertEquals(9, Await.get("the index waited for", gate.waitedFor));
        assertTrue(hidden().exists());
        assertFalse(snapshot.exists(), "published before it is durable");
        gate.durable.complete(true);
        Await.get("the snapshot", done);
        assertTrue(SnapStream.isValidSnapshot(snapshot));
        assertFalse(hidden().exists());
    }

    @Test
    void isDroppedWhenTheRoleEndsFirst() throws Exception {
        gate.durable.complete(false);
        serialize();
        assertFalse(snapshot.exists());
        assertFalse(hidden().exists());
    }

    @Test
    void isPublishedAtOnceWithoutARole() throws Exception {
        Store.of(directory).gateSnapshots(null);
        serialize();
        assertTrue(SnapStream.isValidSnapshot(snapshot));
    }
}

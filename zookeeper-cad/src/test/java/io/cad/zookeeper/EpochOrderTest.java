// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.durability.CadTxnLog;
import io.cad.zookeeper.durability.Directories;
import io.cad.zookeeper.durability.Store;
import io.cad.zookeeper.testing.Disk;
import io.cad.zookeeper.testing.LogFiles;
import io.cad.zookeeper.testing.Settings;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.zookeeper.server.persistence.FilePadding;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;
import org.apache.zookeeper.server.quorum.QuorumPeer;
import org.apache.zookeeper.server.quorum.QuorumPeer.QuorumServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Log before epoch. A server whose epoch file survived a power loss and whose
 * log tail did not would win elections and erase what others hold durably.
 */
class EpochOrderTest {

    @TempDir
    Path temp;

    private Settings settings;
    private Disk disk;
    private QuorumPeer peer;
    private File directory;
    private final List<String> calls = new ArrayList<>();

    @BeforeEach
    void open() throws IOException {
        FilePadding.setPreallocSize(64 * 1024);
        settings = Settings.of("cad.durability", "cad", "zookeeper.admin.enableServer", "false");
        disk = new Disk();
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        peer = new QuorumPeer(Map.of(1L, new QuorumServer(1, any, any, any)), temp.toFile(), temp.toFile(), 0, 3, 1,
            1000, 5, 5, 5);
        directory = peer.getTxnFactory().getSnapDir();
        peer.setCurrentEpoch(1);
        Directories.observeWith(synced -> {
            if (synced.getAbsoluteFile().equals(directory.getAbsoluteFile())) {
                calls.add("directory synced, epoch " + recordedEpoch());
            }
        });
        CadTxnLog.forceWith(channel -> {
            calls.add("log synced, epoch " + recordedEpoch());
            channel.force(false);
        });
    }

    @AfterEach
    void close() throws IOException {
        Directories.observeWith(synced -> { });
        peer.getTxnFactory().close();
        disk.close();
        settings.close();
    }

    private String recordedEpoch() {
        try {
            return Files.readString(new File(directory, "currentEpoch").toPath()).trim();
        } catch (IOException e) {
            return "none";
        }
    }

    private void append(long from, long to) throws IOException {
        for (long counter = from; counter <= to; counter++) {
            peer.getTxnFactory().append(LogFiles.txn(Indices.of(1, counter)));
        }
    }

    @Test
    void logIsSyncedBeforeTheEpochAndItsDirectoryAfter() throws IOException {
        append(1, 5);
        peer.setCurrentEpoch(2);
        assertEquals("2", recordedEpoch());
        assertEquals("log synced, epoch 1", calls.get(0), calls::toString);
        assertEquals("directory synced, epoch 2", calls.get(calls.size() - 1), calls::toString);
    }

    @Test
    void acceptedEpochIsDurableToo() throws IOException {
        peer.setAcceptedEpoch(7);
        assertEquals(1, calls.size(), calls::toString);
        assertTrue(calls.get(0).startsWith("directory synced"), calls::toString);
    }

    @Test
    void failedSyncLeavesTheOldEpoch() throws IOException {
        append(1, 5);
        CadTxnLog.forceWith(channel -> {
            throw new IOException("injected: the sync failed");
        });
        assertThrows(IllegalStateException.class, () -> peer.setCurrentEpoch(2));
        assertEquals("1", recordedEpoch());
        assertEquals(1, disk.exits());
        CadTxnLog.forceWith(channel -> channel.force(false));
    }

    /** After that a damaged tail of the epoch's initial history is corruption, not a torn tail. */
    @Test
    void markCoversTheHistoryThatTheEpochBeginsWith() throws IOException {
        append(1, 5);
        peer.setCurrentEpoch(2);
        assertEquals(Indices.of(1, 5), Store.of(directory).mark().value());
    }

    /** So too when nothing was appended since the start, and the mark was never raised. */
    @Test
    void markCoversAHistoryFromAnEarlierProcess() throws IOException {
        append(1, 5);
        FileTxnSnapLog files = peer.getTxnFactory();
        files.commit();
        files.rollLog();
        Store.of(directory).mark().lower(Indices.of(1, 2));
        peer.setCurrentEpoch(2);
        assertEquals(Indices.of(1, 5), Store.of(directory).mark().value());
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.durability.Store;
import io.cad.zookeeper.testing.LogFiles;
import io.cad.zookeeper.testing.Settings;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.persistence.FilePadding;
import org.apache.zookeeper.server.persistence.FileTxnLog;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Taking back, from log and snapshots, what a new leader does not have. */
class RollbackTest {

    @TempDir
    Path temp;

    private Settings settings;
    private File directory;
    private FileTxnSnapLog files;

    @BeforeEach
    void open() throws IOException {
        FilePadding.setPreallocSize(64 * 1024);
        settings = Settings.of("cad.durability", "cad");
        files = new FileTxnSnapLog(temp.toFile(), temp.toFile());
        directory = files.getDataLogDir();
        Store.of(directory).listen(index -> { }, 0);
        snapshot(0);
    }

    @AfterEach
    void close() throws IOException {
        files.close();
        settings.close();
    }

    private static long at(long counter) {
        return Indices.of(1, counter);
    }

    private void append(long from, long to) throws IOException {
        for (long index = from; index <= to; index++) {
            files.append(LogFiles.txn(index));
        }
        files.commit();
    }

    private void snapshot(long index) throws IOException {
        DataTree tree = new DataTree();
        tree.lastProcessedZxid = index;
        files.save(tree, new ConcurrentHashMap<>(), true);
    }

    /** Restores with new objects, as a new process does. */
    private DataTree restored() throws IOException {
        DataTree tree = new DataTree();
        FileTxnSnapLog again = new FileTxnSnapLog(temp.toFile(), temp.toFile());
        again.restore(tree, new ConcurrentHashMap<>(), (header, record, digest) -> { });
        again.close();
        return tree;
    }

    @Test
    void cutLogEndsWhereTheLeadersDoes() throws IOException {
        append(at(1), at(20));
        files.rollLog();
        assertTrue(files.truncateLog(at(12)));
        DataTree tree = restored();
        assertEquals(at(12), tree.lastProcessedZxid);
        assertNotNull(tree.getNode(LogFiles.path(at(12))));
        assertNull(tree.getNode(LogFiles.path(at(13))));
        append(Indices.of(2, 1), Indices.of(2, 3));
        assertEquals(Indices.of(2, 3), restored().lastProcessedZxid);
    }

    /** A deposed server still has its log open when it is told to cut it. */
    @Test
    void cutOfAnOpenLogLowersTheMarkForGood() throws IOException {
        append(at(1), at(20));
        assertEquals(at(20), Store.of(directory).mark().value());
        assertTrue(files.truncateLog(at(12)));
        assertEquals(at(12), Store.of(directory).mark().value(), "a mark above the log's end refuses the next start");
        assertEquals(at(12), Store.of(directory).persisted());
        assertEquals(at(12), restored().lastProcessedZxid);
    }

    @Test
    void cutRemovesLaterFiles() throws IOException {
        append(at(1), at(10));
        files.rollLog();
        append(at(11), at(20));
        files.rollLog();
        append(at(21), at(30));
        assertTrue(files.truncateLog(at(8)));
        assertFalse(LogFiles.file(directory, at(11)).exists());
        assertFalse(LogFiles.file(directory, at(21)).exists());
        assertEquals(at(8), restored().lastProcessedZxid);
    }

    /** E3: upstream answers true here and keeps what was to be taken back. */
    /** A cut that was interrupted finds less than it has kept already. */
    @Test
    void whatWasKeptIsNotReplacedByLess() throws IOException {
        append(at(1), at(10));
        files.rollLog();
        append(at(11), at(20));
        Rollback.beforeTruncate(directory, directory, at(5));
        Files.delete(LogFiles.file(directory, at(11)).toPath());
        Rollback.beforeTruncate(directory, directory, at(5));
        File kept = new File(Store.sideDirectory(directory), "rolled-back");
        assertEquals(15, LogFiles.indices(kept, 0).size());
        assertEquals(1, kept.list().length, "and nothing unfinished is left");
    }

    @Test
    void cutBelowASnapshotIsRefusedUnchanged() throws IOException {
        append(at(1), at(15));
        snapshot(at(15));
        files.rollLog();
        Map<String, String> before = LogFiles.contents(temp.toFile());
        assertThrows(IllegalStateException.class, () -> files.truncateLog(at(10)));
        assertEquals(before, LogFiles.contents(temp.toFile()));
        assertEquals(at(15), restored().lastProcessedZxid);
    }

    /** E5: the log begins above the cut, in what came with a snapshot. */
    @Test
    void cutIntoWhatASnapshotCoversIsRefusedUnchanged() throws IOException {
        snapshot(at(15));
        append(at(16), at(20));
        files.rollLog();
        Map<String, String> before = LogFiles.contents(temp.toFile());
        assertThrows(IllegalStateException.class, () -> files.truncateLog(at(12)));
        assertEquals(before, LogFiles.contents(temp.toFile()));
    }

    /** An index that is not in the log cannot be its end: upstream then keeps the next record above it. */
    @Test
    void cutAtAnIndexThatIsNotThereIsRefused() throws IOException {
        append(at(1), at(10));
        append(Indices.of(2, 1), Indices.of(2, 3));
        files.rollLog();
        assertThrows(IllegalStateException.class, () -> files.truncateLog(at(12)));
    }

    /** The log begins right behind a snapshot that was taken over: nothing in it can be the last one to stay. */
    @Test
    void cutAtTheBaseOfTheLogIsRefusedUnchanged() throws IOException {
        snapshot(at(15));
        append(at(16), at(20));
        files.rollLog();
        Map<String, String> before = LogFiles.contents(temp.toFile());
        assertThrows(IllegalStateException.class, () -> files.truncateLog(at(15)));
        assertEquals(before, LogFiles.contents(temp.toFile()));
        assertTrue(Store.of(directory).fullStateNeeded());
    }

    @Test
    void cutOfTheWholeLogIsRefusedUnchanged() throws IOException {
        append(at(1), at(5));
        files.rollLog();
        Map<String, String> before = LogFiles.contents(temp.toFile());
        assertThrows(IllegalStateException.class, () -> files.truncateLog(0));
        assertEquals(before, LogFiles.contents(temp.toFile()));
    }

    @Test
    void cutBehindASnapshotKeepsIt() throws IOException {
        append(at(1), at(15));
        snapshot(at(10));
        assertTrue(files.truncateLog(at(12)));
        assertEquals(at(12), restored().lastProcessedZxid);
        assertTrue(new File(directory, "snapshot." + Long.toHexString(at(10))).exists());
    }

    @Test
    void adoptedStateReplacesTheWholeHistory() throws IOException {
        append(at(1), at(10));
        snapshot(at(10));
        files.rollLog();
        append(at(11), at(20));
        snapshot(at(18));
        snapshot(at(15));
        files.close();
        Adoption.adopt(incoming(at(15)), directory, directory, Long.MAX_VALUE);
        assertEquals(at(15), Store.of(directory).mark().value());
        assertEquals(at(15), restored().lastProcessedZxid);
        assertFalse(new File(directory, "snapshot." + Long.toHexString(at(18))).exists());
        assertTrue(new File(directory, "snapshot." + Long.toHexString(at(15))).exists());
    }

    /** A log that cannot be deleted stops it half way: what is left must be the old history or a prefix of it. */
    @Test
    void adoptLowersTheMarkAndDeletesTheNewestFirst() throws IOException {
        try (FileTxnLog upstream = new FileTxnLog(directory)) {
            LogFiles.write(upstream, directory, at(1), at(5));
            LogFiles.write(upstream, directory, at(11), at(20));
        }
        File obstacle = LogFiles.file(directory, at(6));
        assertTrue(new File(obstacle, "not-empty").mkdirs());
        snapshot(at(18));
        snapshot(at(15));
        File synced = incoming(at(15));
        Store.of(directory).mark().raise(at(20));
        assertThrows(IOException.class, () -> Adoption.adopt(synced, directory, directory, Long.MAX_VALUE));
        assertEquals(at(15), Store.of(directory).mark().value(), "the mark is lowered before anything goes");
        assertFalse(LogFiles.file(directory, at(11)).exists(), "the newest log goes first");
        assertTrue(LogFiles.file(directory, at(1)).exists(), "the oldest log goes last");
        assertTrue(new File(directory, "snapshot." + Long.toHexString(at(18))).exists(), "snapshots go after logs");
    }

    /** A snapshot as it arrives: durable, where no start reads it. */
    private File incoming(long index) throws IOException {
        String name = "snapshot." + Long.toHexString(index);
        return Files.move(directory.toPath().resolve(name), temp.resolve(name)).toFile();
    }
}

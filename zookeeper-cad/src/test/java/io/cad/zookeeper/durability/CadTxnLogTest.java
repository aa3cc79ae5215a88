// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.durability;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.testing.Await;
import io.cad.zookeeper.testing.Disk;
import io.cad.zookeeper.testing.LogFiles;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.LongStream;
import org.apache.zookeeper.server.Request;
import org.apache.zookeeper.server.persistence.FilePadding;
import org.apache.zookeeper.server.persistence.FileTxnLog;
import org.apache.zookeeper.server.persistence.TxnLog;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The log that tells writing from syncing: upstream's bytes, and what is announced when. */
class CadTxnLogTest {

    @TempDir
    Path temp;

    private File directory;
    private Disk disk;
    private CadTxnLog log;
    private final List<Long> announced = new ArrayList<>();

    @BeforeEach
    void open() throws IOException {
        FilePadding.setPreallocSize(64 * 1024);
        disk = new Disk();
        directory = temp.resolve("version-2").toFile();
        assertTrue(directory.mkdirs());
        log = new CadTxnLog(directory);
        Store.of(directory).listen(index -> {
            synchronized (announced) {
                announced.add(index);
            }
        }, 0);
    }

    @AfterEach
    void close() {
        disk.close();
    }

    private static long at(long counter) {
        return Indices.of(1, counter);
    }

    private void append(long... counters) throws IOException {
        for (long counter : counters) {
            log.append(LogFiles.txn(at(counter)));
        }
    }

    private List<Long> announced() {
        synchronized (announced) {
            return List.copyOf(announced);
        }
    }

    @Test
    void upstreamReadsEveryRecord() throws IOException {
        append(LongStream.rangeClosed(1, 500).toArray());
        log.commit();
        log.rollLog();
        append(LongStream.rangeClosed(501, 600).toArray());
        log.write();
        assertEquals(LongStream.rangeClosed(1, 600).map(CadTxnLogTest::at).boxed().toList(),
            LogFiles.indices(directory, 0), "what was handed to the system is readable before it is synced");
        assertEquals(at(600), new FileTxnLog(directory).getLastLoggedZxid());
        assertEquals(at(600), log.getLastLoggedZxid());
        assertEquals(at(450), LogFiles.indices(directory, at(450)).get(0));
    }

    /** In groups of so many records, each record of 20 bytes or, every tenth, of 9,000. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3, 17})
    void bytesAreThoseOfUpstream(int group) throws IOException {
        File upstream = temp.resolve("upstream/version-2").toFile();
        assertTrue(upstream.mkdirs());
        try (FileTxnLog stock = new FileTxnLog(upstream)) {
            writeInGroups(stock, group);
        }
        writeInGroups(log, group);
        log.close();
        assertEquals(List.of(upstream.list()), List.of(directory.list()));
        for (File file : upstream.listFiles()) {
            File ours = new File(directory, file.getName());
            assertEquals(file.length(), ours.length(), "length of " + file.getName());
            assertArrayEquals(Files.readAllBytes(file.toPath()), Files.readAllBytes(ours.toPath()));
        }
    }

    private static void writeInGroups(TxnLog to, int group) throws IOException {
        for (int i = 1; i <= 120; i++) {
            Request txn = LogFiles.txn(at(i), i % 10 == 0 ? 9_000 : 20);
            to.append(txn);
            if (i % group == 0) {
                to.commit();
            }
            if (i == 60) {
                to.commit();
                to.rollLog();
            }
        }
        to.commit();
    }

    @Test
    void recordsLargerThanTheBufferAreWhole() throws IOException {
        log.append(LogFiles.txn(at(1), 300_000));
        log.append(LogFiles.txn(at(2), 10));
        log.append(LogFiles.txn(at(3), 200_000));
        log.commit();
        assertEquals(List.of(at(1), at(2), at(3)), LogFiles.indices(directory, 0));
    }

    @Test
    void announcesWhatASyncCoversAndNotBefore() throws IOException {
        append(1, 2);
        assertEquals(at(2), log.write());
        disk.stall();
        CompletableFuture<Long> sync = CompletableFuture.supplyAsync(log::sync);
        Await.until("the sync waits", () -> disk.waiting() == 1);
        append(3);
        log.write();
        assertEquals(List.of(), announced());
        disk.release();
        assertEquals(at(2), Await.get("the sync", sync), "what was written after the sync began is not covered");
        assertEquals(List.of(at(2)), announced());
        assertEquals(at(2), Store.of(directory).mark().value());
        log.sync();
        assertEquals(List.of(at(2), at(3)), announced());
    }

    @Test
    void appendedButNotWrittenIsNotAnnounced() throws IOException {
        append(1);
        log.write();
        append(2);
        log.sync();
        assertEquals(List.of(at(1)), announced());
    }

    @Test
    void appendsProceedWhileASyncStandsStill() throws IOException {
        append(1);
        log.write();
        disk.stall();
        CompletableFuture<Long> sync = CompletableFuture.supplyAsync(log::sync);
        Await.until("the sync waits", () -> disk.waiting() == 1);
        for (int i = 2; i <= 1000; i++) {
            append(i);
            assertEquals(at(i), log.write());
        }
        assertEquals(1, disk.waiting());
        assertEquals(1000, LogFiles.indices(directory, 0).size());
        disk.release();
        Await.get("the sync", sync);
    }

    @Test
    void rollSyncsBeforeTheNextFileExists() throws IOException {
        List<List<String>> filesAtSync = new ArrayList<>();
        CadTxnLog.forceWith(channel -> {
            filesAtSync.add(List.of(directory.list()));
            channel.force(false);
        });
        append(1, 2);
        log.rollLog();
        append(3);
        log.rollLog();
        assertEquals(List.of("log.100000001"), filesAtSync.get(0));
        assertEquals(2, filesAtSync.size());
        assertEquals(2, filesAtSync.get(1).size());
        assertEquals(List.of(at(2), at(3)), announced());
    }

    /** The first sync of a file covers its name: it fails when the directory is not there to be synced. */
    @Test
    void firstSyncOfAFileSyncsItsDirectory() throws IOException {
        File elsewhere = temp.resolve("elsewhere").toFile();
        CadTxnLog.forceWith(channel -> {
            channel.force(false);
            assertTrue(directory.renameTo(elsewhere));
        });
        append(1);
        log.write();
        assertThrows(IllegalStateException.class, log::sync);
        assertEquals(List.of(), announced());
        assertEquals(1, disk.exits());
    }

    @Test
    void laterSyncsOfAFileDoNot() throws IOException {
        append(1);
        log.commit();
        File elsewhere = temp.resolve("elsewhere").toFile();
        CadTxnLog.forceWith(channel -> {
            channel.force(false);
            assertTrue(directory.renameTo(elsewhere));
        });
        append(2);
        log.commit();
        assertEquals(List.of(at(1), at(2)), announced());
    }

    @Test
    void failedSyncEndsTheServerAndAnnouncesNothing() throws IOException {
        append(1);
        log.write();
        disk.fail();
        assertThrows(IllegalStateException.class, log::sync);
        assertEquals(1, disk.exits());
        assertEquals(List.of(), announced());
        assertEquals(0, Store.of(directory).mark().value());
    }

    @Test
    void failedSyncIsNeverRetried() throws IOException {
        append(1);
        log.write();
        GroupFlusher flusher = new GroupFlusher(log, 0, 1, "flusher-under-test");
        disk.fail();
        flusher.start();
        flusher.written(1, 100);
        Await.until("the server wants to end", () -> disk.exits() == 1);
        disk.mend();
        flusher.demand();
        flusher.stop();
        assertEquals(0, disk.syncs(), "a retried sync can succeed with the data gone");
        assertEquals(List.of(), announced());
    }

    /** A file on /dev/full: every write says that the disk is full. */
    @Test
    void fullDiskEndsTheServerWhenAFileIsCreated() throws IOException {
        Files.createSymbolicLink(LogFiles.file(directory, at(1)).toPath(), Path.of("/dev/full"));
        assertThrows(IllegalStateException.class, () -> append(1));
        assertEquals(1, disk.exits());
        assertEquals(List.of(), announced());
    }

    @Test
    void flusherSyncsInGroupsInTheBackground() throws IOException {
        GroupFlusher flusher = new GroupFlusher(log, 1_000_000, 1 << 20, "flusher-under-test");
        flusher.start();
        append(1, 2, 3);
        log.write();
        flusher.written(3, 300);
        Await.until("the background flush", () -> announced().contains(at(3)));
        flusher.stop();
    }

    @Test
    void flusherSyncsAtOnceOnDemand() throws IOException {
        GroupFlusher flusher = new GroupFlusher(log, 3_600_000_000_000L, 1L << 40, "flusher-under-test");
        flusher.start();
        append(1);
        log.write();
        flusher.written(1, 100);
        flusher.demand();
        Await.until("the flush on demand", () -> announced().contains(at(1)));
        append(2);
        log.write();
        flusher.written(1, 100);
        flusher.stop();
        assertEquals(List.of(at(1), at(2)), announced(), "the end of a role syncs what is left");
    }

    @Test
    void flusherSyncsWhenBytesAreMany() throws IOException {
        GroupFlusher flusher = new GroupFlusher(log, 3_600_000_000_000L, 500, "flusher-under-test");
        flusher.start();
        append(1);
        log.write();
        flusher.written(1, 499);
        assertFalse(announced().contains(at(1)));
        append(2);
        log.write();
        flusher.written(1, 1);
        Await.until("the flush by bytes", () -> announced().contains(at(2)));
        flusher.stop();
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
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
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.LongStream;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.persistence.FilePadding;
import org.apache.zookeeper.server.persistence.FileTxnLog;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What a start makes of a log that a power loss has damaged: cut above the
 * persisted mark, refuse and change nothing at or below it.
 */
class LogRepairTest {

    /** Ways in which the last of ten records may be damaged. */
    enum Damage {
        TORN_BODY {
            @Override
            void apply(File file, long from, long to) throws IOException {
                LogFiles.zero(file, from + 20, to);
            }
        },
        ZEROED_RECORD {
            @Override
            void apply(File file, long from, long to) throws IOException {
                LogFiles.zero(file, from, to);
            }
        },
        ZEROED_START {
            @Override
            void apply(File file, long from, long to) throws IOException {
                LogFiles.zero(file, from, from + 30);
            }
        },
        MISSING_END_BYTE {
            @Override
            void apply(File file, long from, long to) throws IOException {
                LogFiles.zero(file, to - 1, to);
            }
        },
        SHORT_FILE {
            @Override
            void apply(File file, long from, long to) throws IOException {
                try (java.nio.channels.FileChannel channel =
                         java.nio.channels.FileChannel.open(file.toPath(), java.nio.file.StandardOpenOption.WRITE)) {
                    channel.truncate(to - 3);
                }
            }
        };

        abstract void apply(File file, long from, long to) throws IOException;
    }

    @TempDir
    Path temp;

    private Settings settings;
    private File directory;

    @BeforeEach
    void open() throws IOException {
        FilePadding.setPreallocSize(64 * 1024);
        settings = Settings.of("cad.durability", "cad");
        directory = temp.resolve("version-2").toFile();
        assertTrue(directory.mkdirs());
        snapshot(0);
    }

    @AfterEach
    void close() {
        settings.close();
    }

    private static long at(long counter) {
        return Indices.of(1, counter);
    }

    private static List<Long> indices(long epoch, long from, long to) {
        return LongStream.rangeClosed(from, to).map(counter -> Indices.of(epoch, counter)).boxed().toList();
    }

    /** Written by upstream's log, so that the mark is the test's alone. */
    private File write(long from, long to) throws IOException {
        try (FileTxnLog log = new FileTxnLog(directory)) {
            return LogFiles.write(log, directory, from, to);
        }
    }

    private void mark(long index) throws IOException {
        Store.of(directory).mark().lower(0);
        Store.of(directory).mark().raise(index);
    }

    private void repair() throws IOException {
        LogRepair.beforeRestore(directory, directory);
    }

    /** Restores as a server does at its start; answers the index reached. */
    private long restore() throws IOException {
        FileTxnSnapLog files = new FileTxnSnapLog(temp.toFile(), temp.toFile());
        try {
            return files.restore(new DataTree(), new ConcurrentHashMap<>(), (header, record, digest) -> { });
        } finally {
            files.close();
        }
    }

    private void refusedUnchanged() throws IOException {
        Map<String, String> before = LogFiles.contents(directory);
        IOException refusal = assertThrows(IOException.class, this::repair);
        assertTrue(refusal.getMessage().contains("Nothing was changed"), refusal.getMessage());
        assertEquals(before, LogFiles.contents(directory));
    }

    @Test
    void soundLogIsLeftAlone() throws IOException {
        write(at(1), at(10));
        write(at(11), at(20));
        mark(at(20));
        Map<String, String> before = LogFiles.contents(directory);
        repair();
        assertEquals(before, LogFiles.contents(directory));
        assertEquals(at(20), restore());
    }

    @Test
    void newServerIsFine() throws IOException {
        assertEquals(0, restore());
        Files.delete(new File(directory, "snapshot.0").toPath());
        repair();
        assertEquals(0, directory.list().length);
    }

    // ---- E2: the tail

    /** A power loss between the header of a new file and its first record; upstream counts the file's name. */
    @Test
    void aFileWithoutRecordsIsNoEntry() throws IOException {
        write(at(1), at(10));
        File header = LogFiles.file(directory, Indices.of(2, 1));
        byte[] written = Files.readAllBytes(LogFiles.file(directory, at(1)).toPath());
        Files.write(header.toPath(), Arrays.copyOf(Arrays.copyOf(written, 16), 18));
        assertEquals(Indices.of(2, 1), new FileTxnLog(directory).getLastLoggedZxid());
        LogRepair.beforeRestore(directory, directory);
        assertFalse(header.exists());
        assertEquals(at(10), new FileTxnLog(directory).getLastLoggedZxid());
    }

    @ParameterizedTest
    @EnumSource(Damage.class)
    void damagedTailAboveTheMarkIsCut(Damage damage) throws IOException {
        File file = write(at(1), at(10));
        Map<Long, Long> positions = LogFiles.positions(file);
        damage.apply(file, positions.get(at(10)), positions.get(Long.MAX_VALUE));
        mark(at(9));
        assertEquals(at(9), restore());
        assertEquals(indices(1, 1, 9), LogFiles.indices(directory, 0));
        write(at(10), at(12));
        assertEquals(at(12), restore());
    }

    @ParameterizedTest
    @EnumSource(Damage.class)
    void damageAtTheMarkIsRefused(Damage damage) throws IOException {
        File file = write(at(1), at(10));
        Map<Long, Long> positions = LogFiles.positions(file);
        damage.apply(file, positions.get(at(10)), positions.get(Long.MAX_VALUE));
        mark(at(10));
        refusedUnchanged();
        assertThrows(IOException.class, this::restore);
    }

    @Test
    void recordsBehindAGapOfZerosAreCutToo() throws IOException {
        File file = write(at(1), at(10));
        Map<Long, Long> positions = LogFiles.positions(file);
        LogFiles.zero(file, positions.get(at(5)), positions.get(at(7)));
        mark(at(4));
        assertEquals(at(4), restore());
        assertEquals(indices(1, 1, 4), LogFiles.indices(directory, 0));
    }

    @Test
    void gapOfZerosBelowTheMarkIsRefused() throws IOException {
        File file = write(at(1), at(10));
        Map<Long, Long> positions = LogFiles.positions(file);
        LogFiles.zero(file, positions.get(at(5)), positions.get(at(7)));
        mark(at(7));
        refusedUnchanged();
    }

    /** Everything behind the damaged record is gone, the zeros to the end of the file are not damage. */
    @Test
    void endOfALostTailIsBelowTheMark() throws IOException {
        File file = write(at(1), at(10));
        LogFiles.zero(file, LogFiles.positions(file).get(at(8)), file.length());
        mark(at(8));
        refusedUnchanged();
        mark(at(7));
        assertEquals(at(7), restore());
    }

    // ---- E1: holes before another file

    @Test
    void holeBeforeAFileOfTheSameEpoch() throws IOException {
        File file = write(at(1), at(10));
        write(at(11), at(15));
        LogFiles.zero(file, LogFiles.positions(file).get(at(8)), file.length());
        mark(at(7));
        assertEquals(at(7), restore());
        assertEquals(indices(1, 1, 7), LogFiles.indices(directory, 0));
        assertFalse(LogFiles.file(directory, at(11)).exists());
    }

    @Test
    void holeBelowTheMarkBeforeAFileOfTheSameEpochIsRefused() throws IOException {
        File file = write(at(1), at(10));
        write(at(11), at(15));
        LogFiles.zero(file, LogFiles.positions(file).get(at(8)), file.length());
        mark(at(9));
        refusedUnchanged();
    }

    /** E1b: upstream loads this with a silent gap. A later file exists only if the earlier one had been synced. */
    @Test
    void holeBeforeAFileOfANewerEpochIsRefused() throws IOException {
        File file = write(at(1), at(10));
        write(Indices.of(2, 1), Indices.of(2, 5));
        Store.of(directory).segments().finished(file, at(10));
        LogFiles.zero(file, LogFiles.positions(file).get(at(8)), file.length());
        mark(Indices.of(2, 5));
        refusedUnchanged();
    }

    // ---- files without records

    @Test
    void emptyLastFileIsRemoved() throws IOException {
        write(at(1), at(10));
        assertTrue(LogFiles.file(directory, at(11)).createNewFile());
        mark(at(10));
        assertEquals(at(10), restore());
    }

    @Test
    void lastFileWithPartOfItsHeaderIsRemoved() throws IOException {
        write(at(1), at(10));
        Files.write(LogFiles.file(directory, at(11)).toPath(), new byte[] {'Z', 'K', 'L', 'G', 0, 0});
        mark(at(10));
        assertEquals(at(10), restore());
    }

    @Test
    void lastFileWithNothingButItsHeader() throws IOException {
        write(at(1), at(10));
        File file = write(at(11), at(11));
        LogFiles.zero(file, 16, file.length());
        mark(at(10));
        assertEquals(at(10), restore());
        write(at(11), at(12));
        assertEquals(at(12), restore());
    }

    @Test
    void fileOfZerosIsRemoved() throws IOException {
        write(at(1), at(10));
        Files.write(LogFiles.file(directory, at(11)).toPath(), new byte[65_536]);
        mark(at(10));
        assertEquals(at(10), restore());
    }

    @Test
    void missingFileBelowTheMarkIsRefused() throws IOException {
        write(at(1), at(10));
        assertTrue(write(at(11), at(15)).delete());
        mark(at(15));
        refusedUnchanged();
    }

    // ---- with snapshots

    private void snapshot(long index) throws IOException {
        FileTxnSnapLog files = new FileTxnSnapLog(temp.toFile(), temp.toFile());
        DataTree tree = new DataTree();
        tree.lastProcessedZxid = index;
        files.save(tree, new ConcurrentHashMap<>(), true);
        files.close();
    }

    @Test
    void logBelowTheSnapshotMayBeMissing() throws IOException {
        snapshot(at(15));
        write(at(16), at(20));
        mark(at(20));
        assertEquals(at(20), restore());
    }

    /** Without a mark, as stock servers leave it: the log was purged below a snapshot that is damaged now. */
    @Test
    void aLogBehindADamagedSnapshotIsKept() throws IOException {
        snapshot(at(15));
        snapshot(at(17));
        write(at(18), at(20));
        assertEquals(at(20), restore());
        File damaged = new File(directory, "snapshot." + Long.toHexString(at(17)));
        LogFiles.zero(damaged, damaged.length() - 5, damaged.length());
        mark(0);
        refusedUnchanged();
        assertTrue(damaged.delete());
        assertEquals(at(15), restore());
    }

    /** Tests of full epochs use it; a server that was sent the state of an epoch's beginning refused to start again. */
    @Test
    void upstreamsSettingForFullEpochsIsNoGap() throws IOException {
        snapshot(at(0));
        write(at(0xffff_f000L), at(0xffff_f005L));
        mark(at(0xffff_f005L));
        refusedUnchanged();
        settings.and("zookeeper.testingonly.initialZxid", Long.toString(0xffff_efffL));
        assertEquals(at(0xffff_f005L), restore());
    }

    @Test
    void gapBetweenSnapshotAndLogIsRefused() throws IOException {
        snapshot(at(15));
        write(at(18), at(20));
        mark(at(20));
        refusedUnchanged();
    }

    /**
     * A quorum of others made the snapshot's content durable, this server's own
     * log lost its tail below it, and went on above it after the restart.
     */
    @Test
    void snapshotBridgesALostTailOfTheLog() throws IOException {
        File file = write(at(1), at(15));
        LogFiles.zero(file, LogFiles.positions(file).get(at(13)), file.length());
        snapshot(at(15));
        mark(at(12));
        assertEquals(at(15), restore());
        write(at(16), at(20));
        mark(at(20));
        assertEquals(at(20), restore());
        mark(at(12));
        assertEquals(at(20), restore());
        assertTrue(LogFiles.file(directory, at(16)).exists(), "entries above the snapshot were deleted");
    }
}

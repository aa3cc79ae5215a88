// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.testing.LogFiles;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.apache.zookeeper.server.persistence.FileTxnLog;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AdoptionTest {

    private static final Set<String> NEW_HISTORY =
        Set.of("acceptedEpoch", "currentEpoch", "currentEpoch.tmp", "snapshot.0", "snapshot.100000005");

    @TempDir
    Path data;

    /** Taking over a leader's state once deleted the epoch files, and the new snapshot with them. */
    @Test
    void removesTheOldHistoryAndNothingElse() throws IOException {
        Path dir = oldHistory();
        Path synced = Files.write(data.resolve("snapshot.100000005"), new byte[] {2});
        Adoption.adopt(synced.toFile(), dir.toFile(), dir.toFile(), Long.MAX_VALUE);
        assertEquals(NEW_HISTORY, names(dir));
    }

    /** A crash after the decision: the next start finds new state and old log, and must not read both. */
    @Test
    void aDecidedSwitchIsFinishedAtTheNextStart() throws IOException {
        Path dir = oldHistory();
        Path decided = Files.createDirectories(data.resolve("cad/v1/adopted"));
        Files.write(decided.resolve("snapshot.100000005"), new byte[] {2});
        LogRepair.beforeRestore(dir.toFile(), dir.toFile());
        assertEquals(NEW_HISTORY, names(dir));
    }

    /** Without a purge the old history may be gigabytes: only files that can hold what is rolled back are read. */
    @Test
    void readsOnlyTheEndOfTheOldHistory() throws IOException {
        Path dir = Files.createDirectories(data.resolve("version-2"));
        Files.createDirectory(dir.resolve("log.1"));
        try (FileTxnLog log = new FileTxnLog(dir.toFile())) {
            LogFiles.write(log, dir.toFile(), 4, 5);
            LogFiles.write(log, dir.toFile(), 6, 7);
        }
        Path synced = Files.write(data.resolve("snapshot.5"), new byte[] {2});
        Adoption.adopt(synced.toFile(), dir.toFile(), dir.toFile(), Long.MAX_VALUE);
        assertEquals(Set.of("log.6"), names(data.resolve("cad/v1/rolled-back")), "what could be read was kept");
        assertEquals(Set.of("snapshot.5"), names(dir));
    }

    /** The state of a later epoch: its index lies above all that it takes back. */
    @Test
    void keepsWhatTheLeaderDoesNotHave() throws IOException {
        Path dir = Files.createDirectories(data.resolve("version-2"));
        try (FileTxnLog log = new FileTxnLog(dir.toFile())) {
            LogFiles.write(log, dir.toFile(), 1, 5);
            LogFiles.write(log, dir.toFile(), 6, 8);
        }
        assertEquals(3, Rollback.commonEnd(LongStream.empty(), dir.toFile(), 3));
        assertEquals(3, Rollback.commonEnd(LongStream.of(5, 6), dir.toFile(), 3), "what is not in memory is in the log");
        assertEquals(6, Rollback.commonEnd(LongStream.of(5, 6), dir.toFile(), 7), "and memory is asked first");
        assertEquals(8, Rollback.commonEnd(LongStream.empty(), dir.toFile(), Indices.of(1, 7)));
        assertEquals(Long.MAX_VALUE, Rollback.commonEnd(LongStream.empty(), dir.toFile(), 0));
        Path synced = Files.write(data.resolve("snapshot.100000005"), new byte[] {2});
        Adoption.adopt(synced.toFile(), dir.toFile(), dir.toFile(), 3);
        assertEquals(Set.of("snapshot.100000005"), names(dir));
        assertEquals(List.of(4L, 5L, 6L, 7L, 8L), LogFiles.indices(data.resolve("cad/v1/rolled-back").toFile(), 0));
    }

    /** The start after a kill finds part of the old log: what was kept of all of it must stay. */
    @Test
    void aStartThatFinishesASwitchKeepsWhatWasKept() throws IOException {
        Path dir = Files.createDirectories(data.resolve("version-2"));
        try (FileTxnLog log = new FileTxnLog(dir.toFile())) {
            LogFiles.write(log, dir.toFile(), 4, 5);
            LogFiles.write(log, dir.toFile(), 6, 7);
        }
        // As a kill in the middle: a log that cannot be deleted.
        Path obstacle = Files.createDirectories(dir.resolve("log.1/not-empty"));
        Path synced = Files.write(data.resolve("snapshot.4"), new byte[] {2});
        assertThrows(IOException.class,
            () -> Adoption.adopt(synced.toFile(), dir.toFile(), dir.toFile(), Long.MAX_VALUE));
        assertEquals(Set.of("log.1"), names(dir), "the newest logs are gone");
        Files.delete(obstacle);
        Files.delete(dir.resolve("log.1"));
        try (FileTxnLog log = new FileTxnLog(dir.toFile())) {
            LogFiles.write(log, dir.toFile(), 4, 5);
        }
        LogRepair.beforeRestore(dir.toFile(), dir.toFile());
        assertEquals(Set.of("snapshot.4"), names(dir));
        assertEquals(List.of(5L, 6L, 7L), LogFiles.indices(data.resolve("cad/v1/rolled-back").toFile(), 0));
    }

    private Path oldHistory() throws IOException {
        Path dir = Files.createDirectories(data.resolve("version-2"));
        for (String name : new String[] {"acceptedEpoch", "currentEpoch", "currentEpoch.tmp", "snapshot.0",
            "snapshot.100000009", "log.100000001", "log.100000006"}) {
            Files.write(dir.resolve(name), new byte[] {1});
        }
        return dir;
    }

    private static Set<String> names(Path dir) {
        Set<String> names = new TreeSet<>();
        for (File file : dir.toFile().listFiles()) {
            names.add(file.getName());
        }
        return names;
    }
}

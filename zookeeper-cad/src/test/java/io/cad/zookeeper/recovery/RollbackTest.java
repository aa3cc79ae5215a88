// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RollbackTest {

    @TempDir
    Path data;

    /** Taking over a leader's state once deleted the epoch files, and the new snapshot with them. */
    @Test
    void adoptingASnapshotRemovesTheOldHistoryAndNothingElse() throws IOException {
        Path dir = Files.createDirectories(data.resolve("version-2"));
        for (String name : new String[] {"acceptedEpoch", "currentEpoch", "currentEpoch.tmp", "snapshot.0",
            "snapshot.100000005", "snapshot.100000009", "log.100000001", "log.100000006"}) {
            Files.write(dir.resolve(name), new byte[] {1});
        }
        Rollback.adopt(dir.toFile(), dir.toFile(), 0x100000005L);
        Set<String> left = new TreeSet<>();
        for (File file : dir.toFile().listFiles()) {
            left.add(file.getName());
        }
        assertEquals(Set.of("acceptedEpoch", "currentEpoch", "currentEpoch.tmp", "snapshot.0", "snapshot.100000005"),
            left);
    }
}

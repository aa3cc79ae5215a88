// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.durability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is remembered of leases when a process ends. */
class LeaseRecordTest {

    @TempDir
    Path directory;

    private File file() {
        return directory.resolve("lease").toFile();
    }

    @Test
    void processesAreNumberedUpwards() throws IOException {
        assertEquals(1_000, new LeaseRecord(file()).nextProcess(1_000));
        assertEquals(1_001, new LeaseRecord(file()).nextProcess(500), "the clock was set back");
        assertEquals(5_000, new LeaseRecord(file()).nextProcess(5_000));
    }

    @Test
    void thePromiseOutlivesTheProcess() throws IOException {
        LeaseRecord first = new LeaseRecord(file());
        assertEquals(LeaseRecord.NO_PROMISE, first.promise());
        first.nextProcess(1);
        first.promise(560_000_000L);
        LeaseRecord second = new LeaseRecord(file());
        assertEquals(560_000_000L, second.promise());
        second.nextProcess(1);
        assertEquals(560_000_000L, new LeaseRecord(file()).promise());
    }

    /** A promise that cannot be read may be a long one: the server does not guess. */
    @Test
    void aDamagedRecordIsRefused() throws IOException {
        new LeaseRecord(file()).promise(560_000_000L);
        byte[] bytes = Files.readAllBytes(file().toPath());
        for (int i = 0; i < bytes.length; i++) {
            byte[] damaged = bytes.clone();
            damaged[i] ^= 0x10;
            Files.write(file().toPath(), damaged);
            assertTrue(assertThrows(IOException.class, () -> new LeaseRecord(file())).getMessage().contains("cad.promise"));
        }
        Files.write(file().toPath(), new byte[3]);
        assertThrows(IOException.class, () -> new LeaseRecord(file()));
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.durability;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The recorded lower bound of what was synced. */
class PersistedMarkTest {

    @TempDir
    Path temp;

    private File file;

    @BeforeEach
    void name() {
        file = temp.resolve("persisted").toFile();
    }

    private long reread() throws IOException {
        try (PersistedMark mark = new PersistedMark(file)) {
            return mark.value();
        }
    }

    @Test
    void startsAtZero() throws IOException {
        assertEquals(0, reread());
        assertEquals(0, reread());
    }

    @Test
    void risesAndIsRemembered() throws IOException {
        try (PersistedMark mark = new PersistedMark(file)) {
            mark.raise(7);
            mark.raise(5);
            assertEquals(7, mark.value());
        }
        assertEquals(7, reread());
    }

    @Test
    void fallsAndIsRemembered() throws IOException {
        try (PersistedMark mark = new PersistedMark(file)) {
            mark.raise(7);
            mark.lower(9);
            assertEquals(7, mark.value());
            mark.lower(3);
        }
        assertEquals(3, reread());
    }

    @Test
    void tornFileIsTheWeakestBound() throws IOException {
        try (PersistedMark mark = new PersistedMark(file)) {
            mark.raise(0x100000007L);
        }
        byte[] bytes = Files.readAllBytes(file.toPath());
        for (int i = 0; i < bytes.length; i++) {
            byte[] torn = bytes.clone();
            torn[i] ^= 1;
            Files.write(file.toPath(), torn);
            assertEquals(0, reread(), "byte " + i);
        }
        Files.write(file.toPath(), new byte[5]);
        assertEquals(0, reread());
    }
}

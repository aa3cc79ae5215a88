// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RunDirectoryTest {
    @TempDir
    Path base;

    @Test
    void closesInReverseOrderAndGoesOnAfterAFailure() throws Exception {
        List<String> closed = new ArrayList<>();
        RunDirectory run = RunDirectory.create(base, "r");
        run.onClose(() -> closed.add("first"));
        run.onClose(() -> {
            throw new IllegalStateException("on purpose");
        });
        run.onClose(() -> closed.add("last"));
        run.close();
        assertEquals(List.of("last", "first"), closed);
        assertTrue(Files.isDirectory(run.path()));
        assertThrows(IllegalStateException.class, () -> run.onClose(() -> closed.add("late")));
        run.closeAndDelete();
        assertFalse(Files.exists(run.path()));
    }

    @Test
    void processesOfADeadRunAreEndedByTheNextOneAndOthersAreNot() throws Exception {
        Process gone = new ProcessBuilder("true").start();
        assertTrue(gone.waitFor(10, TimeUnit.SECONDS));
        Path dead = Files.createDirectory(base.resolve("dead-1"));
        Files.writeString(dead.resolve("owner.pid"), Long.toString(gone.pid()));
        Process orphan = new ProcessBuilder("tail", "-f", "/dev/null", dead.resolve("owner.pid").toString()).start();
        Process stranger = new ProcessBuilder("tail", "-f", "/dev/null").start();
        try {
            RunDirectory run = RunDirectory.create(base, "next");
            assertTrue(orphan.waitFor(10, TimeUnit.SECONDS), "the orphan was ended");
            assertTrue(stranger.isAlive());
            run.closeAndDelete();
        } finally {
            orphan.destroyForcibly();
            stranger.destroyForcibly();
        }
    }

    @Test
    void whatIsKeptOutlivesTheRunAndTheNextOnes() throws Exception {
        RunDirectory run = RunDirectory.create(base, "kept");
        Process kept = new ProcessBuilder("tail", "-f", run.path().resolve("owner.pid").toString()).start();
        try {
            run.onClose(kept::destroyForcibly);
            run.keep();
            run.close();
            Process gone = new ProcessBuilder("true").start();
            assertTrue(gone.waitFor(10, TimeUnit.SECONDS));
            Files.writeString(run.path().resolve("owner.pid"), Long.toString(gone.pid()));
            RunDirectory.create(base, "next").closeAndDelete();
            assertTrue(kept.isAlive());
        } finally {
            kept.destroyForcibly();
        }
    }
}

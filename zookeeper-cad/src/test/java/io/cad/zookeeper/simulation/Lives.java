// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.simulation;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.cad.zookeeper.core.Cores;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import org.apache.zookeeper.server.persistence.FilePadding;
import org.slf4j.LoggerFactory;

/** Runs simulations, each in a directory of its own. Settings of the process are put back at the end. */
final class Lives implements AutoCloseable {
    private static final String DURABILITY = "zookeeper.cad.durability";
    private static final String DIGEST = "zookeeper.digest.enabled";
    private static final String ADMIN = "zookeeper.admin.enableServer";

    private final Logger logger = (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
    private final Level level = logger.getLevel();
    private final long padding = FilePadding.getPreAllocSize();
    private final Path base;
    /** What lies in memory would outlive a process that is stopped from outside. */
    private final Thread atExit = new Thread(this::sweep);
    private boolean swept;

    Lives() {
        Path memory = Path.of("/dev/shm"); // no disk is needed: what is synced is observed, not felt
        try {
            base = Files.isWritable(memory) ? Files.createTempDirectory(memory, "lives")
                    : Files.createTempDirectory("lives");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Runtime.getRuntime().addShutdownHook(atExit);
        System.setProperty(DURABILITY, "cad");
        System.setProperty(DIGEST, "false");
        System.setProperty(ADMIN, "false");
        FilePadding.setPreallocSize(0);
        logger.setLevel(Level.OFF);
        PowerLossDisk.observe();
    }

    private synchronized void sweep() {
        swept = true;
        PowerLossDisk.delete(base);
    }

    /** Synchronized, so that nothing is swept away from under a life, and nothing comes after. */
    synchronized Simulation live(long seed, Cores cores, Set<Flaw> flaws, boolean checks, Set<Integer> skipped) {
        if (swept) {
            throw new IllegalStateException("the process ends");
        }
        Path directory = base.resolve(Long.toString(seed));
        try {
            Simulation life = new Simulation(seed, directory, cores, flaws, checks, skipped);
            life.run();
            return life;
        } finally {
            if (Files.exists(directory)) {
                PowerLossDisk.delete(directory);
            }
        }
    }

    /** Faults that a failing life can do without, found by leaving out one after the other. */
    Set<Integer> shrink(long seed, Cores cores, Set<Flaw> flaws, boolean checks) {
        Set<Integer> skipped = new TreeSet<>();
        for (int fault = 0; fault < 40; fault++) {
            skipped.add(fault);
            try {
                live(seed, cores, flaws, checks, skipped);
                skipped.remove(fault);
            } catch (RuntimeException | Error e) {
                continue;
            }
        }
        return skipped;
    }

    @Override
    public void close() {
        PowerLossDisk.stopObserving();
        logger.setLevel(level);
        FilePadding.setPreallocSize(padding);
        System.clearProperty(DURABILITY);
        System.clearProperty(DIGEST);
        System.clearProperty(ADMIN);
        Runtime.getRuntime().removeShutdownHook(atExit);
        sweep();
    }
}

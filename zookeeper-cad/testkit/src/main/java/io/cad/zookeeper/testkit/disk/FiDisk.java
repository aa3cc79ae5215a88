// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.disk;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cad.fi.Fi;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/**
 * A disk of the failure-injector (preload backend: neither root nor FUSE), driven by its program {@code fi}. It follows
 * the calls of the processes that run on it and keeps, at a power loss, exactly what they synced.
 */
public final class FiDisk implements Disk {
    private static final String FI_PROPERTY = "testkit.fi";
    private static final double NANOS_PER_MILLI = 1e6;
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Fi fi;
    private final String name;
    private final Path directory;
    private final Map<String, String> environment;
    private final boolean torn;
    private long seed;

    private FiDisk(Fi fi, String name, Path directory, boolean torn, long seed) throws IOException {
        this.fi = fi;
        this.name = name;
        this.torn = torn;
        this.seed = seed;
        this.directory = Path.of(JSON.readTree(fi.call("disk", "create", name, "--dir", directory.toString(),
                "--seed", Long.toString(seed))).get("dir").asText());
        this.environment = Map.copyOf(fi.env(name));
    }

    /**
     * Makes a disk in a run of the failure-injector that others share.
     *
     * @param directory where its files are
     * @param torn whether a power loss may keep a prefix of what was written and not synced, cut at a sector
     * @param seed of latencies and torn writes
     */
    public static Disk create(Fi fi, String name, Path directory, boolean torn, long seed) throws IOException {
        return new FiDisk(fi, name, directory, torn, seed);
    }

    /**
     * Makes disks that know nothing of each other, each with a run of the failure-injector of its own.
     *
     * @param program path of {@code fi}, or null for the system property testkit.fi
     * @throws IllegalArgumentException when there is no such program
     */
    public static DiskProvider provider(String program, boolean torn, long seed) {
        Path fi = program(program);
        return (name, parent) -> create(new Fi(fi, parent.resolve("injector")), name, parent.resolve(name), torn, seed);
    }

    /**
     * Finds the failure-injector.
     *
     * @param program path of {@code fi}, or null for the system property testkit.fi
     * @throws IllegalArgumentException when there is no such program
     */
    public static Path program(String program) {
        String path = program == null ? System.getProperty(FI_PROPERTY) : program;
        if (path == null || !Files.isExecutable(Path.of(path))) {
            throw new IllegalArgumentException("no failure-injector at " + path
                    + "; build it (make -C failure-injector build) and name it by system property " + FI_PROPERTY);
        }
        return Path.of(path).toAbsolutePath();
    }

    /** What the injector says that a power loss took. */
    public static Loss loss(JsonNode report) {
        long files = report.path("files_lost").asLong() + report.path("files_reverted").asLong()
                + report.path("files_restored").asLong();
        return new Loss(files, report.get("bytes_lost").asLong());
    }

    @Override
    public Path directory() {
        return directory;
    }

    @Override
    public Map<String, String> environment() {
        return environment;
    }

    @Override
    public void sync() {
        fi.sync(name);
    }

    @Override
    public void setSyncLatency(double millis) {
        if (millis == 0) {
            fi.latency(name, "fsync", "raw");
        } else {
            fi.latency(name, "fsync", Duration.ofNanos(Math.round(millis * NANOS_PER_MILLI)));
        }
    }

    @Override
    public void setFull(boolean full) {
        fi.fault(name, "--enospc", full ? "on" : "off");
    }

    @Override
    public void setFrozen(boolean frozen) {
        fi.fault(name, "--freeze", frozen ? "on" : "off");
    }

    @Override
    public Loss powerLoss() throws IOException {
        return loss(JSON.readTree(fi.crash(name, torn ? "--torn" : "--torn=false", "--seed", Long.toString(seed++)).json()));
    }

    @Override
    public void close() {
        // The files go with the run directory.
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.disk;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cad.zookeeper.testkit.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A disk of the failure-injector (preload backend: neither root nor FUSE), driven by its program {@code fi}. It follows
 * the calls of the processes that run on it and keeps, at a power loss, exactly what they synced.
 */
public final class FiDisk implements Disk {
    private static final String FI_PROPERTY = "testkit.fi";
    private static final double NANOS_PER_MILLI = 1e6;
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Path fi;
    private final Path injectorRun;
    private final String name;
    private final Path directory;
    private final Map<String, String> environment;
    private final boolean torn;
    private long seed;

    private FiDisk(Path fi, Path parent, String name, boolean torn, long seed) throws IOException, InterruptedException {
        this.fi = fi;
        this.injectorRun = parent.resolve("injector");
        this.name = name;
        this.torn = torn;
        this.seed = seed;
        this.directory = Path.of(run("create", "--dir", parent.resolve(name).toString(), "--seed", Long.toString(seed))
                .get("dir").asText());
        Map<String, String> variables = new LinkedHashMap<>();
        run("env").fields().forEachRemaining(entry -> variables.put(entry.getKey(), entry.getValue().asText()));
        this.environment = Map.copyOf(variables);
    }

    /**
     * Makes disks with the failure-injector.
     *
     * @param program path of {@code fi}, or null for the system property testkit.fi
     * @param torn whether a power loss may keep a prefix of what was written and not synced, cut at a sector
     * @param seed of latencies and torn writes
     * @throws IllegalArgumentException when there is no such program
     */
    public static DiskProvider provider(String program, boolean torn, long seed) {
        String path = program == null ? System.getProperty(FI_PROPERTY) : program;
        if (path == null || !Files.isExecutable(Path.of(path))) {
            throw new IllegalArgumentException("no failure-injector at " + path
                    + "; build it (make -C failure-injector build) and name it by system property " + FI_PROPERTY);
        }
        Path fi = Path.of(path).toAbsolutePath();
        return (name, parent) -> new FiDisk(fi, parent, name, torn, seed);
    }

    private JsonNode run(String verb, String... more) throws IOException, InterruptedException {
        List<String> words = new ArrayList<>(
                List.of(fi.toString(), "disk", verb, name, "--json", "--run", injectorRun.toString()));
        words.addAll(List.of(more));
        return JSON.readTree(Commands.run(words.toArray(new String[0])));
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
    public void sync() throws IOException, InterruptedException {
        run("sync");
    }

    @Override
    public void setSyncLatency(double millis) throws IOException, InterruptedException {
        if (millis == 0) {
            run("latency", "--profile", "raw");
        } else {
            run("latency", "--const", Math.round(millis * NANOS_PER_MILLI) + "ns");
        }
    }

    @Override
    public void setFull(boolean full) throws IOException, InterruptedException {
        run("fault", "--enospc", full ? "on" : "off");
    }

    @Override
    public Loss powerLoss() throws IOException, InterruptedException {
        JsonNode loss = run("crash", torn ? "--torn" : "--torn=false", "--seed", Long.toString(seed++));
        long files = loss.get("files_lost").asLong() + loss.get("files_reverted").asLong() + loss.get("files_restored").asLong();
        return new Loss(files, loss.get("bytes_lost").asLong());
    }

    @Override
    public void close() {
        // The files go with the run directory.
    }
}

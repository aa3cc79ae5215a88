// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.disk;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cad.zookeeper.testkit.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A disk of the failure-injector (preload backend: neither root nor FUSE), driven by its program {@code fi}. It follows
 * the calls of the processes that run on it and keeps, at a power loss, exactly what they synced.
 */
public final class FiDisk implements Disk {
    private static final String FI_PROPERTY = "testkit.fi";
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Path fi;
    private final Path root;
    private final Path data;
    private final Map<String, String> environment;

    private FiDisk(Path fi, Path root, Path data, Map<String, String> environment) {
        this.fi = fi;
        this.root = root;
        this.data = data;
        this.environment = Map.copyOf(environment);
    }

    /**
     * Makes disks with the failure-injector.
     *
     * @param program path of {@code fi}, or null for the system property testkit.fi
     * @param seed of the latencies
     * @throws IllegalArgumentException when there is no such program
     */
    public static DiskProvider provider(String program, long seed) {
        String name = program == null ? System.getProperty(FI_PROPERTY) : program;
        if (name == null || !Files.isExecutable(Path.of(name))) {
            throw new IllegalArgumentException("no failure-injector at " + name
                    + "; build it (make -C failure-injector build) and name it by system property " + FI_PROPERTY);
        }
        Path fi = Path.of(name).toAbsolutePath();
        return (disk, parent) -> create(fi, parent.resolve(disk), seed);
    }

    private static FiDisk create(Path fi, Path root, long seed) throws IOException, InterruptedException {
        JsonNode made = JSON.readTree(Commands.run(fi.toString(), "disk", "create", "--json", "--backend", "preload",
                "--seed", Long.toString(seed), root.toString()));
        Map<String, String> environment = new LinkedHashMap<>();
        made.get("env").fields().forEachRemaining(entry -> environment.put(entry.getKey(), entry.getValue().asText()));
        return new FiDisk(fi, root, Path.of(made.get("dir").asText()), environment);
    }

    @Override
    public Path directory() {
        return data;
    }

    @Override
    public Map<String, String> environment() {
        return environment;
    }

    @Override
    public void sync() throws IOException, InterruptedException {
        Commands.run(fi.toString(), "disk", "sync", root.toString());
    }

    @Override
    public void setSyncLatency(double millis) throws IOException, InterruptedException {
        Commands.run(fi.toString(), "disk", "latency", root.toString(), "fsync", millis + "ms");
    }

    @Override
    public Loss powerLoss() throws IOException, InterruptedException {
        JsonNode loss = JSON.readTree(Commands.run(fi.toString(), "disk", "crash", "--json", root.toString()));
        return new Loss(loss.get("files").asLong(), loss.get("bytes").asLong());
    }

    @Override
    public void close() {
        // The files go with the run directory.
    }
}

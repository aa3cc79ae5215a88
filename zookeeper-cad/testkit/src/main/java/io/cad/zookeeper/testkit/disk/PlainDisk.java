// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.disk;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** A directory of the machine's own file system, for tests that cut no power. */
public record PlainDisk(Path directory) implements Disk {

    /** Provider of plain directories. */
    public static final DiskProvider PROVIDER = (name, parent) -> new PlainDisk(Files.createDirectory(parent.resolve(name)));

    @Override
    public Map<String, String> environment() {
        return Map.of();
    }

    @Override
    public void sync() {
        // Survives everything a test does to it.
    }

    @Override
    public void setSyncLatency(double millis) {
        throw new UnsupportedOperationException("a plain directory has no sync latency to set; use the failure-injector's disk");
    }

    @Override
    public void setFull(boolean full) {
        throw new UnsupportedOperationException("a plain directory does not run full; use the failure-injector's disk");
    }

    @Override
    public void setFrozen(boolean frozen) {
        throw new UnsupportedOperationException("a plain directory does not freeze; use the failure-injector's disk");
    }

    @Override
    public Loss powerLoss() throws IOException {
        throw new UnsupportedOperationException("a plain directory loses nothing; use the failure-injector's disk");
    }

    @Override
    public void close() {
        // The run directory deletes the files.
    }
}

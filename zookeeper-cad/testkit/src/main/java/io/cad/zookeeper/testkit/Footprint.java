// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * What a running server takes.
 *
 * @param residentBytes memory of the process
 * @param sideBytes files that only CAD writes, kept rollbacks included
 * @param diskBytes all files of the server, with the space that logs preallocate
 */
public record Footprint(long residentBytes, long sideBytes, long diskBytes) {
    private static final long KIB = 1024;

    static Footprint of(ServerProcess server) throws IOException {
        Path data = server.disk().directory();
        return new Footprint(resident(server.pid()), below(data.resolve("cad")), below(data));
    }

    /** The larger of each. */
    Footprint max(Footprint other) {
        return new Footprint(Math.max(residentBytes, other.residentBytes), Math.max(sideBytes, other.sideBytes),
                Math.max(diskBytes, other.diskBytes));
    }

    private static long resident(long pid) throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc", Long.toString(pid), "status"))) {
            if (line.startsWith("VmRSS:")) {
                return KIB * Long.parseLong(line.replaceAll("\\D", ""));
            }
        }
        throw new IOException("no VmRSS of process " + pid);
    }

    private static long below(Path directory) throws IOException {
        if (!Files.isDirectory(directory)) {
            return 0;
        }
        long bytes = 0;
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.toList()) {
                try {
                    bytes += Files.isRegularFile(file) ? Files.size(file) : 0;
                } catch (NoSuchFileException e) {
                    continue; // removed meanwhile
                }
            }
        }
        return bytes;
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.crash;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * Starts a server on each of many directories, on a traced disk, and says between its calls which one is next: what a
 * start does to a disk on which a killed process has left everything written, and nothing of the last bit synced.
 */
final class Restarts {

    private Restarts() {
    }

    /** Arguments: a directory of the disk, and one elsewhere with the trees to start on. */
    public static void main(String[] args) throws Exception {
        Life.configure();
        Path disk = Path.of(args[0]);
        try (OutputStream marks = Files.newOutputStream(disk.resolve(Trace.MARKS)); Stream<Path> all = Files.list(Path.of(args[1]))) {
            for (Path tree : all.sorted().toList()) {
                Path copy = disk.resolve(tree.getFileName());
                copy(tree, copy);
                say(marks, "killed " + tree.getFileName());
                try (Server server = new Server(copy)) {
                    say(marks, "started " + server.last());
                }
            }
        }
    }

    private static void say(OutputStream marks, String words) throws IOException {
        marks.write((words + "\n").getBytes(StandardCharsets.UTF_8));
    }

    private static void copy(Path from, Path to) throws IOException {
        try (Stream<Path> all = Files.walk(from)) {
            for (Path path : (Iterable<Path>) all::iterator) {
                Path copy = to.resolve(from.relativize(path).toString());
                if (Files.isDirectory(path)) {
                    Files.createDirectory(copy);
                } else {
                    Files.write(copy, Files.readAllBytes(path));
                }
            }
        }
    }
}

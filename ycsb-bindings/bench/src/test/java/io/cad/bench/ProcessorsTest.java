// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class ProcessorsTest {

    /** On which processors each thread of a process may run. */
    private static List<String> places(long pid) throws IOException {
        try (Stream<Path> threads = Files.list(Path.of("/proc", Long.toString(pid), "task"))) {
            return threads.flatMap(thread -> place(thread).stream()).distinct().toList();
        }
    }

    /** Nothing of a thread that has ended meanwhile. */
    private static Optional<String> place(Path thread) {
        try {
            return Files.readAllLines(thread.resolve("status")).stream()
                    .filter(line -> line.startsWith("Cpus_allowed_list:")).map(line -> line.split("\\s+")[1]).findFirst();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    @Test
    void clientsAndServersAreApartUntilTheyShareAgain() throws Exception {
        long self = ProcessHandle.current().pid();
        List<String> everywhere = places(self);
        List<String> allowed = Processors.each(everywhere.get(0));
        assumeTrue(allowed.size() > 1, "one processor cannot be split");
        Process server = new ProcessBuilder("sleep", "60").start();
        try {
            Processors.split(List.of(server.pid()));
            assertEquals(1, places(self).size(), "all threads in the same half: " + places(self));
            List<String> clients = Processors.each(places(self).get(0));
            List<String> servers = Processors.each(places(server.pid()).get(0));
            assertTrue(!clients.isEmpty() && !servers.isEmpty(), clients + " and " + servers);
            List<String> both = new ArrayList<>(clients);
            both.addAll(servers);
            assertEquals(allowed, both, "each processor in one half");
        } finally {
            Processors.share(List.of(server.pid()));
            assertEquals(everywhere, places(self));
            assertEquals(everywhere, places(server.pid()));
            server.destroyForcibly().waitFor();
        }
    }

    /** A container need not begin with processor 0. */
    @Test
    void processorsAreThoseThatTheKernelAllows() {
        assertEquals(List.of("2", "3", "7", "9", "10"), Processors.each("2-3,7,9-10"));
        assertEquals(List.of("5"), Processors.each("5"));
    }
}

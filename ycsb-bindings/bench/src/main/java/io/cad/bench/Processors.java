// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * How the machine's processors serve a measurement of few clients. A request of a single client wakes a server, and the
 * answer wakes the client: between two processors that takes longer than on one, and longest if they sleep meanwhile
 * (a read took 24, 50 or 115 us on two virtual ones). Which of these it is changes by the second and has nothing to do
 * with what is compared.
 */
final class Processors implements AutoCloseable {
    /** The kernel keeps to what was written as long as the file is open. */
    private static final File LATENCY = new File("/dev/cpu_dma_latency");

    /** As this process began: later Java counts those alone on which it may run at that moment. */
    static final int ALL = Runtime.getRuntime().availableProcessors();
    /** Those that this process began with, as the kernel lists them: "0-3,6". */
    private static final String ALLOWED = allowed();

    private static final int ATTEMPTS = 5;

    private final RandomAccessFile awake;

    private Processors(RandomAccessFile awake) {
        this.awake = awake;
    }

    /** From now on idle processors stay awake, if this user may ask for it. */
    static Processors awake() throws IOException {
        if (!LATENCY.canWrite()) {
            return new Processors(null);
        }
        RandomAccessFile request = new RandomAccessFile(LATENCY, "rw");
        request.write(new byte[Integer.BYTES]);
        return new Processors(request);
    }

    /** The clients, in this process, get one half of the processors and the servers the other. */
    static void split(Collection<Long> servers) throws IOException, InterruptedException {
        List<String> processors = each(ALLOWED);
        int half = processors.size() / 2;
        if (half > 0) {
            place(ProcessHandle.current().pid(), String.join(",", processors.subList(0, half)));
            for (long server : servers) {
                place(server, String.join(",", processors.subList(half, processors.size())));
            }
        }
    }

    /** This process, what it starts from now on, and the servers run everywhere. */
    static void share(Collection<Long> servers) throws IOException, InterruptedException {
        place(ProcessHandle.current().pid(), ALLOWED);
        for (long server : servers) {
            place(server, ALLOWED);
        }
    }

    /** All threads of a process; what they start stays with them. A thread may end meanwhile, and taskset fails. */
    private static void place(long pid, String processors) throws IOException, InterruptedException {
        String said = "";
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            Process taskset = new ProcessBuilder("taskset", "-acp", processors, Long.toString(pid))
                    .redirectErrorStream(true).start();
            said = new String(taskset.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
            if (taskset.waitFor() == 0) {
                return;
            }
        }
        throw new IOException("taskset cannot place process " + pid + " on processors " + processors + ": " + said);
    }

    private static String allowed() {
        try {
            return Files.readAllLines(Path.of("/proc/self/status")).stream().filter(line -> line.startsWith("Cpus_allowed_list:"))
                    .findFirst().orElseThrow().split("\\s+")[1];
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The numbers in a list of the kernel's. */
    static List<String> each(String list) {
        List<String> numbers = new ArrayList<>();
        for (String range : list.split(",")) {
            String[] ends = range.split("-");
            for (int number = Integer.parseInt(ends[0]); number <= Integer.parseInt(ends[ends.length - 1]); number++) {
                numbers.add(Integer.toString(number));
            }
        }
        return numbers;
    }

    @Override
    public void close() throws IOException {
        if (awake != null) {
            awake.close();
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;

/** Writes a good history of many operations, to measure the checker with: {@code LargeHistory FILE OPERATIONS}. */
final class LargeHistory {
    private static final int KEYS = 1_000;
    private static final int CLIENTS = 50;
    private static final int EPOCH = 20_000;

    private LargeHistory() {
    }

    public static void main(String[] arguments) throws IOException {
        Random random = new Random(1);
        long[] epochs = new long[KEYS];
        long[] counters = new long[KEYS];
        long[] numbers = new long[KEYS];
        Arrays.fill(numbers, -1);
        long counter = 0;
        int operations = Integer.parseInt(arguments[1]);
        try (PrintWriter out = new PrintWriter(Path.of(arguments[0]).toFile(), StandardCharsets.UTF_8)) {
            for (int i = 0; i < operations; i++) {
                long epoch = 1 + i / EPOCH;
                counter = i % EPOCH == 0 ? 0 : counter;
                int key = random.nextInt(KEYS);
                boolean write = numbers[key] < 0 || random.nextInt(4) == 0;
                if (write) {
                    epochs[key] = epoch;
                    counters[key] = ++counter;
                    numbers[key]++;
                }
                String op = String.format(":process %d, :f :%s, :value [\"/k%d\" ", i % CLIENTS,
                        write ? "write" : "read", key);
                out.printf("{:index %d, :time %d, :type :invoke, %s%s]}%n", 2 * i, 20L * i, op,
                        write ? "{:v " + numbers[key] + "}" : "nil");
                out.printf("{:index %d, :time %d, :type :ok, %s{:v %d, :ver [%d %d], :n %d}], :node \"n%d\"}%n",
                        2 * i + 1, 20L * i + 10, op, numbers[key], epochs[key], counters[key], numbers[key], i % 5);
            }
        }
    }
}

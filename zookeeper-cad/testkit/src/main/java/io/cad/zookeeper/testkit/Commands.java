// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs small helper programs. */
public final class Commands {
    private static final long LIMIT_SECONDS = 60;

    private Commands() {
    }

    /**
     * Runs a program to its end.
     *
     * @return what it printed
     * @throws IOException when it fails or takes longer than a minute; the message has the command and its output
     */
    public static String run(String... command) throws IOException, InterruptedException {
        File output = File.createTempFile("command", ".out");
        try {
            Process process = new ProcessBuilder(List.of(command))
                    .redirectErrorStream(true)
                    .redirectInput(new File("/dev/null"))
                    .redirectOutput(output)
                    .start();
            boolean ended = process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
            String printed = new String(java.nio.file.Files.readAllBytes(output.toPath()), StandardCharsets.UTF_8);
            if (!ended) {
                process.destroyForcibly();
                throw new IOException(String.join(" ", command) + ": no end after " + LIMIT_SECONDS + " s: " + printed);
            }
            if (process.exitValue() != 0) {
                throw new IOException(String.join(" ", command) + ": exit " + process.exitValue() + ": " + printed);
            }
            return printed;
        } finally {
            output.delete();
        }
    }
}

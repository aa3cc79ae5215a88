// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The core decides, and does nothing else: same events, same actions, on any machine. */
class PurityTest {
    private static final Path PACKAGES = Path.of("src/main/java/io/cad/zookeeper");

    /** Input and output, clocks, threads, chance, and state that two cores would share. */
    private static final Pattern IMPURE = Pattern.compile(
            "java\\.(io|nio|net|time)\\b|System\\.(?!arraycopy)|Thread|synchronized|concurrent|Random|org\\.apache|org\\.slf4j"
            + "|static (volatile )?[\\w<>\\[\\], ]+ \\w+( =|;)");
    private static final Pattern CONSTANT = Pattern.compile("static final (long|int) \\w+ =");

    @Test
    void whatIsForbiddenIsRecognised() {
        for (String line : List.of("import java.io.File;", "long now = System.nanoTime();", "static long count;",
                "private static volatile Map<String, Long> all = null;")) {
            assertTrue(isImpure(line), line);
        }
    }

    private static boolean isImpure(String line) {
        return IMPURE.matcher(line).find() && !CONSTANT.matcher(line).find();
    }

    /** What joins the pure parts has locks, but its clock, disk and peers are given to it. */
    @Test
    void theNodeHasNoClockNoThreadsNoInputOrOutput() throws IOException {
        Pattern impure = Pattern.compile("java\\.(io|nio|net|time)\\b|System\\.|Thread|Random|org\\.apache|org\\.slf4j");
        try (Stream<Path> files = Files.list(PACKAGES.resolve("node"))) {
            List<Path> all = files.toList();
            assertTrue(all.size() >= 5, "found only " + all);
            for (Path file : all) {
                for (String line : Files.readAllLines(file)) {
                    assertFalse(impure.matcher(line).find(), () -> file.getFileName() + ": " + line);
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"core", "lease"})
    void theCoreHasNoClockNoThreadsNoInputOrOutput(String part) throws IOException {
        try (Stream<Path> files = Files.list(PACKAGES.resolve(part))) {
            List<Path> all = files.toList();
            assertTrue(all.size() >= 5, "found only " + all);
            for (Path file : all) {
                for (String line : Files.readAllLines(file)) {
                    assertFalse(isImpure(line), () -> file.getFileName() + ": " + line);
                }
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MainTest {
    private static final String HISTORIES = "src/test/resources/histories/";

    @TempDir
    Path directory;

    private record Run(int code, String out, String err) {
    }

    private static Run run(String... arguments) {
        PrintStream out = System.out;
        PrintStream err = System.err;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        ByteArrayOutputStream complained = new ByteArrayOutputStream();
        try {
            System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(complained, true, StandardCharsets.UTF_8));
            int code = Main.run(arguments);
            return new Run(code, printed.toString(StandardCharsets.UTF_8),
                    complained.toString(StandardCharsets.UTF_8));
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
    }

    @Test
    void saysWhatHoldsAndWhatDoesNot() {
        Run holds = run(HISTORIES + "S1-stale-but-monotonic/history.edn");
        assertEquals(0, holds.code);
        assertTrue(holds.out.startsWith("holds: "), holds.out);

        Run violated = run(HISTORIES + "S3-other-key-goes-back/history.edn");
        assertEquals(1, violated.code);
        assertTrue(violated.out.startsWith("VIOLATED: 1 reads went back"), violated.out);
        assertTrue(violated.out.contains("lacks :x@[1 3]"), violated.out);
    }

    @Test
    void saysItInJson() {
        Run violated = run("--json", HISTORIES + "C2-chain-key-goes-back/history.edn");
        assertEquals(1, violated.code);
        assertTrue(violated.out.startsWith("{\"valid\": false, \"style\": \"chain\""), violated.out);
        assertTrue(violated.out.contains("\"class\": \"key\""), violated.out);
        assertTrue(violated.out.contains("a3"), violated.out);
    }

    @Test
    void decidesNothingWithoutReads() throws IOException {
        Path empty = Files.writeString(directory.resolve("empty.edn"), "");
        Run run = run(empty.toString());
        assertEquals(2, run.code);
        assertTrue(run.out.startsWith("UNDECIDED"), run.out);
        assertTrue(run("--json", empty.toString()).out.contains("\"valid\": \"unknown\""));
    }

    @Test
    void complainsAboutInputAndArguments() throws IOException {
        Path bad = Files.writeString(directory.resolve("bad.edn"), "{:time 1}\n");
        Run run = run(bad.toString());
        assertEquals(2, run.code);
        assertTrue(run.err.contains("bad.edn is no history: line "), run.err);
        assertEquals(254, run().code);
        assertEquals(254, run("--colour", bad.toString()).code);
        assertEquals(254, run(directory.resolve("missing.edn").toString()).code);
    }
}

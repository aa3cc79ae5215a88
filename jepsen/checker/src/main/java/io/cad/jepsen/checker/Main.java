// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The command {@code bin/check}. */
public final class Main {
    static final int HOLDS = 0;
    static final int VIOLATED = 1;
    static final int UNDECIDED = 2;
    static final int WRONG_ARGUMENTS = 254;
    static final int CRASHED = 255;

    static final String USAGE = """
            usage: check [--json] HISTORY.edn
            Decides whether any read went back behind an earlier one, of whatever client.
            Exit codes: 0 holds, 1 violated, 2 undecided (nothing to compare, or the input is no history),
            254 wrong arguments, 255 crashed.""";

    private Main() {
    }

    public static void main(String[] arguments) {
        System.exit(run(arguments));
    }

    static int run(String... arguments) {
        List<String> rest = new ArrayList<>(List.of(arguments));
        boolean json = rest.remove("--json");
        if (rest.size() != 1 || rest.get(0).startsWith("-")) {
            System.err.println(USAGE);
            return WRONG_ARGUMENTS;
        }
        Path file = Path.of(rest.get(0));
        if (!Files.isRegularFile(file) || !Files.isReadable(file)) {
            System.err.println("check: " + file + " is no file that can be read");
            return WRONG_ARGUMENTS;
        }
        try {
            Verdict verdict = Checker.check(HistoryReader.read(file));
            Report report = new Report(verdict);
            System.out.print(json ? report.json() + "\n" : report.text());
            return verdict.isValid() ? verdict.isVacuous() ? UNDECIDED : HOLDS : VIOLATED;
        } catch (BadHistoryException e) {
            System.err.println("check: undecided, " + file + " is no history: " + e.getMessage());
            return UNDECIDED;
        } catch (IOException | RuntimeException e) {
            System.err.println("check: " + file + ": " + e);
            return CRASHED;
        }
    }
}

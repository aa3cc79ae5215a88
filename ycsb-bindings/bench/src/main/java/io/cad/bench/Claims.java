// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.ExitCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Command: prints the table of claims from the raw data of a benchmark directory. */
public final class Claims {
    private Claims() {
    }

    public static void main(String[] line) {
        if (line.length != 1 || !Files.isDirectory(Path.of(line[0], "raw"))) {
            System.err.println("usage: Claims DIR, where DIR is the --out of a benchmark and has a directory raw");
            System.exit(ExitCode.BAD_ARGUMENTS.code());
        }
        try {
            Set<Cell> cells = new LinkedHashSet<>(Plan.quick().cells());
            cells.addAll(Plan.full().cells());
            cells.addAll(Plan.reads().cells());
            System.out.print(ClaimsTable.markdown(List.copyOf(cells), Path.of(line[0], "raw")));
        } catch (IOException e) {
            e.printStackTrace();
            System.exit(ExitCode.CRASHED.code());
        }
    }
}

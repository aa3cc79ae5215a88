// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.history;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Histories as files: one JSON object a line, fields as in {@link Op}. */
public final class HistoryFile {
    private static final ObjectMapper JSON = new ObjectMapper();

    private HistoryFile() {
    }

    public static void write(Path file, Iterable<Op> ops) throws IOException {
        try (BufferedWriter out = Files.newBufferedWriter(file)) {
            for (Op op : ops) {
                out.write(JSON.writeValueAsString(op));
                out.newLine();
            }
        }
    }

    public static List<Op> read(Path file) throws IOException {
        List<Op> ops = new ArrayList<>();
        try (MappingIterator<Op> lines = JSON.readerFor(new TypeReference<Op>() { }).readValues(file.toFile())) {
            lines.forEachRemaining(ops::add);
        }
        return ops;
    }
}

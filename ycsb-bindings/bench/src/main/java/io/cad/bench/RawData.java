// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/** What was measured, one JSON line each, so that a run can go on where the last one stopped. */
final class RawData {
    private static final ObjectMapper JSON = new ObjectMapper();

    private RawData() {
    }

    static void append(Path file, Object line) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, JSON.writeValueAsString(line) + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    /** All lines; none when there is no file. */
    static <T> List<T> load(Path file, Class<T> type) throws IOException {
        List<T> lines = new ArrayList<>();
        if (Files.exists(file)) {
            try (MappingIterator<T> found = JSON.readerFor(type).readValues(file.toFile())) {
                found.forEachRemaining(lines::add);
            }
        }
        return lines;
    }
}

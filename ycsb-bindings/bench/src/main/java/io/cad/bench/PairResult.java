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

/**
 * Raw data of one pair of slices, one JSON line.
 *
 * @param cell id of the cell
 * @param servers voters of each system
 * @param foreignCores cores that processes other than ours kept busy, on average over the pair
 * @param setup fingerprint of what must not change between the pairs of a cell
 */
record PairResult(String cell, int pair, int servers, String setup, long seed, double foreignCores,
        Subject.Sample subject, Subject.Sample over) {

    private static final ObjectMapper JSON = new ObjectMapper();

    double ratio(Cell.Figure figure) {
        return subject.figure(figure) / over.figure(figure);
    }

    static Path file(Path directory, String cell) {
        return directory.resolve(cell + ".jsonl");
    }

    void append(Path directory) throws IOException {
        Files.createDirectories(directory);
        Files.writeString(file(directory, cell), JSON.writeValueAsString(this) + "\n",
                StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    /** The pairs of a cell measured so far; none when there is no file. */
    static List<PairResult> load(Path directory, String cell) throws IOException {
        Path file = file(directory, cell);
        List<PairResult> pairs = new ArrayList<>();
        if (Files.exists(file)) {
            try (MappingIterator<PairResult> lines = JSON.readerFor(PairResult.class).readValues(file.toFile())) {
                lines.forEachRemaining(pairs::add);
            }
        }
        return pairs;
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import java.io.IOException;
import java.nio.file.Path;
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

    double ratio(Cell.Figure figure) {
        return subject.figure(figure) / over.figure(figure);
    }

    static Path file(Path directory, String cell) {
        return directory.resolve(cell + ".jsonl");
    }

    void append(Path directory) throws IOException {
        RawData.append(file(directory, cell), this);
    }

    /** The pairs of a cell measured so far; none when there is no file. */
    static List<PairResult> load(Path directory, String cell) throws IOException {
        return RawData.load(file(directory, cell), PairResult.class);
    }
}

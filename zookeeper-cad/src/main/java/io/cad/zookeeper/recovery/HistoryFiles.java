// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.recovery;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.zookeeper.server.persistence.Util;

/**
 * The log and snapshot files of a directory, newest first, and nothing else.
 * Upstream's {@code Util.sortDataDir} sorts every file that is there, those of
 * the epochs included.
 */
final class HistoryFiles {

    private HistoryFiles() {
    }

    static List<File> logs(File directory) {
        return newestFirst(directory, "log");
    }

    static List<File> snapshots(File directory) {
        return newestFirst(directory, "snapshot");
    }

    /** Index in the name of a file that this class returned. */
    static long index(File file) {
        String name = file.getName();
        return Util.getZxidFromName(name, name.substring(0, name.indexOf('.')));
    }

    /** What is in a directory, nothing if there is none. One that cannot be read is not one without files. */
    static File[] files(File directory) {
        File[] files = directory.listFiles();
        if (files == null && directory.exists()) {
            throw new UncheckedIOException(new IOException("cannot list " + directory));
        }
        return files == null ? new File[0] : files;
    }

    private static List<File> newestFirst(File directory, String prefix) {
        List<File> found = new ArrayList<>();
        for (File file : files(directory)) {
            if (Util.getZxidFromName(file.getName(), prefix) >= 0) {
                found.add(file);
            }
        }
        found.sort(Comparator.comparingLong(HistoryFiles::index).reversed());
        return found;
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.durability;

import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.function.Consumer;

/** Makes directory entries durable: created, renamed and deleted names live in the directory, not in the file. */
public final class Directories {

    private static volatile Consumer<File> observer = directory -> { };

    private Directories() {
    }

    /** For tests of the order in which files and directories are synced. */
    public static void observeWith(Consumer<File> replacement) {
        observer = replacement;
    }

    /** Syncs a directory. */
    public static void sync(File directory) throws IOException {
        try (FileChannel channel = FileChannel.open(directory.toPath(), StandardOpenOption.READ)) {
            channel.force(true);
        }
        observer.accept(directory);
    }

    /** Creates a directory and makes its name durable; does nothing if it exists. */
    public static void create(File directory) throws IOException {
        if (directory.isDirectory()) {
            return;
        }
        if (!directory.mkdirs() && !directory.isDirectory()) {
            throw new IOException("cannot create directory " + directory);
        }
        syncParent(directory);
    }

    /** As {@link #sync}, of the directory that a file is in; its name may say none. */
    public static void syncParent(File file) throws IOException {
        sync(file.getAbsoluteFile().getParentFile());
    }
}

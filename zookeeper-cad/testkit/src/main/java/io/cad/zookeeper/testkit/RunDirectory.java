// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The one directory below which everything of a run lies: data, logs, configuration, results.
 *
 * <p>It ends what the run started, in reverse order, when it is closed or when the JVM exits for whatever reason that
 * runs shutdown hooks. A run whose JVM was killed outright is swept by the next run with the same base directory:
 * only processes whose command line names the dead run's directory are ended.
 */
public final class RunDirectory implements AutoCloseable {
    private static final String OWNER = "owner.pid";
    private static final String KEPT = "kept.marker";

    private final Path path;
    private final Deque<AutoCloseable> resources = new ArrayDeque<>();
    private final Thread hook = new Thread(this::closeResources, "run-directory-cleanup");
    private boolean closed;

    private RunDirectory(Path path) {
        this.path = path;
    }

    /** Makes a new directory, named after {@code name} and this process, below {@code base}. */
    public static RunDirectory create(Path base, String name) throws IOException {
        Files.createDirectories(base);
        sweep(base);
        Path path = Files.createTempDirectory(base.toAbsolutePath(), name + "-");
        Files.writeString(path.resolve(OWNER), Long.toString(ProcessHandle.current().pid()));
        RunDirectory run = new RunDirectory(path);
        Runtime.getRuntime().addShutdownHook(run.hook);
        return run;
    }

    /** As {@link #create(Path, String)}, below the system property testkit.run.base or else the temporary directory. */
    public static RunDirectory create(String name) throws IOException {
        String base = System.getProperty("testkit.run.base", System.getProperty("java.io.tmpdir") + "/cad-testkit");
        return create(Path.of(base), name);
    }

    public Path path() {
        return path;
    }

    /** Registers something to be closed with the run, before everything registered earlier. */
    public synchronized void onClose(AutoCloseable resource) {
        if (closed) {
            throw new IllegalStateException("the run in " + path + " is over");
        }
        resources.push(resource);
    }

    /** Leaves processes and files as they are when this JVM ends: the user goes on with them. */
    public synchronized void keep() throws IOException {
        Files.writeString(path.resolve(KEPT), "");
        resources.clear();
    }

    /** Ends what runs and deletes the directory. */
    public void closeAndDelete() {
        close();
        delete(path);
    }

    /** Ends what runs and leaves the files, for a look at logs and results. */
    @Override
    public void close() {
        closeResources();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The JVM is already going down; the hook finds nothing left to do.
            return;
        }
    }

    private synchronized void closeResources() {
        closed = true;
        while (!resources.isEmpty()) {
            AutoCloseable resource = resources.pop();
            try {
                resource.close();
            } catch (Exception e) {
                System.err.println("cleaning up " + path + ": " + e);
            }
        }
    }

    /** Deletes a tree; a missing one is fine. */
    static void delete(Path tree) {
        if (!Files.exists(tree)) {
            return;
        }
        try (Stream<Path> files = Files.walk(tree)) {
            for (Path file : (Iterable<Path>) files.sorted(Comparator.reverseOrder())::iterator) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void sweep(Path base) throws IOException {
        try (Stream<Path> runs = Files.list(base)) {
            for (Path run : (Iterable<Path>) runs::iterator) {
                Path owner = run.resolve(OWNER);
                if (!Files.exists(owner) || Files.exists(run.resolve(KEPT))) {
                    continue;
                }
                long pid = Long.parseLong(Files.readString(owner).trim());
                if (ProcessHandle.of(pid).filter(ProcessHandle::isAlive).isEmpty()) {
                    endOrphans(run);
                }
            }
        }
    }

    private static void endOrphans(Path run) {
        String marker = run.toAbsolutePath() + "/";
        ProcessHandle.allProcesses()
                .filter(process -> commandLine(process).map(line -> line.contains(marker)).orElse(false))
                .forEach(ProcessHandle::destroyForcibly);
    }

    private static Optional<String> commandLine(ProcessHandle process) {
        try {
            return Optional.of(Files.readString(Path.of("/proc", Long.toString(process.pid()), "cmdline")));
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}

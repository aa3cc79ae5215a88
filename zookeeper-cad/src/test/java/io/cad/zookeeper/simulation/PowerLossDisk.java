// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.simulation;

import io.cad.zookeeper.durability.CadTxnLog;
import io.cad.zookeeper.durability.Directories;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The directory of one server, and what of its log would survive a power loss: what the sync calls of the real log
 * class have covered, as observed when it makes them. The other files are synced by the calls that write them; what
 * happens between those calls is the crash explorer's business.
 */
final class PowerLossDisk {
    /** The disk of the server that runs at the moment; the simulation has one thread. */
    private static PowerLossDisk current;

    private final Path base;
    private int life;
    private final Map<String, Long> synced = new HashMap<>();
    private final Set<String> names = new HashSet<>();

    PowerLossDisk(Path base) {
        this.base = base;
        try {
            Files.createDirectories(directory());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** From here the sync calls of all servers in this JVM are observed. */
    static void observe() {
        CadTxnLog.forceWith(channel -> {
            channel.force(false);
            current.synced(channel);
        });
        Directories.observeWith(directory -> current.entriesSynced(directory));
    }

    static void stopObserving() {
        CadTxnLog.forceWith(channel -> channel.force(false));
        Directories.observeWith(directory -> { });
    }

    /** This server runs now. */
    void enter() {
        current = this;
    }

    Path directory() {
        return base.resolve("life-" + life);
    }

    private Path logs() {
        return directory().resolve("log").resolve("version-2");
    }

    /** The log syncs only the file to which it appends, which is the newest. */
    private void synced(FileChannel channel) throws IOException {
        String newest = null;
        for (String name : logs().toFile().list((dir, name) -> name.startsWith("log."))) {
            newest = newest == null || number(name) > number(newest) ? name : newest;
        }
        synced.put(newest, channel.size());
    }

    private static long number(String log) {
        return Long.parseLong(log.substring(4), 16);
    }

    private void entriesSynced(File directory) {
        if (directory.toPath().equals(logs())) {
            names.addAll(Set.of(directory.list()));
        }
    }

    /**
     * The process is gone: its directory is what another one will find.
     *
     * @param losesPower or only the process died
     * @return bytes lost
     */
    long crash(boolean losesPower, Random random) {
        try {
            Path from = directory();
            Path fromLogs = logs();
            life++;
            long lost = 0;
            try (Stream<Path> all = Files.walk(from)) {
                for (Path path : (Iterable<Path>) all.sorted()::iterator) {
                    Path to = directory().resolve(from.relativize(path));
                    if (Files.isDirectory(path)) {
                        Files.createDirectories(to);
                    } else if (losesPower && isLog(path, fromLogs)) {
                        lost += keep(path, to, random);
                    } else {
                        Files.copy(path, to);
                    }
                }
            }
            allSynced();
            return lost;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean isLog(Path path, Path logs) {
        return path.startsWith(logs) && path.getFileName().toString().startsWith("log.");
    }

    /** Whatever the log files hold is durable: after a start, a cut or a takeover, which end with their own syncs. */
    void allSynced() throws IOException {
        synced.clear();
        names.clear();
        String[] all = logs().toFile().list();
        for (String name : all == null ? new String[0] : all) {
            synced.put(name, Files.size(logs().resolve(name)));
            names.add(name);
        }
    }

    /** Of a log the synced part survives, and perhaps some of the rest, torn anywhere. */
    private long keep(Path path, Path to, Random random) throws IOException {
        String name = path.getFileName().toString();
        long size = Files.size(path);
        long safe = Math.min(size, synced.getOrDefault(name, 0L));
        boolean isNamed = names.contains(name);
        long kept = safe + (random.nextInt(3) == 0 ? (long) (random.nextDouble() * (size - safe)) : 0);
        if (!isNamed && random.nextBoolean()) {
            return size; // created, but its name never reached the disk
        }
        byte[] content = Files.readAllBytes(path);
        Files.write(to, Arrays.copyOf(content, (int) kept));
        return size - kept;
    }

    /** Removes the directory of the former life, when its files are closed. */
    void forgetFormerLife() {
        delete(base.resolve("life-" + (life - 1)));
    }

    static void delete(Path tree) {
        try (Stream<Path> all = Files.walk(tree)) {
            all.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

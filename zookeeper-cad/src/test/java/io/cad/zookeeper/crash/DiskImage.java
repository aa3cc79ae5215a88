// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.crash;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What a disk may hold if the power goes now, by the strictest reading of POSIX (the injector's mode
 * {@code strict}): a file's bytes are durable once the file is synced, a name once its directory is.
 * Everything else may or may not be there, each sector of 512 bytes and each directory operation for
 * itself. A sector that did not reach the disk has its last synced content, zeros if it never had one.
 */
final class DiskImage {

    static final int SECTOR = 512;

    /** A file: what is synced, and what the program reads. */
    private static final class Content {
        byte[] durable = new byte[0];
        byte[] live = new byte[0];
        /** Sectors that differ in what was written since the last sync. */
        final BitSet dirty = new BitSet();

        void write(long at, byte[] data) {
            resize(Math.max(live.length, (int) at + data.length));
            System.arraycopy(data, 0, live, (int) at, data.length);
            touch((int) at, (int) at + data.length);
        }

        void truncate(int size) {
            touch(size, live.length);
            resize(size);
        }

        private void resize(int size) {
            if (size != live.length) {
                live = Arrays.copyOf(live, size);
            }
        }

        private void touch(int from, int to) {
            if (to > from) {
                dirty.set(from / SECTOR, (to - 1) / SECTOR + 1);
            }
        }

        Content copy() {
            Content copy = new Content();
            copy.durable = durable.clone();
            copy.live = live.clone();
            copy.dirty.or(dirty);
            return copy;
        }

        void sync() {
            durable = live.clone();
            dirty.clear();
        }

        byte[] after(boolean newSize, BitSet keptSectors) {
            byte[] found = Arrays.copyOf(durable, newSize ? live.length : durable.length);
            for (int sector = keptSectors.nextSetBit(0); sector >= 0; sector = keptSectors.nextSetBit(sector + 1)) {
                int from = sector * SECTOR;
                int to = Math.min(from + SECTOR, found.length);
                for (int at = from; at < to; at++) {
                    found[at] = at < live.length ? live[at] : 0;
                }
            }
            return found;
        }
    }

    /** One thing that the power loss decides: a directory operation, a sector of a file, or a file's size. */
    record Unit(Trace.Op name, int file, int sector) {
        static final int SIZE = -1;
    }

    private final Map<Integer, Content> files = new HashMap<>();
    private final Map<Integer, Map<String, Integer>> durableNames = new HashMap<>(Map.of(Trace.ROOT, new TreeMap<>()));
    private final List<Trace.Op> pendingNames = new ArrayList<>();

    /** The same disk, on which something else happens from now on. */
    DiskImage copy() {
        DiskImage copy = new DiskImage();
        files.forEach((number, content) -> copy.files.put(number, content.copy()));
        durableNames.forEach((number, names) -> copy.durableNames.put(number, new TreeMap<>(names)));
        copy.pendingNames.addAll(pendingNames);
        return copy;
    }

    /** The number of each file and directory that the program sees, by path; that of a directory ends with a slash. */
    Map<String, Integer> paths() {
        Map<Integer, Map<String, Integer>> names = new HashMap<>();
        durableNames.forEach((number, entries) -> names.put(number, new TreeMap<>(entries)));
        pendingNames.forEach(op -> rename(names, op));
        Map<String, Integer> paths = new TreeMap<>();
        collect(names, Trace.ROOT, "", paths);
        return paths;
    }

    private void collect(Map<Integer, Map<String, Integer>> names, int directory, String path, Map<String, Integer> paths) {
        names.get(directory).forEach((name, number) -> {
            boolean file = files.containsKey(number);
            paths.put(path + name + (file ? "" : "/"), number);
            if (!file) {
                collect(names, number, path + name + "/", paths);
            }
        });
    }

    /** The program made a call, and it returned. */
    void apply(Trace.Op op) throws IOException {
        switch (op.kind()) {
            case CREATE -> {
                files.put(op.id(), new Content());
                pendingNames.add(op);
            }
            case MKDIR -> {
                durableNames.put(op.id(), new TreeMap<>());
                pendingNames.add(op);
            }
            case LINK, UNLINK, RENAME -> pendingNames.add(op);
            case WRITE -> file(op).write(op.at(), op.data());
            case TRUNCATE -> file(op).truncate((int) op.at());
            case SYNC -> {
                if (files.containsKey(op.id())) {
                    file(op).sync();
                } else {
                    syncDirectory(op.id());
                }
            }
            case SAY -> { }
        }
    }

    private Content file(Trace.Op op) throws IOException {
        Content content = files.get(op.id());
        if (content == null) {
            throw new IOException("the trace does not say where file #" + op.id() + " comes from");
        }
        return content;
    }

    /** An operation on two directories is durable with either of them, and then so is what came before it in both. */
    private void syncDirectory(int directory) {
        Set<Integer> touched = new HashSet<>(Set.of(directory));
        Set<Trace.Op> now = new HashSet<>();
        for (int i = pendingNames.size() - 1; i >= 0; i--) {
            Trace.Op op = pendingNames.get(i);
            if (touched.contains(op.dir1()) || touched.contains(op.dir2())) {
                now.add(op);
                touched.add(op.dir1());
                touched.add(op.dir2());
                touched.remove(0);
            }
        }
        for (Trace.Op op : pendingNames) {
            if (now.contains(op)) {
                rename(durableNames, op);
            }
        }
        pendingNames.removeIf(now::contains);
    }

    private static void rename(Map<Integer, Map<String, Integer>> names, Trace.Op op) {
        Map<String, Integer> directory = names.get(op.dir1());
        switch (op.kind()) {
            case CREATE, MKDIR, LINK -> directory.put(op.name1(), op.id());
            case UNLINK -> directory.remove(op.name1());
            default -> {
                directory.remove(op.name1());
                names.get(op.dir2()).put(op.name2(), op.id());
            }
        }
    }

    /** What is undecided now. A size counts only for a file that has one to lose. */
    List<Unit> units() {
        List<Unit> units = new ArrayList<>();
        pendingNames.forEach(op -> units.add(new Unit(op, 0, 0)));
        for (int id : new TreeSet<>(files.keySet())) {
            Content content = files.get(id);
            content.dirty.stream().forEach(sector -> units.add(new Unit(null, id, sector)));
            if (content.live.length != content.durable.length) {
                units.add(new Unit(null, id, Unit.SIZE));
            }
        }
        return units;
    }

    /** The tree after a power loss that spares the chosen units: paths with contents, null for a directory. */
    Map<String, byte[]> after(List<Unit> units, BitSet spared) {
        Map<Integer, Map<String, Integer>> names = new HashMap<>();
        durableNames.forEach((id, entries) -> names.put(id, new TreeMap<>(entries)));
        Map<Integer, BitSet> sectors = new HashMap<>();
        Set<Integer> newSize = new HashSet<>();
        for (int i = 0; i < units.size(); i++) {
            Unit unit = units.get(i);
            if (!spared.get(i)) {
                continue;
            }
            if (unit.name != null) {
                rename(names, unit.name);
            } else if (unit.sector == Unit.SIZE) {
                newSize.add(unit.file);
            } else {
                sectors.computeIfAbsent(unit.file, id -> new BitSet()).set(unit.sector);
            }
        }
        Map<String, byte[]> tree = new TreeMap<>();
        collect(names, Trace.ROOT, "", id -> {
            Content content = files.get(id);
            boolean resized = newSize.contains(id) || content.live.length == content.durable.length;
            return content.after(resized, sectors.getOrDefault(id, new BitSet()));
        }, tree);
        return tree;
    }

    /** The tree that the program itself sees. */
    Map<String, byte[]> live() {
        List<Unit> units = units();
        BitSet all = new BitSet();
        all.set(0, units.size());
        return after(units, all);
    }

    private interface Contents {
        byte[] of(int file);
    }

    private void collect(Map<Integer, Map<String, Integer>> names, int directory, String path, Contents contents,
                         Map<String, byte[]> tree) {
        names.get(directory).forEach((name, id) -> {
            String child = path + name;
            if (files.containsKey(id)) {
                tree.put(child, contents.of(id));
            } else {
                tree.put(child + "/", null);
                collect(names, id, child + "/", contents, tree);
            }
        });
    }

    /** Writes a tree below an empty directory. */
    static void write(Map<String, byte[]> tree, Path directory) throws IOException {
        for (Map.Entry<String, byte[]> entry : tree.entrySet()) {
            Path path = directory.resolve(entry.getKey());
            if (entry.getValue() == null) {
                Files.createDirectories(path);
            } else {
                Files.write(path, entry.getValue());
            }
        }
    }
}

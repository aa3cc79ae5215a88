// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.crash;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntUnaryOperator;

/**
 * The traced program is killed before each of its calls, and a server starts on what it has left: all that was written,
 * of which the disk may hold less. From then on the server's peers count on what it found; that must outlast its power.
 */
final class Kills {

    /** Numbers of files that a start makes must not be those of files that are there. */
    private static final int NEW_FILES = 1_000_000;

    /** One kill, what the program had said by then, and the disk: first as it was left, later as the start leaves it. */
    record Kill(DiskImage image, List<String> said, String where) { }

    final List<Kill> kills = new ArrayList<>();

    Kills(List<Trace.Op> ops) throws IOException {
        DiskImage image = new DiskImage();
        List<String> said = new ArrayList<>();
        int calls = 0;
        for (Trace.Op op : ops) {
            if (op.kind() == Trace.Kind.SAY) {
                said.add(op.words());
                continue;
            }
            calls++;
            kills.add(new Kill(image.copy(), new ArrayList<>(said), "killed before call " + calls + ", " + op));
            image.apply(op);
        }
    }

    private static String name(int kill) {
        return String.format("k%05d", kill);
    }

    /** Writes what each kill leaves, for {@link Restarts}. */
    void write(Path directory) throws IOException {
        for (int i = 0; i < kills.size(); i++) {
            DiskImage.write(kills.get(i).image.live(), Files.createDirectory(directory.resolve(name(i))));
        }
    }

    /**
     * Does to each disk what the start on it did.
     *
     * @param ops trace of {@link Restarts}
     * @return how many starts it holds
     */
    int restart(List<Trace.Op> ops) throws IOException {
        DiskImage all = new DiskImage();
        Map<Integer, Integer> numbers = new HashMap<>();
        IntUnaryOperator renumber = number -> number == 0 ? 0 : numbers.getOrDefault(number, NEW_FILES + number);
        Kill current = null;
        int started = 0;
        for (Trace.Op op : ops) {
            if (op.kind() == Trace.Kind.SAY) {
                String[] words = op.words().split(" ");
                if (words[0].equals("killed")) {
                    current = kills.get(Integer.parseInt(words[1].substring(1)));
                    numbers.clear();
                    numbers.putAll(numbers(all.paths(), words[1], current.image.paths()));
                } else {
                    current.said.add("durable " + words[1]);
                    current = null;
                    started++;
                }
                continue;
            }
            all.apply(op);
            if (current != null) {
                current.image.apply(op.renumbered(renumber));
            }
        }
        return started;
    }

    /** From a file's number in the trace of all starts to its number in the life that was killed. */
    private static Map<Integer, Integer> numbers(Map<String, Integer> all, String tree, Map<String, Integer> own) {
        Map<Integer, Integer> numbers = new HashMap<>(Map.of(all.get(tree + "/"), Trace.ROOT));
        own.forEach((path, number) -> numbers.put(all.get(tree + "/" + path), number));
        return numbers;
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.crash;

import io.cad.zookeeper.core.Indices;
import java.io.IOException;
import java.util.Arrays;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The model: what a server that follows the rules may have after a power loss, by what the traced
 * program had said until then. It knows nothing of files.
 */
final class Promise {

    /** The history that counts, and up to where it must be there. */
    private final TreeSet<Long> history = new TreeSet<>();
    private long durable;
    /** The leader's state while it replaces the history, else null: the old one or this, whole. */
    private TreeSet<Long> incoming;
    /** What came in a leader's state and was in no log here; such a state is durable, and only a script takes it back. */
    private final TreeSet<Long> neverLogged = new TreeSet<>();
    /** What was taken back, and must have been kept aside. */
    private final TreeSet<Long> takenBack = new TreeSet<>();
    /** For each epoch that may be recorded the end of the history it begins with. */
    private final TreeMap<Long, Long> beginnings = new TreeMap<>();
    private long recordedEpoch;
    private long acceptedEpoch;

    /** The program said something. */
    void hear(String words) {
        String[] said = words.split(" ");
        switch (said[0]) {
            case "append" -> history.add(Long.parseLong(said[1]));
            case "durable" -> durable = Math.max(durable, Long.parseLong(said[1]));
            case "cut-begin" -> {
                long end = Long.parseLong(said[1]);
                durable = Math.min(durable, end);
                // A leader cuts into what an epoch began with only if no quorum ever recorded that epoch.
                beginnings.replaceAll((epoch, beginning) -> Math.min(beginning, end));
            }
            case "cut-end" -> {
                SortedSet<Long> cut = history.tailSet(Long.parseLong(said[1]), false);
                takenBack.addAll(cut);
                cut.clear();
            }
            case "adopt-begin" -> {
                incoming = new TreeSet<>();
                Arrays.stream(said[1].split(",")).map(Long::valueOf).forEach(incoming::add);
            }
            case "adopt-end" -> {
                takenBack.addAll(replaced());
                neverLogged.addAll(incoming);
                neverLogged.removeAll(history);
                history.clear();
                history.addAll(incoming);
                durable = history.last();
                incoming = null;
            }
            case "accepted" -> acceptedEpoch = Long.parseLong(said[1]);
            case "epoch-begin" -> beginnings.put(Long.parseLong(said[1]), Long.parseLong(said[2]));
            case "epoch-end" -> recordedEpoch = Long.parseLong(said[1]);
            default -> { }
        }
    }

    /** Null if the recovered server is one that may be, else what is wrong. */
    String verdict(Server server) throws IOException {
        TreeSet<Long> found = server.history();
        long last = server.last();
        TreeSet<Long> unkept = new TreeSet<>(takenBack);
        if (incoming == null || !found.equals(incoming)) {
            String wrong = verdict(found, last);
            if (wrong != null) {
                return wrong;
            }
        } else {
            unkept.addAll(replaced());
        }
        unkept.removeAll(server.rolledBack());
        return unkept.isEmpty() ? epochs(server, last) : "taken back and not kept: " + name(unkept);
    }

    /** What the leader's state takes back. */
    private TreeSet<Long> replaced() {
        TreeSet<Long> replaced = new TreeSet<>(history);
        replaced.removeAll(incoming);
        replaced.removeAll(neverLogged);
        return replaced;
    }

    private String verdict(SortedSet<Long> found, long last) {
        TreeSet<Long> expected = new TreeSet<>(history.headSet(last, true));
        if (last < durable) {
            return "durable changes are lost: the history ends at " + Indices.format(last) + ", durable up to "
                + Indices.format(durable);
        }
        if (!found.equals(expected)) {
            TreeSet<Long> extra = new TreeSet<>(found);
            extra.removeAll(expected);
            TreeSet<Long> missing = new TreeSet<>(expected);
            missing.removeAll(found);
            return "the tree at " + Indices.format(last) + " has " + name(extra) + " and lacks " + name(missing);
        }
        if (!history.isEmpty() && last > history.last()) {
            return "the history ends at " + Indices.format(last) + ", which was taken back";
        }
        return null;
    }

    private String epochs(Server server, long last) throws IOException {
        long current = server.epoch("currentEpoch");
        long accepted = server.epoch("acceptedEpoch");
        if (current < recordedEpoch || accepted < acceptedEpoch) {
            return "epochs went back: recorded " + current + " (was " + recordedEpoch + "), promised " + accepted
                + " (was " + acceptedEpoch + ")";
        }
        if (last < beginnings.getOrDefault(current, 0L)) {
            return "epoch " + current + " is recorded over a short log: it ends at " + Indices.format(last)
                + ", the epoch begins with " + Indices.format(beginnings.get(current));
        }
        return null;
    }

    private static String name(SortedSet<Long> indices) {
        return indices.isEmpty() ? "nothing" : indices.stream().map(Indices::format).toList().toString();
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import io.cad.jepsen.checker.Operation.Kind;
import io.cad.jepsen.checker.Operation.Outcome;
import io.cad.jepsen.checker.Verdict.Wrong;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** The rules word by word, every pair of reads with each other: slow, and shares nothing with the checker. */
final class BruteForce {
    private record Known(int key, Index at) {
    }

    private static final class Update {
        long number = -1;
        Index created;
        boolean deletion;
    }

    private record Link(long depth, Object previous, boolean knowsPrevious) {
    }

    private final History history;
    private final Map<Known, Update> updates = new LinkedHashMap<>();
    private final Map<Object, Link> links = new HashMap<>();
    private final Map<Object, Integer> keyOf = new HashMap<>();
    /** Pairs of positions, with the class. */
    final Map<List<Long>, Wrong> violations = new LinkedHashMap<>();
    long undecided;

    BruteForce(History history) {
        this.history = history;
        collect();
        for (Operation one : history.operations()) {
            for (Operation other : history.operations()) {
                if (one.saw() && other.saw() && one.returned() < other.invoked()) {
                    Wrong wrong = history.style() == History.Style.CHAIN ? chain(one, other) : indexed(one, other);
                    if (wrong != null) {
                        violations.put(List.of(one.position(), other.position()), wrong);
                    }
                }
            }
        }
    }

    private void collect() {
        for (Operation op : history.operations()) {
            Facts got = op.got();
            if (op.isOk() && got.version() != null && !got.version().equals(Index.of(0, 0))) {
                Update update = updates.computeIfAbsent(new Known(op.key(), got.version()), known -> new Update());
                update.number = update.number < 0 ? got.number() : update.number;
                update.created = update.created == null ? got.created() : update.created;
                update.deletion |= !got.present();
            }
            for (Facts facts : List.of(op.asked(), got)) {
                if (facts.uid() != null) {
                    keyOf.put(facts.uid(), op.key());
                    if (facts.knowsPrevious()) {
                        links.put(facts.uid(), new Link(facts.number(), facts.previous(), true));
                        if (facts.previous() != null) {
                            links.putIfAbsent(facts.previous(), new Link(facts.number() - 1, null, false));
                        }
                    }
                }
            }
        }
        history.dumped().forEach(dumped ->
                updates.computeIfAbsent(new Known(dumped.key(), dumped.version()), known -> new Update()));
    }

    // --- indices

    private Wrong indexed(Operation r1, Operation r2) {
        Wrong found = null;
        for (Map.Entry<Known, Update> entry : updates.entrySet()) {
            Index u = entry.getKey().at();
            Index v1 = r1.got().version();
            if (entry.getKey().key() != r2.key() || v1 == null || u.epoch() != v1.epoch() || u.compareTo(v1) > 0) {
                continue;
            }
            if (isBehind(r2, u, entry.getValue())) {
                return r1.key() == r2.key() ? Wrong.KEY : Wrong.STATE;
            }
            if (overwrote(r2, u, entry.getValue())) {
                found = Wrong.OVERWRITTEN;
            }
        }
        return found;
    }

    private boolean isBehind(Operation r2, Index u, Update update) {
        Index v2 = r2.got().version();
        if (v2 != null) {
            return v2.compareTo(u) < 0;
        }
        if (r2.got().present() || update.deletion) {
            return false;
        }
        for (Operation op : history.operations()) {
            boolean explains = op.kind() == Kind.DELETE && op.key() == r2.key() && op.outcome() != Outcome.FAIL
                    && op.invoked() < r2.returned() && (!op.isOk() || op.got().version().compareTo(u) > 0);
            if (explains) {
                return false;
            }
        }
        return true;
    }

    private boolean overwrote(Operation r2, Index u, Update update) {
        Facts got = r2.got();
        if (!got.present() || got.version() == null || got.version().compareTo(u) <= 0) {
            return false;
        }
        boolean otherIncarnation = update.created != null && !update.created.equals(got.created());
        if (got.created() != null && got.created().compareTo(u) < 0 && (update.deletion || otherIncarnation)) {
            return true;
        }
        boolean same = got.created() != null && update.created != null ? got.created().equals(update.created)
                : history.operations().stream().noneMatch(op -> op.kind() == Kind.DELETE);
        return same && !update.deletion && got.number() >= 0 && update.number >= got.number();
    }

    // --- chains

    /** Depth to uid, as far as the path is known. */
    private Map<Long, Object> path(Object uid) {
        Map<Long, Object> path = new HashMap<>();
        Object at = uid;
        while (at != null) {
            Link link = links.get(at);
            path.put(link.depth(), at);
            at = link.previous();
        }
        return path;
    }

    private Wrong chain(Operation r1, Operation r2) {
        if (r1.got().uid() == null) {
            return null;
        }
        Map<Long, Object> path1 = path(r1.got().uid());
        long n1 = r1.got().number();
        long n2 = r2.got().uid() == null ? 0 : r2.got().number();
        if (n2 > n1) {
            return compare(path(r2.got().uid()).get(n1), r1.got().uid());
        }
        for (Map.Entry<Long, Object> entry : path1.entrySet()) {
            if (entry.getKey() > n2 && Objects.equals(keyOf.get(entry.getValue()), r2.key())) {
                return r1.key() == r2.key() ? Wrong.KEY : Wrong.STATE;
            }
        }
        return n2 == 0 ? null : compare(path1.get(n2), r2.got().uid());
    }

    private Wrong compare(Object found, Object wanted) {
        undecided += found == null ? 1 : 0;
        return found == null || found.equals(wanted) ? null : Wrong.FORK;
    }

    static List<Long> badReads(Map<List<Long>, Wrong> pairs) {
        return new ArrayList<>(pairs.keySet().stream().map(pair -> pair.get(1)).sorted().distinct().toList());
    }
}

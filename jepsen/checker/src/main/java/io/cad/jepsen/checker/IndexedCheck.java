// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import io.cad.jepsen.checker.Operation.Kind;
import io.cad.jepsen.checker.Operation.Outcome;
import io.cad.jepsen.checker.Updates.Update;
import io.cad.jepsen.checker.Verdict.Lawful;
import io.cad.jepsen.checker.Verdict.Wrong;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Histories in which updates have indices. A state that contains an index contains every update of the same epoch below
 * it; across epochs nothing follows. So a completed read obliges to all known updates of its epoch up to its version,
 * and of all completed reads of one epoch only the one with the highest version matters.
 */
final class IndexedCheck {
    private record Mine(int key, long process) {
    }

    private final History history;
    private final Verdict verdict;
    private final Phantoms phantoms;
    private final boolean anyDelete;
    /** By item: its updates, newest epoch first. */
    private final List<List<Updates>> updates = new ArrayList<>();
    private final List<Deletes> deletes = new ArrayList<>();

    /** By epoch: the completed read with the highest version; and the one of all epochs, and by item. */
    private final Map<Long, Operation> highest = new HashMap<>();
    private final Map<Integer, Operation> highestOfItem = new HashMap<>();
    private Index newest = Index.NEVER;
    private boolean anyCompleted;
    private final Map<Integer, Index> acknowledged = new HashMap<>();
    private final Map<Mine, Index> acknowledgedToMe = new HashMap<>();

    /** What may explain that an item is absent. */
    private static final class Deletes {
        final TreeMap<Long, Index> highestByInvocation = new TreeMap<>();
        long firstIndeterminate = Long.MAX_VALUE;
    }

    IndexedCheck(History history) {
        this.history = history;
        this.verdict = new Verdict(history);
        this.phantoms = new Phantoms(history);
        this.anyDelete = history.operations().stream().anyMatch(op -> op.kind() == Kind.DELETE);
        collectUpdates();
        collectDeletes();
    }

    Verdict run() {
        List<Operation> reads = new ArrayList<>();
        List<Operation> writes = new ArrayList<>();
        for (Operation op : history.operations()) {
            if (op.saw()) {
                reads.add(op);
            } else if (op.isOk() && op.kind() != Kind.LOG && op.got().version() != null) {
                writes.add(op);
            }
        }
        new Timeline(reads).completing(reads, this::completed).completing(writes, this::acknowledged)
                .walk(this::begins);
        return verdict;
    }

    // --- what is known of updates

    private void collectUpdates() {
        List<Map<Index, Update>> known = new ArrayList<>();
        history.keys().forEach(key -> known.add(new HashMap<>()));
        for (Operation op : history.operations()) {
            Facts facts = op.got();
            if (op.isOk() && op.kind() != Kind.LOG && facts.version() != null
                    && !facts.version().equals(Index.NEVER)) {
                boolean deletion = op.kind() == Kind.DELETE || op.saw() && !facts.present();
                known.get(op.key()).computeIfAbsent(facts.version(), Update::new)
                        .learn(facts.number(), facts.created(), deletion);
            }
        }
        for (History.Dumped dumped : history.dumped()) {
            known.get(dumped.key()).computeIfAbsent(dumped.version(), Update::new);
        }
        for (Map<Index, Update> ofItem : known) {
            Map<Long, List<Update>> byEpoch = new TreeMap<>(Comparator.reverseOrder());
            ofItem.values().forEach(update ->
                    byEpoch.computeIfAbsent(update.at.epoch(), epoch -> new ArrayList<>()).add(update));
            List<Updates> newestFirst = new ArrayList<>();
            byEpoch.forEach((epoch, some) -> newestFirst.add(new Updates(epoch, some)));
            updates.add(newestFirst);
            ofItem.clear();
        }
    }

    private void collectDeletes() {
        history.keys().forEach(key -> deletes.add(new Deletes()));
        List<Operation> acknowledgedOnes = new ArrayList<>();
        for (Operation op : history.operations()) {
            if (op.kind() == Kind.DELETE && op.isOk() && op.got().version() != null) {
                acknowledgedOnes.add(op);
            } else if (op.kind() == Kind.DELETE && op.outcome() != Outcome.FAIL) {
                Deletes ofItem = deletes.get(op.key());
                ofItem.firstIndeterminate = Math.min(ofItem.firstIndeterminate, op.invoked());
            }
        }
        acknowledgedOnes.sort(Comparator.comparingLong(Operation::invoked));
        for (Operation op : acknowledgedOnes) {
            TreeMap<Long, Index> sorted = deletes.get(op.key()).highestByInvocation;
            Map.Entry<Long, Index> before = sorted.lastEntry();
            sorted.put(op.invoked(), before == null ? op.got().version() : max(before.getValue(), op.got().version()));
        }
    }

    private static Index max(Index one, Index other) {
        return one == null || one.isBelow(other) ? other : one;
    }

    // --- in the order of time

    private void completed(Operation read) {
        Index version = read.got().version();
        if (version == null) {
            return;
        }
        anyCompleted = true;
        newest = max(newest, version);
        highest.merge(version.epoch(), read, IndexedCheck::higher);
        highestOfItem.merge(read.key(), read, IndexedCheck::higher);
    }

    private static Operation higher(Operation one, Operation other) {
        return one.got().version().isBelow(other.got().version()) ? other : one;
    }

    private void acknowledged(Operation write) {
        Index version = write.got().version();
        acknowledged.merge(write.key(), version, IndexedCheck::max);
        acknowledgedToMe.merge(new Mine(write.key(), write.process()), version, IndexedCheck::max);
    }

    private void begins(Operation read) {
        verdict.read(anyCompleted);
        if (!goesBack(read)) {
            wasOverwritten(read);
        }
        if (read.kind() == Kind.READ) {
            lawful(read);
        }
    }

    private void lawful(Operation read) {
        Facts got = read.got();
        if (isBelow(got.version(), acknowledged.get(read.key()))) {
            verdict.lawful(Lawful.STALE, read);
        }
        if (isBelow(got.version(), acknowledgedToMe.get(new Mine(read.key(), read.process())))) {
            verdict.lawful(Lawful.OWN_WRITE_MISSED, read);
        }
        if (isBelow(got.header(), newest)) {
            verdict.lawful(Lawful.LATENT, read);
        }
        if (phantoms.isPhantom(read)) {
            verdict.lawful(Lawful.PHANTOM, read);
        }
    }

    private static boolean isBelow(Index one, Index other) {
        return one != null && other != null && one.isBelow(other);
    }

    // --- the rules

    /** The read is older than an update that an earlier read contains, or absence that nothing explains. */
    private boolean goesBack(Operation read) {
        Index version = read.got().version();
        if (version == null && read.got().present()) {
            return false;
        }
        Operation sameItem = highestOfItem.get(read.key());
        if (version != null && sameItem != null && version.isBelow(sameItem.got().version())) {
            return violation(Wrong.KEY, sameItem, read, sameItem.got().version());
        }
        Index explained = version == null ? explainedAbsence(read) : version;
        for (Updates ofEpoch : updates.get(read.key())) {
            Operation earlier = highest.get(ofEpoch.epoch);
            if (earlier != null) {
                Index bound = earlier.got().version();
                Update lacks = version == null ? ofEpoch.lastKept(bound) : ofEpoch.last(bound);
                if (lacks != null) {
                    // Those of older epochs are lower still.
                    return (explained == null || explained.isBelow(lacks.at))
                            && violation(wrong(earlier, read), earlier, read, lacks.at);
                }
            }
        }
        return false;
    }

    private static Wrong wrong(Operation earlier, Operation read) {
        return earlier.key() == read.key() ? Wrong.KEY : Wrong.STATE;
    }

    /** Every update below this may have been deleted before the read returned; null if none. */
    private Index explainedAbsence(Operation read) {
        Deletes ofItem = deletes.get(read.key());
        if (ofItem.firstIndeterminate < read.returned()) {
            return Index.of(Long.MAX_VALUE, Long.MAX_VALUE);
        }
        Map.Entry<Long, Index> last = ofItem.highestByInvocation.lowerEntry(read.returned());
        return last == null ? null : last.getValue();
    }

    /** The read is newer than an update that an earlier read contains, but proves that the update is not below it. */
    private void wasOverwritten(Operation read) {
        Facts got = read.got();
        if (!got.present() || got.version() == null) {
            return;
        }
        for (Updates ofEpoch : updates.get(read.key())) {
            Operation earlier = highest.get(ofEpoch.epoch);
            if (earlier != null && overwrites(read, earlier, ofEpoch)) {
                return;
            }
        }
    }

    private boolean overwrites(Operation read, Operation earlier, Updates ofEpoch) {
        Facts got = read.got();
        Index upTo = earlier.got().version();
        Update lacks = got.created() == null ? null
                : ofEpoch.ofAnotherIncarnation(upTo, got.version(), got.created());
        if (lacks == null && got.number() >= 0) {
            Update highestNumber = ofEpoch.highestNumber(upTo, got.version(), got.created(), !anyDelete);
            lacks = highestNumber != null && highestNumber.number >= got.number() ? highestNumber : null;
        }
        return lacks != null && violation(Wrong.OVERWRITTEN, earlier, read, lacks.at);
    }

    private boolean violation(Wrong wrong, Operation earlier, Operation read, Index lacks) {
        verdict.violation(wrong, earlier, read, history.keys().get(read.key()) + "@" + lacks);
        return true;
    }
}

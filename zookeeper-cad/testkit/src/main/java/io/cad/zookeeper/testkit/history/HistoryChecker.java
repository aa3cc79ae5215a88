// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.history;

import io.cad.jepsen.checker.Report;
import io.cad.jepsen.checker.Verdict;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Decides what a power loss took away, for histories in which nodes are only ever created and overwritten.
 *
 * <p>Zxids order the states of a key: their upper half is the epoch, so that an update of a later epoch is above every
 * one of an earlier epoch. Two states with the wrong order of data versions lie on different branches of history, which
 * means that the earlier one was taken back. A read of an absent node has zxid 0.
 */
public final class HistoryChecker {
    private static final long LAST_SECOND_NANOS = 1_000_000_000L;
    private static final int MAX_EXAMPLES = 5;

    private final long lossNanos;
    private final long restartNanos;
    private final boolean wholeState;
    private final List<String> examples = new ArrayList<>();

    private HistoryChecker(long lossNanos, long restartNanos, boolean wholeState) {
        this.lossNanos = lossNanos;
        this.restartNanos = restartNanos;
        this.wholeState = wholeState;
    }

    /**
     * Checks one history.
     *
     * @param ops operations before the loss and reads of every key after the restart, in any order
     * @param lossNanos System.nanoTime() just before the first server lost its power
     * @param restartNanos System.nanoTime() at which all servers were dead and none restarted; operations invoked later
     *     belong to the life after
     * @throws IllegalArgumentException when a key was not read after the restart, or written then: the history cannot
     *     say what was lost
     */
    public static Findings check(List<Op> ops, long lossNanos, long restartNanos) {
        return new HistoryChecker(lossNanos, restartNanos, true).run(ops);
    }

    /** The same where the indices of different keys have no order: reads are compared with those of the same key alone. */
    public static Findings checkKeys(List<Op> ops, long lossNanos, long restartNanos) {
        return new HistoryChecker(lossNanos, restartNanos, false).run(ops);
    }

    private boolean isBefore(Op op) {
        return op.invokedNanos() - restartNanos < 0;
    }

    private Findings run(List<Op> ops) {
        Map<String, List<Op>> readsByKey = new HashMap<>();
        Map<String, List<Op>> ackedByKey = new HashMap<>();
        for (Op op : ops) {
            if (op.kind() == Op.Kind.WRITE && !isBefore(op)) {
                throw new IllegalArgumentException("written after the restart, so losses cannot be told: " + op);
            }
            if (op.ok()) {
                (op.kind() == Op.Kind.READ ? readsByKey : ackedByKey)
                        .computeIfAbsent(op.key(), key -> new ArrayList<>()).add(op);
            }
        }
        long[] backwards = new long[2];
        if (wholeState) {
            countBackwards(ops, backwards);
        } else {
            countBackwardsByKey(ops, backwards);
        }

        Map<String, Op> survivors = survivors(readsByKey);
        long readLost = 0;
        long ackedLost = 0;
        long acked = 0;
        Set<String> keys = new HashSet<>(readsByKey.keySet());
        keys.addAll(ackedByKey.keySet());
        for (String key : keys) {
            Op survivor = survivors.get(key);
            if (survivor == null) {
                throw new IllegalArgumentException("never read after the restart, so losses cannot be told: " + key);
            }
            readLost += countReadLost(readsByKey.getOrDefault(key, List.of()), survivor);
            for (Op write : ackedByKey.getOrDefault(key, List.of())) {
                acked++;
                if (isOlder(survivor, write)) {
                    ackedLost++;
                    example("acknowledged write lost", write, survivor);
                }
            }
        }
        return new Findings(backwards[0], backwards[1], readLost, ackedLost, acked, countFresh(ops), examples);
    }

    /** Reads that went back, in their key or in the state as a whole. */
    private void countBackwardsByKey(List<Op> ops, long[] counts) {
        ops.stream().collect(Collectors.groupingBy(Op::key)).values().forEach(ofKey -> countBackwards(ofKey, counts));
    }

    private void countBackwards(List<Op> ops, long[] counts) {
        Verdict verdict = Histories.judge(ops);
        for (Verdict.Violation violation : verdict.violations()) {
            boolean across = violation.earlier().invoked() - restartNanos < 0
                    && violation.later().invoked() - restartNanos >= 0;
            counts[across ? 1 : 0]++;
        }
        if (!verdict.isValid()) {
            examples.add(new Report(verdict).text());
        }
    }

    /** The newest state of each key that a read found after the restart. */
    private Map<String, Op> survivors(Map<String, List<Op>> readsByKey) {
        Map<String, Op> survivors = new HashMap<>();
        readsByKey.forEach((key, reads) -> reads.stream()
                .filter(read -> !isBefore(read))
                .max(Comparator.comparingLong(Op::mzxid))
                .ifPresent(read -> survivors.put(key, read)));
        return survivors;
    }

    private long countReadLost(List<Op> reads, Op survivor) {
        Map<Long, Op> lost = new HashMap<>();
        for (Op read : reads) {
            if (isBefore(read) && isOlder(survivor, read) && lost.putIfAbsent(read.mzxid(), read) == null) {
                example("read data lost", read, survivor);
            }
        }
        return lost.size();
    }

    /** Whether {@code later} does not contain the update that {@code earlier} showed. */
    private static boolean isOlder(Op later, Op earlier) {
        if (later.mzxid() == earlier.mzxid()) {
            return later.value() != earlier.value();
        }
        return later.mzxid() < earlier.mzxid() || later.version() <= earlier.version();
    }

    private long countFresh(List<Op> ops) {
        Set<Long> written = new HashSet<>();
        Set<Long> read = new HashSet<>();
        for (Op op : ops) {
            if (op.kind() == Op.Kind.WRITE && op.invokedNanos() - (lossNanos - LAST_SECOND_NANOS) >= 0) {
                written.add(op.value());
            } else if (op.kind() == Op.Kind.READ && op.ok() && op.completedNanos() - lossNanos < 0) {
                read.add(op.value());
            }
        }
        written.retainAll(read);
        return written.size();
    }

    private void example(String what, Op first, Op second) {
        if (examples.size() < MAX_EXAMPLES) {
            examples.add(what + ": " + describe(first) + ", then " + describe(second));
        }
    }

    private static String describe(Op op) {
        return String.format("client %d at server %d %s %s version %d (zxid 0x%x)", op.client(), op.server(),
                op.kind() == Op.Kind.READ ? "read" : "wrote", op.key(), op.version(), op.mzxid());
    }
}

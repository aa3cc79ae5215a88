// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** What the checker found. Each bad read has one witness; other earlier reads may contradict it, too. */
public final class Verdict {
    /**
     * How a read went back. KEY: behind an earlier read of the same item. STATE: behind a state that an earlier read of
     * another item had returned. OVERWRITTEN: what was read is lost and something newer stands in its place. FORK: the
     * two reads are on different branches of history.
     */
    public enum Wrong { KEY, STATE, OVERWRITTEN, FORK }

    /** Lawful, but worth knowing. */
    public enum Lawful {
        /** Older than a write of the item that had been acknowledged. */
        STALE,
        /** The same, and the write was the reader's own. */
        OWN_WRITE_MISSED,
        /** The server that answered was behind an earlier read although the item does not show it. */
        LATENT,
        /** The payload was never written, or only by a write that certainly failed. */
        PHANTOM
    }

    /** A read that lacks an update which an earlier read had shown. */
    public record Violation(Wrong wrong, Operation earlier, Operation later, String lacks) {
    }

    private final List<Violation> violations = new ArrayList<>();
    private final Map<Lawful, List<Operation>> lawful = new EnumMap<>(Lawful.class);
    private final History history;
    private long reads;
    private long comparable;
    private long undecided;

    Verdict(History history) {
        this.history = history;
        for (Lawful what : Lawful.values()) {
            lawful.put(what, new ArrayList<>());
        }
    }

    void violation(Wrong wrong, Operation earlier, Operation later, String lacks) {
        violations.add(new Violation(wrong, earlier, later, lacks));
    }

    void lawful(Lawful what, Operation read) {
        lawful.get(what).add(read);
    }

    void read(boolean afterAnother) {
        reads++;
        comparable += afterAnother ? 1 : 0;
    }

    void undecided(long pairs) {
        undecided += pairs;
    }

    public boolean isValid() {
        return violations.isEmpty();
    }

    /** Without a read that began after another one had completed nothing has been tested. */
    public boolean isVacuous() {
        return comparable == 0;
    }

    public List<Violation> violations() {
        return violations;
    }

    public List<Operation> lawful(Lawful what) {
        return lawful.get(what);
    }

    /** Reads and watch events that showed a state. */
    public long reads() {
        return reads;
    }

    /** Those of them that began after an earlier one, from which something follows, had completed. */
    public long comparable() {
        return comparable;
    }

    /** Chain style: pairs of reads about which a gap in what is known leaves doubt. */
    public long undecided() {
        return undecided;
    }

    public History history() {
        return history;
    }
}

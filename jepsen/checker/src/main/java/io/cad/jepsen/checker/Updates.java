// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The known updates of one item in one epoch, in their order, prepared for questions about a prefix of them. */
final class Updates {
    /** What is known of one update, from whatever operations tell. */
    static final class Update {
        final Index at;
        long number = -1;
        Index created;
        boolean deletion;

        Update(Index at) {
            this.at = at;
        }

        void learn(long toldNumber, Index toldCreated, boolean isDeletion) {
            number = number < 0 ? toldNumber : number;
            created = created == null ? toldCreated : created;
            deletion |= isDeletion;
        }
    }

    /** Updates in their order; for each the one with the highest version number so far. */
    private static final class Numbered {
        private final Update[] updates;
        private final Update[] highest;

        Numbered(List<Update> sorted) {
            updates = sorted.toArray(new Update[0]);
            highest = new Update[updates.length];
            for (int i = 0; i < updates.length; i++) {
                boolean rises = i == 0 || updates[i].number > highest[i - 1].number;
                highest[i] = rises ? updates[i] : highest[i - 1];
            }
        }

        Update highest(Index upTo, Index below) {
            int last = last(updates, upTo, below);
            return last < 0 ? null : highest[last];
        }
    }

    private static final int NONE = -1;

    final long epoch;
    private final Update[] all;
    /** For each position the last one up to it that is no deletion, is one, tells its creation. */
    private final int[] lastKept;
    private final int[] lastDeletion;
    private final int[] lastTold;
    /** For each position that tells its creation the last one before it that tells another. */
    private final int[] lastOther;
    private final Numbered numbered;
    private final Map<Index, Numbered> byCreation = new HashMap<>();

    Updates(long epoch, Collection<Update> updates) {
        this.epoch = epoch;
        all = updates.toArray(new Update[0]);
        Arrays.sort(all, Comparator.comparing(update -> update.at));
        lastKept = new int[all.length];
        lastDeletion = new int[all.length];
        lastTold = new int[all.length];
        lastOther = new int[all.length];
        List<Update> withNumber = new ArrayList<>();
        Map<Index, List<Update>> groups = new HashMap<>();
        for (int i = 0; i < all.length; i++) {
            Update update = all[i];
            lastKept[i] = !update.deletion ? i : i == 0 ? NONE : lastKept[i - 1];
            lastDeletion[i] = update.deletion ? i : i == 0 ? NONE : lastDeletion[i - 1];
            int before = i == 0 ? NONE : lastTold[i - 1];
            lastTold[i] = update.created != null ? i : before;
            if (update.created == null || before == NONE) {
                lastOther[i] = NONE;
            } else {
                lastOther[i] = all[before].created.equals(update.created) ? lastOther[before] : before;
            }
            if (!update.deletion && update.number >= 0) {
                withNumber.add(update);
                groups.computeIfAbsent(update.created, created -> new ArrayList<>()).add(update);
            }
        }
        numbered = new Numbered(withNumber);
        groups.forEach((created, group) -> byCreation.put(created, new Numbered(group)));
    }

    private static int last(Update[] sorted, Index upTo, Index below) {
        int low = 0;
        int high = sorted.length;
        while (low < high) {
            int middle = (low + high) >>> 1;
            Index at = sorted[middle].at;
            if (at.compareTo(upTo) <= 0 && (below == null || at.isBelow(below))) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low - 1;
    }

    private Update at(int position) {
        return position < 0 ? null : all[position];
    }

    /** The last update up to the bound; null if there is none. */
    Update last(Index bound) {
        return at(last(all, bound, null));
    }

    /** The last one that is not known to be a deletion. */
    Update lastKept(Index bound) {
        int position = last(all, bound, null);
        return position < 0 ? null : at(lastKept[position]);
    }

    /** One up to a bound, below another one, after {@code created}, that is a deletion or of another incarnation. */
    Update ofAnotherIncarnation(Index upTo, Index below, Index created) {
        int position = last(all, upTo, below);
        if (position < 0) {
            return null;
        }
        Update deletion = at(lastDeletion[position]);
        if (deletion != null && created.isBelow(deletion.at)) {
            return deletion;
        }
        int told = lastTold[position];
        if (told != NONE && all[told].created.equals(created)) {
            told = lastOther[told];
        }
        Update other = at(told);
        return other != null && created.isBelow(other.at) ? other : null;
    }

    /**
     * The one up to a bound and below another one with the highest version number of that incarnation.
     *
     * @param created the incarnation; null if unknown
     * @param onlyOne whether all incarnations that are unknown are the same one, because nothing is ever deleted
     */
    Update highestNumber(Index upTo, Index below, Index created, boolean onlyOne) {
        if (created == null) {
            return onlyOne ? numbered.highest(upTo, below) : null;
        }
        Update same = highest(byCreation.get(created), upTo, below);
        Update unknown = onlyOne ? highest(byCreation.get(null), upTo, below) : null;
        return same == null || unknown != null && unknown.number > same.number ? unknown : same;
    }

    private static Update highest(Numbered group, Index upTo, Index below) {
        return group == null ? null : group.highest(upTo, below);
    }
}

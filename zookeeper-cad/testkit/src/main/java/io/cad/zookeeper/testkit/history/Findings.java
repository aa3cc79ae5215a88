// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.history;

import java.util.List;
import java.util.stream.Stream;

/**
 * What the checker found in a history with a power loss, or in several such histories.
 *
 * @param readsBackwardsBefore reads that returned an older state than a read which had completed before they began,
 *     both before the power loss
 * @param readsBackwardsAcross the same, with the power loss between the two
 * @param readUpdatesLost distinct updates that a read had returned and that are gone after the restart
 * @param ackedWritesLost acknowledged writes that are gone after the restart
 * @param ackedWrites acknowledged writes before the power loss
 * @param freshValuesRead distinct values written in the last second before the power loss that had been read before it
 * @param examples a few of the findings in words, for people
 */
public record Findings(
        long readsBackwardsBefore,
        long readsBackwardsAcross,
        long readUpdatesLost,
        long ackedWritesLost,
        long ackedWrites,
        long freshValuesRead,
        List<String> examples) {

    public Findings {
        examples = List.copyOf(examples);
    }

    /** Of this history and another one. */
    public Findings and(Findings other) {
        return new Findings(readsBackwardsBefore + other.readsBackwardsBefore,
                readsBackwardsAcross + other.readsBackwardsAcross,
                readUpdatesLost + other.readUpdatesLost,
                ackedWritesLost + other.ackedWritesLost,
                ackedWrites + other.ackedWrites,
                freshValuesRead + other.freshValuesRead,
                Stream.concat(examples.stream(), other.examples.stream()).toList());
    }

    /** All reads that went backwards. */
    public long readsBackwards() {
        return readsBackwardsBefore + readsBackwardsAcross;
    }

    /** Whether what clients had read stayed true. */
    public boolean readsHold() {
        return readsBackwards() == 0 && readUpdatesLost == 0;
    }
}

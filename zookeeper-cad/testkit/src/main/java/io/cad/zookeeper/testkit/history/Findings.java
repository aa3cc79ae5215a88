// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.history;

import java.util.List;

/**
 * What the checker found in one history with one power loss.
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

    /** All reads that went backwards. */
    public long readsBackwards() {
        return readsBackwardsBefore + readsBackwardsAcross;
    }

    /** Whether what clients had read stayed true. */
    public boolean readsHold() {
        return readsBackwards() == 0 && readUpdatesLost == 0;
    }
}

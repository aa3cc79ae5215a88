// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.node;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.core.Quorum;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class CandidacyTest {
    private static final History OWN = new History(3, Indices.of(3, 7));
    private static final List<Quorum> THREE = List.of(majority(1, 2, 3));

    private final Candidacy candidacy = new Candidacy(1, OWN);

    /** Counts like upstream: whoever is in the set it is given. */
    private static Quorum majority(long... servers) {
        Set<Long> voters = Set.copyOf(Arrays.stream(servers).boxed().toList());
        return new Quorum() {
            @Override
            public boolean votes(long server) {
                return voters.contains(server);
            }

            @Override
            public boolean containsQuorum(Set<Long> some) {
                return some.size() > voters.size() / 2;
            }
        };
    }

    @Test
    void aMajorityElects() {
        assertTrue(candidacy.promised(1, OWN));
        assertFalse(candidacy.isElected(THREE));
        assertTrue(candidacy.promised(2, new History(2, Indices.of(2, 9))));
        assertTrue(candidacy.isElected(THREE));
    }

    /** It is bound by its promise like everybody: before it is on its disk it may promise the epoch to nobody, or twice. */
    @Test
    void notWithoutTheOwnPromise() {
        candidacy.promised(2, OWN);
        candidacy.promised(3, OWN);
        assertFalse(candidacy.isElected(THREE));
        candidacy.promised(1, OWN);
        assertTrue(candidacy.isElected(THREE));
    }

    @Test
    void whoIsAheadIsNotLedAndDoesNotCount() {
        candidacy.promised(1, OWN);
        assertFalse(candidacy.promised(2, new History(3, Indices.of(3, 8))));
        assertFalse(candidacy.promised(3, new History(4, Indices.of(2, 1))));
        assertFalse(candidacy.isElected(THREE));
    }

    @Test
    void whoJoinsTheElectedMayBeAhead() {
        candidacy.promised(1, OWN);
        candidacy.promised(2, OWN);
        assertTrue(candidacy.isElected(THREE));
        assertTrue(candidacy.promised(3, new History(3, Indices.of(3, 8))));
    }

    @Test
    void everyMembershipMustElect() {
        List<Quorum> both = List.of(majority(1, 2, 3), majority(1, 4, 5));
        candidacy.promised(1, OWN);
        candidacy.promised(2, OWN);
        assertFalse(candidacy.isElected(both));
        candidacy.promised(4, OWN);
        assertTrue(candidacy.isElected(both));
    }

    @Test
    void observersDoNotElect() {
        candidacy.promised(1, OWN);
        candidacy.promised(8, OWN);
        candidacy.promised(9, OWN);
        assertFalse(candidacy.isElected(THREE));
    }

    @Test
    void withoutAMembershipNobodyIsElected() {
        candidacy.promised(1, OWN);
        assertFalse(candidacy.isElected(List.of()));
    }
}

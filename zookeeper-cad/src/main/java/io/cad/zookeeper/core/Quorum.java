// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * One membership, as the server's quorum verifier sees it (weights and groups included).
 *
 * <p>The two questions are separate because upstream's {@code QuorumMaj.containsQuorum} counts the set it is
 * given: with an observer in the set it finds quorums that are none. The core therefore asks
 * {@link #votes} first and never passes a server that does not vote.
 */
public interface Quorum {
    /** Whether the server is a data node of this membership ({@code QuorumVerifier.getVotingMembers}). */
    boolean votes(long server);

    /** Whether these servers, all of them voters, contain a quorum ({@code QuorumVerifier.containsQuorum}). */
    boolean containsQuorum(Set<Long> servers);

    /** Whether these servers contain a quorum of each membership; where there is none, there is no quorum. */
    static boolean ofEach(List<Quorum> memberships, Set<Long> servers) {
        for (Quorum membership : memberships) {
            Set<Long> voters = new HashSet<>(servers);
            voters.removeIf(server -> !membership.votes(server));
            if (!membership.containsQuorum(voters)) {
                return false;
            }
        }
        return !memberships.isEmpty();
    }
}

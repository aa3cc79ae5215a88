// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.node;

import io.cad.zookeeper.core.Quorum;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The promises of one epoch, as the server counts them that wants to lead it (rule E1). The caller serialises the calls
 * and passes true histories: what servers say of one another only guides them to a candidate.
 */
public final class Candidacy {

    private final long self;
    private final History own;
    private final Set<Long> electors = new HashSet<>();
    private boolean elected;

    /** @param own the history of this server, which it begins its epoch with */
    public Candidacy(long self, History own) {
        this.self = self;
        this.own = own;
    }

    /**
     * A server, this one included, has durably promised the epoch.
     *
     * @return false if its history is ahead, so that this server must not lead; once elected it may: whoever joins later
     *     takes over the leader's history
     */
    public boolean promised(long server, History its) {
        if (!elected && its.isAheadOf(own)) {
            return false;
        }
        electors.add(server);
        return true;
    }

    /** Whether those who have promised, this server among them, contain a quorum of each membership that binds; for good. */
    public boolean isElected(List<Quorum> memberships) {
        elected = elected || electors.contains(self) && Quorum.ofEach(memberships, electors);
        return elected;
    }

    @Override
    public String toString() {
        return "candidate with " + own + ", promised by " + electors;
    }
}

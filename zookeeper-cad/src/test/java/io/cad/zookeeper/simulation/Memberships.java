// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.simulation;

import io.cad.zookeeper.core.Quorum;
import io.cad.zookeeper.core.VectorQuorum;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/**
 * Who votes: in most lives all servers, and each as much as any other. Of five servers one may weigh more than two
 * others, or two weigh nothing, or two are observers, or three vote and it changes which ones.
 */
final class Memberships {
    /** A membership is an entry of the log (rule E9): the value of this node is its place in the list. */
    static final String PATH = "/membership";

    enum Kind { EQUAL, UNEQUAL, OBSERVERS, CHANGE }

    private final Kind kind;
    private final int size;
    private final Random random;
    private final List<VectorQuorum> all = new ArrayList<>();

    Memberships(Kind kind, int size, Random random) {
        this.kind = kind;
        this.size = size;
        this.random = random;
        all.add(switch (kind) {
            case EQUAL -> VectorQuorum.majority(LongStream.range(0, size).boxed().collect(Collectors.toSet()));
            case UNEQUAL -> random.nextBoolean() ? weights(3, 1, 1, 1, 1) : weights(0, 0, 1, 1, 1);
            default -> VectorQuorum.majority(Set.of(0L, 1L, 2L));
        });
    }

    boolean isKind(Kind one) {
        return kind == one;
    }

    private static VectorQuorum weights(long... weights) {
        Map<Long, Long> group = new HashMap<>();
        for (int id = 0; id < weights.length; id++) {
            group.put((long) id, weights[id]);
        }
        return VectorQuorum.groups(List.of(group));
    }

    /** Those who never vote need no leases. */
    boolean isObserver(long server) {
        return isKind(Kind.OBSERVERS) && !all.get(0).votes(server);
    }

    /** What the entry says; null: the first one. */
    VectorQuorum of(Entry membership) {
        return all.get(membership == null ? 0 : Integer.parseInt(membership.value));
    }

    /**
     * The newest membership that a server knows committed and the later one in its log, of which there is one at most.
     *
     * @param committed index of the newest one that it knows committed
     */
    List<Quorum> binding(Entry last, long committed) {
        Entry newest = Entry.membershipOf(last);
        if (newest == null || newest.index <= committed) {
            return List.of(of(newest));
        }
        return List.of(of(Entry.membershipOf(newest.previous)), of(newest));
    }

    /** Another one, with that server in it; the value of its entry. */
    String another(long server) {
        Set<Long> voters = new TreeSet<>(Set.of(server));
        while (voters.size() < 3) {
            voters.add((long) random.nextInt(size));
        }
        all.add(VectorQuorum.majority(voters));
        return Integer.toString(all.size() - 1);
    }
}

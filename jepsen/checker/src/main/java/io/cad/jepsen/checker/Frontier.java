// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import io.cad.jepsen.checker.Chains.Node;
import java.util.ArrayList;
import java.util.List;

/** The ends of all branches that were shown so far, each with the first operation that showed it. */
final class Frontier {
    /** The end of one branch. */
    record Tip(Node node, Operation shownBy) {
    }

    private final List<Tip> tips = new ArrayList<>(1);

    void add(Node node, Operation shownBy) {
        for (Tip tip : tips) {
            if (node.isOnPathOf(tip.node)) {
                return;
            }
        }
        tips.removeIf(tip -> tip.node.isOnPathOf(node));
        tips.add(new Tip(node, shownBy));
    }

    List<Tip> tips() {
        return tips;
    }
}

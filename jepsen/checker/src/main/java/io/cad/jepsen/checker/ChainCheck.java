// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import io.cad.jepsen.checker.Chains.Node;
import io.cad.jepsen.checker.Operation.Kind;
import io.cad.jepsen.checker.Verdict.Lawful;
import io.cad.jepsen.checker.Verdict.Wrong;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Histories in which each update names the one before it. The state of a read is the path to its update. If a read
 * contradicts any earlier one, it contradicts one that is the end of a branch: whatever an end is compared with, what
 * lies on its path compares alike. So each read is compared with the ends of the branches that were read before.
 */
final class ChainCheck {
    private record Mine(int key, long process) {
    }

    private final History history;
    private final Verdict verdict;
    private final Phantoms phantoms;
    private final Chains chains;
    private final List<Node> brokenRoots = new ArrayList<>();
    private final Frontier seen = new Frontier();
    private final Map<Integer, Frontier> acknowledged = new HashMap<>();
    private final Map<Mine, Frontier> acknowledgedToMe = new HashMap<>();
    /** Completed reads by depth and by their place in the forest, to count what is left undecided. */
    private final Counter byDepth;
    private final Counter byPlace;

    ChainCheck(History history) {
        this.history = history;
        this.verdict = new Verdict(history);
        this.phantoms = new Phantoms(history);
        this.chains = new Chains(history);
        long deepest = 0;
        for (Node root : chains.roots()) {
            if (root.isBroken()) {
                brokenRoots.add(root);
            }
            deepest = Math.max(deepest, root.depth);
        }
        if (deepest > Integer.MAX_VALUE / 2) {
            throw new BadHistoryException("an update at depth " + deepest + " is beyond what this checker can count");
        }
        byDepth = new Counter((int) deepest + chains.size() + 2);
        byPlace = new Counter(chains.size() + 2);
    }

    Verdict run() {
        List<Operation> reads = new ArrayList<>();
        List<Operation> writes = new ArrayList<>();
        for (Operation op : history.operations()) {
            if (op.saw()) {
                node(op); // a read whose depth is missing is refused at once
                reads.add(op);
            } else if (op.isOk() && op.kind() == Kind.WRITE && node(op) != null) {
                writes.add(op);
            }
        }
        new Timeline(reads).completing(reads, this::completed).completing(writes, this::acknowledged)
                .walk(this::begins);
        return verdict;
    }

    private Node node(Operation op) {
        Object uid = op.got().uid();
        Node node = uid == null ? null : chains.node(uid);
        if (node == null && (uid != null || op.saw() && op.got().present())) {
            throw new BadHistoryException("operation " + op.position() + ": a value needs :uid and :n");
        }
        return node;
    }

    private void completed(Operation read) {
        Node node = node(read);
        if (node != null) {
            seen.add(node, read);
            byDepth.add((int) node.depth);
            byPlace.add(node.enter);
        }
    }

    private void acknowledged(Operation write) {
        Node node = node(write);
        acknowledged.computeIfAbsent(write.key(), key -> new Frontier()).add(node, write);
        acknowledgedToMe.computeIfAbsent(new Mine(write.key(), write.process()), mine -> new Frontier())
                .add(node, write);
    }

    private void begins(Operation read) {
        verdict.read(!seen.tips().isEmpty());
        Node node = node(read);
        for (Frontier.Tip tip : seen.tips()) {
            if (violates(tip, read, node)) {
                break;
            }
        }
        if (node != null) {
            countUndecided(read.key(), node);
        }
        if (read.kind() == Kind.READ) {
            lawful(read, node);
        }
    }

    private boolean violates(Frontier.Tip tip, Operation read, Node node) {
        Node update = chains.lastOf(read.key(), tip.node());
        boolean isBehind = update != null
                && (node == null || node.depth <= tip.node().depth && update.depth > node.depth);
        if (isBehind) {
            Wrong wrong = tip.shownBy().key() == read.key() ? Wrong.KEY : Wrong.STATE;
            verdict.violation(wrong, tip.shownBy(), read, name(update));
            return true;
        }
        if (node != null && areOnTwoBranches(tip.node(), node)) {
            verdict.violation(Wrong.FORK, tip.shownBy(), read, name(tip.node()));
            return true;
        }
        return false;
    }

    /** Whether the path of the deeper one is known where the other one should be, and has another update there. */
    private static boolean areOnTwoBranches(Node one, Node other) {
        Node deeper = one.depth > other.depth ? one : other;
        Node higher = deeper == one ? other : one;
        return !higher.isOnPathOf(deeper) && higher.depth >= deeper.root.depth;
    }

    private String name(Node node) {
        return history.keys().get(node.key) + "@" + node.uid;
    }

    private void countUndecided(int key, Node node) {
        long pairs = node.isBroken() ? byDepth.below((int) node.root.depth) : 0;
        for (Node root : brokenRoots) {
            if (root.depth > node.depth) {
                pairs += within(root);
                for (Node update : chains.topmost(key, root)) {
                    pairs -= within(update);
                }
            }
        }
        verdict.undecided(pairs);
    }

    private long within(Node node) {
        return byPlace.below(node.exit + 1) - byPlace.below(node.enter);
    }

    private void lawful(Operation read, Node node) {
        if (isStale(node, acknowledged.get(read.key()))) {
            verdict.lawful(Lawful.STALE, read);
        }
        if (isStale(node, acknowledgedToMe.get(new Mine(read.key(), read.process())))) {
            verdict.lawful(Lawful.OWN_WRITE_MISSED, read);
        }
        if (phantoms.isPhantom(read)) {
            verdict.lawful(Lawful.PHANTOM, read);
        }
    }

    private static boolean isStale(Node node, Frontier writes) {
        if (writes == null) {
            return false;
        }
        for (Frontier.Tip tip : writes.tips()) {
            Node written = tip.node();
            if (node == null || node.depth < written.depth
                    || !written.isOnPathOf(node) && written.depth >= node.root.depth) {
                return true;
            }
        }
        return false;
    }
}

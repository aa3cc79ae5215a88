// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** The forest of all named updates: each hangs below the one before it, as far as that is known. */
final class Chains {
    /** One update. */
    static final class Node {
        final Object uid;
        int key = -1;
        long depth = -1;
        boolean knowsPrevious;
        Node previous;
        /** The first known one of its path; numbers of entry and exit of a walk through the forest. */
        Node root;
        int enter;
        int exit;
        private final List<Node> next = new ArrayList<>(1);

        Node(Object uid) {
            this.uid = uid;
        }

        /** Whether this one is on the path of the other one, which may be itself. */
        boolean isOnPathOf(Node other) {
            return enter <= other.enter && other.exit <= exit;
        }

        /** Whether what comes before the first known update of its path is unknown. */
        boolean isBroken() {
            return root.depth > 1;
        }
    }

    private final Map<Object, Node> nodes = new HashMap<>();
    private final List<Node> roots = new ArrayList<>();
    private final List<Node[]> byKey = new ArrayList<>();

    Chains(History history) {
        for (Operation op : history.operations()) {
            learn(op.key(), op.asked());
            if (op.isOk()) {
                learn(op.key(), op.got());
            }
        }
        for (Node node : List.copyOf(nodes.values())) {
            if (node.previous != null) {
                depthOf(node.previous, node);
            }
        }
        // A node whose depth nobody told was only asked for: it is in no path.
        nodes.values().removeIf(node -> node.depth < 0);
        for (Node node : nodes.values()) {
            if (node.previous == null) {
                roots.add(node);
            } else {
                node.previous.next.add(node);
            }
        }
        number(history.keys().size());
    }

    Node node(Object uid) {
        return nodes.get(uid);
    }

    List<Node> roots() {
        return roots;
    }

    int size() {
        return nodes.size();
    }

    /** The last update of the item on the path; null if there is none among the known ones. */
    Node lastOf(int key, Node path) {
        Node[] ofKey = byKey.get(key);
        for (int i = lastEntered(ofKey, path.enter); i >= 0 && ofKey[i].enter >= path.root.enter; i--) {
            if (ofKey[i].isOnPathOf(path)) {
                return ofKey[i];
            }
        }
        return null;
    }

    /** The updates of the item in a tree that have no other one of the item above them. */
    List<Node> topmost(int key, Node root) {
        List<Node> top = new ArrayList<>();
        Node[] ofKey = byKey.get(key);
        for (int i = lastEntered(ofKey, root.enter - 1) + 1; i < ofKey.length && ofKey[i].exit <= root.exit; i++) {
            if (top.isEmpty() || !top.get(top.size() - 1).isOnPathOf(ofKey[i])) {
                top.add(ofKey[i]);
            }
        }
        return top;
    }

    private static int lastEntered(Node[] sorted, int upTo) {
        int low = 0;
        int high = sorted.length;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (sorted[middle].enter <= upTo) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low - 1;
    }

    private void learn(int key, Facts facts) {
        if (facts.uid() == null) {
            return;
        }
        Node node = nodes.computeIfAbsent(facts.uid(), Node::new);
        node.key = key;
        if (facts.number() >= 0) {
            setDepth(node, facts.number());
        }
        if (facts.knowsPrevious()) {
            Node previous = facts.previous() == null ? null : nodes.computeIfAbsent(facts.previous(), Node::new);
            if (node.knowsPrevious && !Objects.equals(node.previous, previous)) {
                throw new BadHistoryException("uid " + node.uid + " has two predecessors");
            }
            node.knowsPrevious = true;
            node.previous = previous;
        }
    }

    private static void depthOf(Node previous, Node node) {
        if (node.depth < 2) {
            throw new BadHistoryException("uid " + node.uid + " has a predecessor, but :n is "
                    + (node.depth < 0 ? "missing" : node.depth));
        }
        setDepth(previous, node.depth - 1);
    }

    private static void setDepth(Node node, long depth) {
        if (node.depth >= 0 && node.depth != depth) {
            throw new BadHistoryException("uid " + node.uid + " is at depth " + node.depth + " and at " + depth);
        }
        node.depth = depth;
    }

    private void number(int keys) {
        List<List<Node>> ofKeys = new ArrayList<>();
        for (int key = 0; key < keys; key++) {
            ofKeys.add(new ArrayList<>());
        }
        int time = 0;
        List<Node> stack = new ArrayList<>();
        for (Node root : roots) {
            stack.add(root);
            while (!stack.isEmpty()) {
                Node node = stack.get(stack.size() - 1);
                if (node.root == null) {
                    node.root = root;
                    node.enter = ++time;
                    if (node.key >= 0) {
                        ofKeys.get(node.key).add(node);
                    }
                    stack.addAll(node.next);
                } else {
                    stack.remove(stack.size() - 1);
                    node.exit = time;
                }
            }
        }
        for (List<Node> ofKey : ofKeys) {
            Node[] sorted = ofKey.toArray(new Node[0]);
            Arrays.sort(sorted, Comparator.comparingInt(node -> node.enter));
            byKey.add(sorted);
        }
    }
}

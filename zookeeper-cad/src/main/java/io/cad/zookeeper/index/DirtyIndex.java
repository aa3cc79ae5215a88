// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.index;

import io.cad.zookeeper.core.Indices;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The update index of every item whose last update may not be durable yet: what a read of the item requires.
 * An item that is not listed requires the {@link #barrier}: the last index of the log at process start and after each
 * synchronisation (such entries were never listed, and are not durable by having arrived), raised further when more
 * than {@code maxItems} items would have to be listed.
 *
 * <p>Threads: {@link #required} and {@link #requiredUnder} take no lock and may run at any time, in any thread. The
 * other events exclude each other by a lock of the index, so that D may be advanced by another thread than the one
 * that applies updates. An update is listed before a read can see it.
 *
 * <p>Order of the writes that lock-free readers rely on: the barrier rises before what it replaces is removed, and a
 * reader looks at the list first, then at the barrier. What pruning removes is durable, so missing it is right.
 */
public class DirtyIndex {
    /** At most so many entries are pruned while the lock is held once, so that updates never wait long. */
    private static final int PRUNE_BATCH = 1024;

    /** A listed item; also its place in the list by index. */
    private static final class Item {
        final String key;
        volatile long index;
        Item older;
        Item newer;

        Item(String key) {
            this.key = key;
        }
    }

    private final int maxItems;
    private final ConcurrentHashMap<String, Item> items = new ConcurrentHashMap<>();
    /** Head of the ring through all items: its {@code newer} is the oldest one. */
    private final Item ring = new Item(null);

    private volatile long barrier;
    private volatile long durable = Indices.NONE;

    /**
     * @param maxItems how many items are listed at most, at least 1
     * @param barrier the last index in the log
     */
    public DirtyIndex(int maxItems, long barrier) {
        if (maxItems < 1) {
            throw new IllegalArgumentException("a dirty index of " + maxItems + " items; it needs at least 1");
        }
        this.maxItems = maxItems;
        this.barrier = barrier;
        ring.older = ring;
        ring.newer = ring;
    }

    // --- events

    /**
     * The entry at {@code index} changes what a read of the item returns. Call it before the change can be seen, in
     * the order of the log: pruning stops at the first item that is not durable.
     */
    public synchronized void touch(String key, long index) {
        if (index <= floor()) {
            return; // the barrier covers it, or it was durable before it was applied
        }
        Item item = items.get(key);
        if (item == null) {
            item = new Item(key);
            item.index = index;
            items.put(key, item);
        } else {
            unlink(item);
            item.index = Math.max(item.index, index);
        }
        linkAsNewest(item);
        if (items.size() > maxItems) {
            Item oldest = ring.newer;
            replaceByBarrier(oldest.index);
            remove(oldest);
            pruneBatch(); // the barrier covers more items of the same transaction
        }
    }

    /** Everything up to {@code index} is durable. */
    public void durable(long index) {
        synchronized (this) {
            durable = Math.max(durable, index);
        }
        prune();
    }

    /** Everything up to {@code index}, the end of the log after a synchronisation, may hold updates never listed. */
    public void raiseBarrier(long index) {
        synchronized (this) {
            barrier = Math.max(barrier, index);
        }
        prune();
    }

    // --- queries, for any thread, without a lock

    /** What must be durable before a reply may leave that exposes the item, or that it does not exist. */
    public long required(String key) {
        Item item = items.get(key);
        return item == null ? absent() : Math.max(item.index, barrier);
    }

    /**
     * What a statement about a whole subtree requires: the node itself and all below it. Looks at every listed item.
     *
     * @param path without a trailing slash, except for the root
     */
    public long requiredUnder(String path) {
        String prefix = prefixBelow(path);
        long highest = Indices.NONE;
        for (Map.Entry<String, Item> entry : items.entrySet()) {
            String key = entry.getKey();
            if (key.equals(path) || key.startsWith(prefix)) {
                highest = Math.max(highest, entry.getValue().index);
            }
        }
        return Math.max(highest, absent());
    }

    /** What an item requires that is not listed. */
    public long barrier() {
        return barrier;
    }

    /** Every item updated above this index is listed. */
    public long floor() {
        return Math.max(barrier, durable);
    }

    public int size() {
        return items.size();
    }

    // --- decisions; tests replace single ones by wrong ones to see that the vectors notice

    /** What an item requires that is not listed. */
    long absent() {
        return barrier;
    }

    /** The oldest item is replaced by the barrier. */
    void replaceByBarrier(long oldest) {
        barrier = Math.max(barrier, oldest);
    }

    /** "/ab" is not below "/a". */
    String prefixBelow(String path) {
        return path.endsWith("/") ? path : path + "/";
    }

    // --- the list

    private void prune() {
        boolean more = true;
        while (more) {
            more = pruneBatch();
        }
    }

    private synchronized boolean pruneBatch() {
        for (int i = 0; i < PRUNE_BATCH; i++) {
            Item oldest = ring.newer;
            if (oldest == ring || oldest.index > floor()) {
                return false;
            }
            remove(oldest);
        }
        return true;
    }

    private void remove(Item item) {
        unlink(item);
        items.remove(item.key);
    }

    private void linkAsNewest(Item item) {
        item.older = ring.older;
        item.newer = ring;
        ring.older.newer = item;
        ring.older = item;
    }

    private static void unlink(Item item) {
        item.older.newer = item.newer;
        item.newer.older = item.older;
    }
}

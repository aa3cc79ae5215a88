// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.index;

import io.cad.zookeeper.core.Indices;

/** Wrong dirty indices, each with one mistake. */
public final class DirtyVariants {
    private DirtyVariants() {
    }

    public static DirtyIndex absenceTreatedAsDurable(int max, long barrier) {
        return new DirtyIndex(max, barrier) {
            @Override
            long absent() {
                return Indices.NONE;
            }
        };
    }

    public static DirtyIndex noBarrierAfterResync(int max, long barrier) {
        return new DirtyIndex(max, barrier) {
            @Override
            public void raiseBarrier(long index) {
            }
        };
    }

    public static DirtyIndex noBarrierAtStart(int max, long barrier) {
        return new DirtyIndex(max, Indices.NONE);
    }

    public static DirtyIndex boundDropsItems(int max, long barrier) {
        return new DirtyIndex(max, barrier) {
            @Override
            void replaceByBarrier(long oldest) {
            }
        };
    }

    public static DirtyIndex firstTouchWins(int max, long barrier) {
        return new DirtyIndex(max, barrier) {
            @Override
            public synchronized void touch(String key, long index) {
                if (required(key) <= floor()) {
                    super.touch(key, index);
                }
            }
        };
    }

    public static DirtyIndex durableNotPruned(int max, long barrier) {
        return new DirtyIndex(max, barrier) {
            @Override
            public void durable(long index) {
            }
        };
    }

    public static DirtyIndex subtreeByBarePrefix(int max, long barrier) {
        return new DirtyIndex(max, barrier) {
            @Override
            String prefixBelow(String path) {
                return path;
            }
        };
    }

    public static DirtyIndex subtreeOfOneNode(int max, long barrier) {
        return new DirtyIndex(max, barrier) {
            @Override
            public long requiredUnder(String path) {
                return required(path);
            }
        };
    }
}

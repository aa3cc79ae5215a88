// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.lease;

/**
 * What the clients saw. A read that began after another one of the same item had completed must return a state that
 * contains what the other one returned: the versions of an item form chains, each version knows the one before it.
 */
final class Recorder {
    /** The replies that clients have recorded contradict the promise. */
    static final class Violation extends AssertionError {
        private static final long serialVersionUID = 1;

        Violation(String message) {
            super(message);
        }
    }

    /** One write: position in the log and the version of the item that it replaced. */
    static final class Version {
        final long index;
        final int item;
        final Version previous;

        Version(long index, int item, Version previous) {
            this.index = index;
            this.item = item;
            this.previous = previous;
        }

        static boolean isPartOf(Version older, Version newer) {
            Version at = newer;
            while (at != null && older != null && at.index > older.index) {
                at = at.previous;
            }
            return older == null || at == older;
        }
    }

    /** A read that has begun. */
    static final class Read {
        final int item;
        final Version floor;

        Read(int item, Version floor) {
            this.item = item;
            this.floor = floor;
        }
    }

    private final Version[] seen;
    private int completed;

    Recorder(int items) {
        seen = new Version[items];
    }

    Read begin(int item) {
        return new Read(item, seen[item]);
    }

    void complete(Read read, Version version, String where) {
        completed++;
        if (!Version.isPartOf(read.floor, version)) {
            throw new Violation("CrossClientMonotonicReads: item " + read.item + " read as "
                    + (version == null ? "absent" : Long.toHexString(version.index)) + " at " + where
                    + " after it was read as " + Long.toHexString(read.floor.index));
        }
        if (Version.isPartOf(seen[read.item], version)) {
            seen[read.item] = version;
        }
    }

    int completed() {
        return completed;
    }
}

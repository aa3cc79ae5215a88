// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.durability;

import java.io.File;
import java.io.IOException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * What the objects that open one data directory share: upstream creates logs
 * and snapshot writers afresh after a cut, for a purge and for tools, while
 * the persisted mark and the role that listens stay.
 */
public final class Store {

    /** Directory of side files inside the data directory, and its layout version. */
    public static final String SIDE_DIRECTORY = "cad";
    private static final String LAYOUT = "v1";

    private static final ConcurrentMap<File, Store> STORES = new ConcurrentHashMap<>();

    /** Told, in order, what a sync made durable. */
    public interface PersistedListener {
        void persisted(long index);
    }

    /** Holds a finished snapshot back until all it contains is durable. */
    public interface SnapshotGate {
        /**
         * Waits until D has reached the index.
         *
         * @return false if the role ended first: the snapshot must not be published
         */
        boolean awaitDurable(long index) throws InterruptedException;

        /** Highest index whose effects may be in memory, a change half applied included. */
        long applying();
    }

    private final File sideDirectory;
    private volatile PersistedListener listener = index -> { };
    private volatile SnapshotGate snapshotGate;
    private PersistedMark mark;
    private SegmentEnds segments;
    private volatile long persisted;
    private volatile boolean fullStateNeeded;
    private volatile File adoptingFor;

    private Store(File versionDirectory) {
        sideDirectory = new File(new File(versionDirectory.getParentFile(), SIDE_DIRECTORY), LAYOUT);
    }

    /**
     * The store of a log directory.
     *
     * @param versionDirectory dataLogDir/version-2
     */
    public static Store of(File versionDirectory) {
        return STORES.computeIfAbsent(key(versionDirectory), Store::new);
    }

    private static File key(File versionDirectory) {
        return versionDirectory.getAbsoluteFile().toPath().normalize().toFile();
    }

    /** Closes the side files of a directory that this process is done with; the next use opens them anew. */
    public static void forget(File versionDirectory) throws IOException {
        Store store = STORES.remove(key(versionDirectory));
        if (store != null) {
            store.close();
        }
    }

    private synchronized void close() throws IOException {
        if (mark != null) {
            mark.close();
        }
    }

    /** Side files of this data directory; created durably on first use. */
    public File sideDirectory() throws IOException {
        Directories.create(sideDirectory.getParentFile());
        Directories.create(sideDirectory);
        return sideDirectory;
    }

    public synchronized PersistedMark mark() throws IOException {
        if (mark == null) {
            mark = new PersistedMark(new File(sideDirectory(), "persisted"));
        }
        return mark;
    }

    public synchronized SegmentEnds segments() throws IOException {
        if (segments == null) {
            segments = new SegmentEnds(new File(sideDirectory(), "segments"));
        }
        return segments;
    }

    /** Highest index that a sync in this process has covered. */
    public long persisted() {
        return persisted;
    }

    /** A sync covered the log up to the index. */
    void persisted(long index) {
        if (index <= persisted) {
            return;
        }
        persisted = index;
        try {
            mark().raise(index);
        } catch (IOException e) {
            throw FailStop.storage("Recording the persisted mark in " + sideDirectory, e);
        }
        listener.persisted(index);
    }

    /**
     * The next snapshot is the leader's whole state, which replaces this server's history.
     *
     * @param logDir where the old log is; null when that is over
     */
    public void adoptFor(File logDir) {
        adoptingFor = logDir;
    }

    public File adoptingFor() {
        return adoptingFor;
    }

    /** A cut was refused: the next registration asks the leader for its whole state. */
    public void needFullState(boolean needed) {
        fullStateNeeded = needed;
    }

    public boolean fullStateNeeded() {
        return fullStateNeeded;
    }

    /** The log is about to be cut behind the index; lowers what is recorded of it, durably. */
    public void cut(long index) throws IOException {
        mark().lower(index);
        segments().cut(index);
        persisted = Math.min(persisted, index);
    }

    /**
     * A role begins.
     *
     * @param from what is known to be persisted; only higher indices are announced
     */
    public void listen(PersistedListener newListener, long from) {
        persisted = from;
        listener = newListener;
    }

    public void gateSnapshots(SnapshotGate gate) {
        snapshotGate = gate;
    }

    public SnapshotGate snapshotGate() {
        return snapshotGate;
    }

    /** A role ended: nobody listens. */
    public void release(PersistedListener oldListener) {
        if (listener == oldListener) {
            listener = index -> { };
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.durability;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.apache.zookeeper.common.AtomicFileOutputStream;

/**
 * What the objects that open one data directory share: upstream creates logs
 * and snapshot writers afresh after a cut, for a purge and for tools, while
 * the persisted mark and the role that listens stay.
 */
public final class Store {

    /** Directory of side files inside the data directory, and its layout version. */
    public static final String SIDE_DIRECTORY = "cad";
    private static final String LAYOUT = "v1";

    /** Side files: the persisted mark, where log files end, and the newest epoch that was recorded under our eyes. */
    public static final String MARK = "persisted";
    public static final String SEGMENTS = "segments";
    public static final String EPOCH = "epoch";
    /** Locked by the process that writes here. */
    public static final String LOCK = "running";

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
    private DirectoryLock lock;
    private volatile long persisted;
    private volatile boolean fullStateNeeded;
    private volatile File adoptingFor;
    private volatile long commonHistory = Long.MAX_VALUE;

    private Store(File versionDirectory) {
        sideDirectory = sideDirectory(versionDirectory);
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

    /** Side files of a directory, which need not exist. */
    public static File sideDirectory(File versionDirectory) {
        return new File(new File(versionDirectory.getParentFile(), SIDE_DIRECTORY), LAYOUT);
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
        if (lock != null) {
            lock.close();
        }
    }

    /**
     * Keeps other processes from writing here until this one ends or {@link #forget}s the directory.
     *
     * @throws IOException another process writes here
     */
    public synchronized void occupy() throws IOException {
        if (lock == null) {
            lock = DirectoryLock.take(new File(sideDirectory(), LOCK));
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
            mark = new PersistedMark(new File(sideDirectory(), MARK));
        }
        return mark;
    }

    public synchronized SegmentEnds segments() throws IOException {
        if (segments == null) {
            segments = new SegmentEnds(new File(sideDirectory(), SEGMENTS));
        }
        return segments;
    }

    /** An epoch is about to be recorded by upstream; remembers durably that it was us. */
    public synchronized void recordEpoch(long epoch) throws IOException {
        File file = new File(sideDirectory(), EPOCH);
        if (epoch > recordedEpoch(file)) {
            AtomicFileOutputStream out = new AtomicFileOutputStream(file);
            out.write(Long.toString(epoch).getBytes(StandardCharsets.UTF_8));
            out.close();
            Directories.sync(sideDirectory());
        }
    }

    /** Newest epoch that a server with CAD recorded here, -1 if none did. */
    private static long recordedEpoch(File file) throws IOException {
        try {
            return file.exists() ? Long.parseLong(Files.readString(file.toPath()).trim()) : -1;
        } catch (NumberFormatException e) {
            return -1;
        }
    }

    /**
     * Whether a server without CAD has run here since the side files were written: it cuts and appends without
     * telling them. It cannot cut without recording a newer epoch. Changes nothing.
     *
     * @param epoch what upstream's file says
     */
    public static boolean recordsAreStale(File versionDirectory, long epoch) throws IOException {
        File side = sideDirectory(versionDirectory);
        return epoch > recordedEpoch(new File(side, EPOCH))
            && (PersistedMark.peek(new File(side, MARK)) > 0 || !new SegmentEnds(new File(side, SEGMENTS)).isEmpty());
    }

    /** Drops, durably, what is recorded of a log that somebody else has written. */
    public synchronized void distrust(long epoch) throws IOException {
        mark().lower(0);
        segments().cut(-1);
        recordEpoch(epoch);
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

    /**
     * Behind this index the history here and the leader's, whose state replaces it, have nothing in common.
     *
     * @param index Long.MAX_VALUE if the leader does not say
     */
    public void commonHistory(long index) {
        commonHistory = index;
    }

    public long commonHistory() {
        return commonHistory;
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

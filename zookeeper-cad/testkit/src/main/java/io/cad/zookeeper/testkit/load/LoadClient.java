// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit.load;

import io.cad.zookeeper.testkit.history.Op;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;

/** One session and its closed loop. */
final class LoadClient {
    /** About ten minutes at full speed; a longer recorded load is a mistake that should not eat the heap. */
    private static final int MAX_RECORDED = 2_000_000;
    private static final long ERROR_MILLIS = 5;
    private static final int CLIENT_SHIFT = 48;
    private static final int GENERATION_SHIFT = 28;

    private final int id;
    private final int server;
    private final Session session;
    private final LoadSpec spec;
    private final Zipfian zipfian;
    private final FreshKeys fresh;
    private final SplittableRandom random;
    private final byte[] filler;
    private long written;
    private double readShare;
    private double freshShare;

    private Latencies reads = new Latencies();
    private Latencies writes = new Latencies();
    private List<Op> ops = new ArrayList<>();
    private long errors;

    LoadClient(int id, int server, int generation, Session session, LoadSpec spec, Zipfian zipfian,
            FreshKeys fresh) {
        this.id = id;
        this.server = server;
        this.session = session;
        this.spec = spec;
        this.zipfian = zipfian;
        this.fresh = fresh;
        this.random = new SplittableRandom((spec.seed() * 1_000_003L + generation) * 1_000_003L + id);
        this.readShare = spec.readShare();
        this.freshShare = spec.freshShare();
        this.written = (long) generation << GENERATION_SHIFT;
        this.filler = new byte[spec.valueBytes()];
        random.nextBytes(filler);
    }

    /** Identity of the client's n-th value; client 0 stands for the initial values. */
    static long valueId(int client, long n) {
        return ((long) client << CLIENT_SHIFT) + n;
    }

    static byte[] encode(long valueId, byte[] filler) {
        byte[] bytes = filler.clone();
        ByteBuffer.wrap(bytes).putLong(valueId);
        return bytes;
    }

    static long decode(byte[] bytes) {
        return ByteBuffer.wrap(bytes).getLong();
    }

    Session session() {
        return session;
    }

    /** Only between two loads: the threads of the next one see it because they start later. */
    void mix(double newReadShare, double newFreshShare) {
        readShare = newReadShare;
        freshShare = newFreshShare;
    }

    /** One operation, chosen by the seed. */
    void step(boolean record) throws InterruptedException, IOException {
        boolean isRead = random.nextDouble() < readShare;
        int key = isRead && random.nextDouble() < freshShare ? fresh.pick(random) : zipfian.next(random);
        if (isRead) {
            read(key, record);
        } else {
            write(key, record);
        }
    }

    void read(int key, boolean record) throws InterruptedException, IOException {
        String path = LoadGenerator.path(key);
        Stat stat = new Stat();
        long start = System.nanoTime();
        long value = Op.NO_VALUE;
        int version = -1;
        long mzxid = -1;
        String error = null;
        try {
            value = decode(session.get(path, stat));
            version = stat.getVersion();
            mzxid = stat.getMzxid();
        } catch (KeeperException.NoNodeException e) {
            mzxid = 0;
        } catch (KeeperException e) {
            error = e.code().name();
        }
        long end = System.nanoTime();
        done(Op.Kind.READ, path, start, end, value, version, mzxid, error, record);
    }

    private void write(int key, boolean record) throws InterruptedException, IOException {
        String path = LoadGenerator.path(key);
        long value = valueId(id, ++written);
        byte[] bytes = encode(value, filler);
        int version = -1;
        long mzxid = -1;
        String error = null;
        long start = System.nanoTime();
        try {
            Stat stat = session.set(path, bytes);
            version = stat.getVersion();
            mzxid = stat.getMzxid();
        } catch (KeeperException e) {
            error = e.code().name();
        }
        long end = System.nanoTime();
        if (error == null) {
            fresh.wrote(key);
        }
        done(Op.Kind.WRITE, path, start, end, value, version, mzxid, error, record);
    }

    private void done(Op.Kind kind, String path, long start, long end, long value, int version, long mzxid,
            String error, boolean record) throws InterruptedException {
        if (error != null) {
            errors++;
            // Without a connection the next error would come at once, and the one after it.
            Thread.sleep(ERROR_MILLIS);
        } else {
            (kind == Op.Kind.READ ? reads : writes).add(end - start);
        }
        if (record) {
            if (ops.size() == MAX_RECORDED) {
                throw new IllegalStateException("more than " + MAX_RECORDED + " operations recorded; load for less time");
            }
            ops.add(new Op(kind, id, server, path, start, end, value, version, mzxid, error));
        }
    }

    Latencies takeReads() {
        Latencies taken = reads;
        reads = new Latencies();
        return taken;
    }

    Latencies takeWrites() {
        Latencies taken = writes;
        writes = new Latencies();
        return taken;
    }

    List<Op> takeOps() {
        List<Op> taken = ops;
        ops = new ArrayList<>();
        return taken;
    }

    long takeErrors() {
        long taken = errors;
        errors = 0;
        return taken;
    }
}

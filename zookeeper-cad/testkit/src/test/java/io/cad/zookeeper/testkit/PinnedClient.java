// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import io.cad.zookeeper.testkit.history.Op;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/** A client with a new session that stays with one server, one request at a time, and records what it sees. */
final class PinnedClient implements AutoCloseable {
    private static final Duration SESSION = Duration.ofSeconds(6);
    private static final Duration LIMIT = Duration.ofSeconds(60);
    /** What a read of an absent node returns. */
    static final OptionalLong ABSENT = OptionalLong.of(Op.NO_VALUE);

    private final List<Op> history;
    private final int number;
    private final ServerProcess server;
    private final ZooKeeper session;

    /** @param number tells clients apart */
    PinnedClient(List<Op> history, int number, ServerProcess server) throws Exception {
        this.history = history;
        this.number = number;
        this.server = server;
        this.session = Clients.connect(server.connectString(), SESSION, LIMIT);
    }

    private static byte[] bytes(long value) {
        return ByteBuffer.allocate(Long.BYTES).putLong(value).array();
    }

    /** Creates a node; whoever may lose it is not asked to make it durable. */
    void create(String path, long value) throws Exception {
        long start = System.nanoTime();
        Stat stat = new Stat();
        session.create(path, bytes(value), ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT, stat);
        done(Op.Kind.WRITE, path, start, value, stat, null);
    }

    void set(String path, long value) throws Exception {
        long start = System.nanoTime();
        done(Op.Kind.WRITE, path, start, value, session.setData(path, bytes(value), -1), null);
    }

    /** The value, or {@link #ABSENT}, or nothing if the server did not answer. */
    OptionalLong read(String path) throws Exception {
        CompletableFuture<Code> reply = new CompletableFuture<>();
        long[] value = {Op.NO_VALUE};
        Stat found = new Stat();
        long start = System.nanoTime();
        session.getData(path, false, (code, p, context, data, stat) -> {
            if (stat != null) {
                value[0] = ByteBuffer.wrap(data).getLong();
                found.setVersion(stat.getVersion());
                found.setMzxid(stat.getMzxid());
            }
            reply.complete(Code.get(code));
        }, null);
        Code code = reply.get(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
        boolean answered = code == Code.OK || code == Code.NONODE;
        done(Op.Kind.READ, path, start, value[0], found, answered ? null : code.name());
        return answered ? OptionalLong.of(value[0]) : OptionalLong.empty();
    }

    private void done(Op.Kind kind, String path, long start, long value, Stat stat, String error) {
        history.add(new Op(kind, number, server.id(), path, start, System.nanoTime(), value, stat.getVersion(),
                stat.getMzxid(), error));
    }

    @Override
    public void close() throws InterruptedException {
        session.close(1_000);
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.gate;

import io.cad.zookeeper.role.Role;
import io.cad.zookeeper.testing.Await;
import io.cad.zookeeper.testing.Ensemble;
import io.cad.zookeeper.testing.RawClient;
import io.cad.zookeeper.testing.RawClient.Packet;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.jute.Record;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Quotas;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.apache.zookeeper.proto.CreateRequest;
import org.apache.zookeeper.proto.CreateTTLRequest;
import org.apache.zookeeper.proto.DeleteRequest;
import org.apache.zookeeper.proto.ExistsRequest;
import org.apache.zookeeper.proto.GetACLRequest;
import org.apache.zookeeper.proto.GetAllChildrenNumberRequest;
import org.apache.zookeeper.proto.GetDataRequest;
import org.apache.zookeeper.proto.SetACLRequest;
import org.apache.zookeeper.proto.SetDataRequest;
import org.apache.zookeeper.proto.SetWatches;

/** One run of a row: four sessions on one server and nodes that nobody else uses. */
final class GateCase implements AutoCloseable {

    private static final int SESSION_TIMEOUT = 600_000;
    private static final AtomicInteger NEXT = new AtomicInteger();

    final Ensemble ensemble;
    final long server;
    final Role role;
    final RawClient reader;
    final RawClient writer;
    final RawClient other;
    /** A session that ends in the course of a row. */
    final RawClient victim;
    /** A node that the row changes; it does not exist at first. */
    final String node;
    /** A node that nobody changes once it is durable. */
    final String durable;
    /** Last index applied before the row's change. */
    long before;

    private final List<RawClient> more = new ArrayList<>();

    GateCase(Ensemble ensemble, long server) {
        this.ensemble = ensemble;
        this.server = server;
        role = ensemble.role(server);
        reader = ensemble.client(server);
        writer = ensemble.client(server);
        other = ensemble.client(server);
        victim = ensemble.client(server);
        node = "/node" + NEXT.incrementAndGet();
        durable = node + "-durable";
        create(durable);
    }

    /** Waits until everything so far is durable, known to be here, and no gate holds the end of an earlier case. */
    void settle() {
        Await.until("everything is durable", () -> role.durable() >= role.index.lastApplied());
        Await.until("nothing is held", () -> role.gates.repliesHeld() == 0);
        before = role.index.lastApplied();
    }

    static Packet ok(CompletableFuture<Packet> reply) {
        Packet packet = Await.get("a request", reply);
        if (packet.code() != Code.OK) {
            throw new AssertionError("the request failed: " + packet);
        }
        return packet;
    }

    /** The victim's session ends, undurably, and its connection goes away without the answer. */
    void endVictim() {
        victim.send(OpCode.closeSession, null);
        Await.until("the end of the session is applied", () -> role.gates.repliesHeld() > 0);
        victim.close();
        Await.until("its connection is gone", () -> role.gates.repliesHeld() == 0);
    }

    // ---- writes by the writer, acknowledged

    Packet written(int type, Record record) {
        return ok(writer.send(type, record));
    }

    void createNode() {
        create(node);
    }

    void create(String path) {
        ok(createAs(writer, path, 0));
    }

    void setNode() {
        set(node, new byte[] {1});
    }

    void set(String path, byte[] data) {
        ok(setAs(writer, path, data, -1));
    }

    void deleteNode() {
        delete(node);
    }

    void delete(String path) {
        ok(deleteAs(writer, path, -1));
    }

    void setAcl(int permissions) {
        ok(setAclAs(writer, node, permissions));
    }

    void createQuota() {
        createNode();
        if (Await.get("exists", other.send(OpCode.exists, new ExistsRequest(Quotas.quotaZookeeper, false))).code()
            == Code.NONODE) {
            create(Quotas.quotaZookeeper);
        }
        create(Quotas.quotaZookeeper + node);
        ok(create(writer, Quotas.limitPath(node), "count=100,bytes=100000".getBytes(), 0));
        ok(create(writer, Quotas.statPath(node), "count=1,bytes=0".getBytes(), 0));
    }

    String quotaStatistics() {
        return Quotas.statPath(node);
    }

    String immediate() {
        return "/immediate" + node;
    }

    // ---- requests

    CompletableFuture<Packet> createAs(RawClient client, String path, int flags) {
        return create(client, path, new byte[1], flags);
    }

    private static CompletableFuture<Packet> create(RawClient client, String path, byte[] data, int flags) {
        return client.send(OpCode.create, new CreateRequest(path, data, ZooDefs.Ids.OPEN_ACL_UNSAFE, flags));
    }

    CompletableFuture<Packet> createWithoutAcl(String path) {
        return reader.send(OpCode.create, new CreateRequest(path, new byte[1], List.of(), 0));
    }

    CompletableFuture<Packet> createContainer(String path) {
        return reader.send(OpCode.createContainer, new CreateRequest(path, null, ZooDefs.Ids.OPEN_ACL_UNSAFE, 4));
    }

    CompletableFuture<Packet> createTtl(String path) {
        return reader.send(OpCode.createTTL,
            new CreateTTLRequest(path, null, ZooDefs.Ids.OPEN_ACL_UNSAFE, 5, 3_600_000));
    }

    CompletableFuture<Packet> setAs(RawClient client, String path, byte[] data, int version) {
        return client.send(OpCode.setData, new SetDataRequest(path, data, version));
    }

    CompletableFuture<Packet> deleteAs(RawClient client, String path, int version) {
        return client.send(OpCode.delete, new DeleteRequest(path, version));
    }

    CompletableFuture<Packet> setAclAs(RawClient client, String path, int permissions) {
        return client.send(OpCode.setACL,
            new SetACLRequest(path, List.of(new ACL(permissions, new Id("world", "anyone"))), -1));
    }

    CompletableFuture<Packet> getData(String path) {
        return reader.send(OpCode.getData, new GetDataRequest(path, false));
    }

    CompletableFuture<Packet> watchData(String path) {
        return reader.send(OpCode.getData, new GetDataRequest(path, true));
    }

    CompletableFuture<Packet> exists(String path) {
        return reader.send(OpCode.exists, new ExistsRequest(path, false));
    }

    CompletableFuture<Packet> getAcl(String path) {
        return reader.send(OpCode.getACL, new GetACLRequest(path));
    }

    CompletableFuture<Packet> allChildrenNumber(String path) {
        return reader.send(OpCode.getAllChildrenNumber, new GetAllChildrenNumberRequest(path));
    }

    CompletableFuture<Packet> setWatches(long seen) {
        return reader.send(GateRow.setWatchesXid(), OpCode.setWatches,
            new SetWatches(seen, List.of(node), List.of(), List.of()));
    }

    // ---- more connections

    RawClient openAnother() {
        RawClient client = RawClient.opening(ensemble.clientPort(server), SESSION_TIMEOUT);
        more.add(client);
        return client;
    }

    RawClient reopenVictim() {
        RawClient client = RawClient.opening(ensemble.clientPort(server), SESSION_TIMEOUT, victim.session(),
            victim.connected().join().getPasswd(), 0);
        more.add(client);
        return client;
    }

    /** Ends the sessions in order where they are still open. */
    @Override
    public void close() {
        for (RawClient client : List.of(reader, writer, other, victim)) {
            more.add(client);
        }
        for (RawClient client : more) {
            if (!client.closed().isDone() && client.connected().isDone()) {
                client.send(OpCode.closeSession, null);
            }
        }
        for (RawClient client : more) {
            if (client.connected().isDone()) {
                Await.get("the end of a connection", client.closed());
            }
            client.close();
        }
    }
}

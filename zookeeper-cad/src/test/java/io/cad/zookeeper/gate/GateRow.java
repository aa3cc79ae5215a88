// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.gate;

import io.cad.zookeeper.testing.RawClient.Packet;
import io.cad.zookeeper.testing.WeakPolicy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.MultiOperationRecord;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.proto.AddWatchRequest;
import org.apache.zookeeper.proto.GetChildrenRequest;
import org.apache.zookeeper.proto.GetDataRequest;
import org.apache.zookeeper.proto.GetEphemeralsRequest;
import org.apache.zookeeper.proto.SetWatches;
import org.apache.zookeeper.proto.SyncRequest;

/**
 * One thing that shows state to a client, or is acknowledged durably. While D
 * stands still a writer changes something ({@code dirty}), a reader asks
 * ({@code ask}), and the answer must wait. {@code weaken} makes the policy
 * wrong in this one place; null where the decision is not the policy's.
 */
record GateRow(String name, Consumer<GateCase> prepare, Consumer<GateCase> dirty,
               Function<GateCase, CompletableFuture<?>> ask, Code answer, Runnable weaken) {

    private static final int SET_WATCHES_XID = -8;

    @Override
    public String toString() {
        return name;
    }

    /** Every row that names an index, and every write that is acknowledged durably. */
    static List<GateRow> all() {
        List<GateRow> rows = new ArrayList<>();
        reads(rows);
        absence(rows);
        subtreesAndSessions(rows);
        events(rows);
        failedWrites(rows);
        sessions(rows);
        durableWrites(rows);
        return rows;
    }

    private static void read(List<GateRow> rows, String name, int type, Consumer<GateCase> dirty,
                             Function<GateCase, CompletableFuture<?>> ask, Code answer) {
        rows.add(new GateRow(name, GateCase::createNode, dirty, ask, answer,
            () -> WeakPolicy.weaken(request -> request.type == type)));
    }

    private static void reads(List<GateRow> rows) {
        read(rows, "getData after setData", OpCode.getData, GateCase::setNode, c -> c.getData(c.node), Code.OK);
        read(rows, "getData after a child's creation", OpCode.getData, c -> c.create(c.node + "/c"),
            c -> c.getData(c.node), Code.OK);
        read(rows, "getData of a created node", OpCode.getData, c -> c.create(c.node + "/c"),
            c -> c.getData(c.node + "/c"), Code.OK);
        read(rows, "exists", OpCode.exists, GateCase::setNode, c -> c.exists(c.node), Code.OK);
        read(rows, "getChildren", OpCode.getChildren, c -> c.create(c.node + "/c"),
            c -> c.reader.send(OpCode.getChildren, new GetChildrenRequest(c.node, false)), Code.OK);
        read(rows, "getChildren2", OpCode.getChildren2, c -> c.create(c.node + "/c"),
            c -> c.reader.send(OpCode.getChildren2, new GetChildrenRequest(c.node, false)), Code.OK);
        read(rows, "getChildren2 after setData", OpCode.getChildren2, GateCase::setNode,
            c -> c.reader.send(OpCode.getChildren2, new GetChildrenRequest(c.node, false)), Code.OK);
        read(rows, "getACL after setACL", OpCode.getACL, c -> c.setAcl(ZooDefs.Perms.ALL & ~ZooDefs.Perms.DELETE),
            c -> c.getAcl(c.node), Code.OK);
        read(rows, "getData after setACL", OpCode.getData, c -> c.setAcl(ZooDefs.Perms.ALL & ~ZooDefs.Perms.DELETE),
            c -> c.getData(c.node), Code.OK);
        read(rows, "NoAuth on a read after setACL", OpCode.getData,
            c -> c.setAcl(ZooDefs.Perms.WRITE | ZooDefs.Perms.ADMIN), c -> c.getData(c.node), Code.NOAUTH);
        read(rows, "multiRead", OpCode.multiRead, GateCase::setNode,
            c -> c.reader.send(OpCode.multiRead,
                new MultiOperationRecord(List.of(Op.getData(c.durable), Op.getData(c.node)))), Code.OK);
        read(rows, "multiRead with a failed part", OpCode.multiRead, GateCase::deleteNode,
            c -> c.reader.send(OpCode.multiRead,
                new MultiOperationRecord(List.of(Op.getData(c.durable), Op.getChildren(c.node)))), Code.OK);
        read(rows, "getData after a multi", OpCode.getData,
            c -> c.written(OpCode.multi, new MultiOperationRecord(
                List.of(Op.check(c.durable, -1), Op.setData(c.node, new byte[3], -1)))),
            c -> c.getData(c.node), Code.OK);
        rows.add(new GateRow("quota statistics", GateCase::createQuota,
            c -> c.set(c.node, new byte[100]), c -> c.getData(c.quotaStatistics()), Code.OK,
            () -> WeakPolicy.weaken(request -> request.type == OpCode.getData)));
    }

    private static void absence(List<GateRow> rows) {
        read(rows, "getData of a deleted node", OpCode.getData, GateCase::deleteNode, c -> c.getData(c.node),
            Code.NONODE);
        read(rows, "exists of a deleted node", OpCode.exists, GateCase::deleteNode, c -> c.exists(c.node),
            Code.NONODE);
        read(rows, "getChildren of a deleted node", OpCode.getChildren, GateCase::deleteNode,
            c -> c.reader.send(OpCode.getChildren, new GetChildrenRequest(c.node, false)), Code.NONODE);
        read(rows, "getACL of a deleted node", OpCode.getACL, GateCase::deleteNode, c -> c.getAcl(c.node),
            Code.NONODE);
    }

    private static void subtreesAndSessions(List<GateRow> rows) {
        rows.add(new GateRow("getAllChildrenNumber", c -> {
            c.createNode();
            c.create(c.node + "/a");
        }, c -> c.create(c.node + "/a/deep"), c -> c.allChildrenNumber(c.node), Code.OK,
            () -> WeakPolicy.weaken(request -> request.type == OpCode.getAllChildrenNumber)));
        rows.add(new GateRow("getEphemerals after another session deleted one", c -> {
            c.createNode();
            GateCase.ok(c.createAs(c.reader, c.node + "/e", 1));
        }, c -> c.delete(c.node + "/e"),
            c -> c.reader.send(OpCode.getEphemerals, new GetEphemeralsRequest("/")), Code.OK,
            () -> WeakPolicy.weaken(request -> request.type == OpCode.getEphemerals)));
        rows.add(new GateRow("absence of an ephemeral whose session ended", c -> {
            c.createNode();
            GateCase.ok(c.createAs(c.victim, c.node + "/e", 1));
        }, GateCase::endVictim, c -> c.exists(c.node + "/e"), Code.NONODE,
            () -> WeakPolicy.weaken(request -> request.type == OpCode.exists)));
    }

    private static void events(List<GateRow> rows) {
        event(rows, "one-shot data watch", c -> GateCase.ok(c.watchData(c.node)), GateCase::setNode);
        event(rows, "one-shot child watch", c -> GateCase.ok(
            c.reader.send(OpCode.getChildren, new GetChildrenRequest(c.node, true))), c -> c.create(c.node + "/c"));
        event(rows, "persistent watch", c -> GateCase.ok(
            c.reader.send(OpCode.addWatch, new AddWatchRequest(c.node, 0))), GateCase::setNode);
        event(rows, "persistent recursive watch", c -> GateCase.ok(
            c.reader.send(OpCode.addWatch, new AddWatchRequest(c.node, 1))), c -> c.create(c.node + "/c"));
        rows.add(new GateRow("event made up by setWatches", GateCase::createNode, GateCase::setNode, c -> {
            c.setWatches(c.before);
            return c.reader.event();
        }, Code.OK, () -> {
            WeakPolicy.weakenEvents();
            WeakPolicy.weaken(request -> request.type == OpCode.setWatches);
        }));
        rows.add(new GateRow("setWatches that finds nothing changed", GateCase::createNode, GateCase::setNode,
            c -> c.setWatches(c.role.index.lastApplied()), Code.OK,
            () -> WeakPolicy.weaken(request -> request.type == OpCode.setWatches)));
    }

    private static void event(List<GateRow> rows, String name, Consumer<GateCase> watch, Consumer<GateCase> dirty) {
        rows.add(new GateRow(name, c -> {
            c.createNode();
            watch.accept(c);
        }, dirty, c -> c.reader.event(), Code.OK, WeakPolicy::weakenEvents));
    }

    private static void failed(List<GateRow> rows, String name, Consumer<GateCase> prepare,
                               Function<GateCase, CompletableFuture<?>> ask, Code answer) {
        rows.add(new GateRow(name, prepare, c -> { }, ask, answer,
            () -> WeakPolicy.weaken(request -> request.getHdr() != null && request.getHdr().getType() == OpCode.error)));
    }

    private static void failedWrites(List<GateRow> rows) {
        failed(rows, "BadVersion", GateCase::createNode, c -> c.setAs(c.reader, c.node, new byte[1], 99),
            Code.BADVERSION);
        failed(rows, "BadVersion of a delete", GateCase::createNode, c -> c.deleteAs(c.reader, c.node, 99),
            Code.BADVERSION);
        failed(rows, "NodeExists", GateCase::createNode, c -> c.createAs(c.reader, c.node, 0), Code.NODEEXISTS);
        failed(rows, "NotEmpty", c -> {
            c.createNode();
            c.create(c.node + "/c");
        }, c -> c.deleteAs(c.reader, c.node, -1), Code.NOTEMPTY);
        failed(rows, "NoNode of a write", c -> { }, c -> c.setAs(c.reader, c.node, new byte[1], -1), Code.NONODE);
        failed(rows, "NoNode of a create", c -> { }, c -> c.createAs(c.reader, c.node + "/c", 0), Code.NONODE);
        failed(rows, "NoChildrenForEphemerals", c -> GateCase.ok(c.createAs(c.writer, c.node, 1)),
            c -> c.createAs(c.reader, c.node + "/c", 0), Code.NOCHILDRENFOREPHEMERALS);
        failed(rows, "InvalidACL", c -> { }, c -> c.createWithoutAcl(c.node), Code.INVALIDACL);
        failed(rows, "NoAuth of a write", c -> {
            c.createNode();
            c.setAcl(ZooDefs.Perms.READ);
        }, c -> c.setAs(c.reader, c.node, new byte[1], -1), Code.NOAUTH);
        rows.add(new GateRow("failed multi", GateCase::createNode, c -> { },
            c -> c.reader.send(OpCode.multi, new MultiOperationRecord(
                List.of(Op.setData(c.node, new byte[1], -1), Op.check(c.node, 99)))), null,
            () -> WeakPolicy.weaken(request -> request.type == OpCode.multi)));
    }

    private static void sessions(List<GateRow> rows) {
        rows.add(new GateRow("creation of a session", c -> { }, c -> { }, c -> c.openAnother().connected(), Code.OK,
            () -> WeakPolicy.weaken(request -> request.type == OpCode.createSession)));
        rows.add(new GateRow("end of a session", c -> { }, c -> { },
            c -> c.reader.send(OpCode.closeSession, null), Code.OK,
            () -> WeakPolicy.weaken(request -> request.type == OpCode.closeSession)));
        rows.add(new GateRow("SessionExpired on reconnect", c -> { }, GateCase::endVictim, c -> c.reopenVictim().connected(), Code.OK, null));
        rows.add(new GateRow("sync as a barrier", GateCase::createNode,
            c -> GateCase.ok(c.setAs(c.reader, c.node, new byte[1], -1)),
            c -> c.reader.send(OpCode.sync, new SyncRequest(c.node)), Code.OK,
            () -> WeakPolicy.weaken(request -> request.type == OpCode.sync)));
    }

    private static void durable(List<GateRow> rows, String name, int type, Consumer<GateCase> prepare,
                                Function<GateCase, CompletableFuture<?>> ask) {
        rows.add(new GateRow(name, prepare, c -> { }, ask, Code.OK,
            () -> WeakPolicy.weaken(request -> request.type == type)));
    }

    private static void durableWrites(List<GateRow> rows) {
        durable(rows, "ephemeral create", OpCode.create, c -> { }, c -> c.createAs(c.reader, c.node, 1));
        durable(rows, "sequential create", OpCode.create, c -> { }, c -> c.createAs(c.reader, c.node, 2));
        durable(rows, "ephemeral sequential create", OpCode.create, c -> { },
            c -> c.createAs(c.reader, c.node, 3));
        durable(rows, "sequential create in a multi", OpCode.multi, c -> { },
            c -> c.reader.send(OpCode.multi, new MultiOperationRecord(List.of(Op.create(c.node, new byte[1],
                ZooDefs.Ids.OPEN_ACL_UNSAFE, 2)))));
        durable(rows, "ephemeral create in a multi", OpCode.multi, c -> { },
            c -> c.reader.send(OpCode.multi, new MultiOperationRecord(List.of(Op.create(c.node, new byte[1],
                ZooDefs.Ids.OPEN_ACL_UNSAFE, 1)))));
        durable(rows, "container create", OpCode.createContainer, c -> { }, c -> c.createContainer(c.node));
        durable(rows, "TTL create", OpCode.createTTL, c -> { }, c -> c.createTtl(c.node));
        durable(rows, "create below an immediate path", OpCode.create, c -> { },
            c -> c.createAs(c.reader, c.immediate(), 0));
        durable(rows, "setData below an immediate path", OpCode.setData, c -> c.create(c.immediate()),
            c -> c.setAs(c.reader, c.immediate(), new byte[1], -1));
        durable(rows, "delete below an immediate path", OpCode.delete, c -> c.create(c.immediate()),
            c -> c.deleteAs(c.reader, c.immediate(), -1));
        durable(rows, "setACL below an immediate path", OpCode.setACL, c -> c.create(c.immediate()),
            c -> c.setAclAs(c.reader, c.immediate(), ZooDefs.Perms.ALL));
        durable(rows, "multi with a part below an immediate path", OpCode.multi, c -> {
            c.createNode();
            c.create(c.immediate());
        }, c -> c.reader.send(OpCode.multi, new MultiOperationRecord(
            List.of(Op.setData(c.node, new byte[1], -1), Op.setData(c.immediate(), new byte[1], -1)))));
    }

    /** Whether the answer is the right one. */
    void check(Object reply) {
        if (answer != null && reply instanceof Packet && ((Packet) reply).code() != answer) {
            throw new AssertionError(name + ": expected " + answer + " but the reply is " + reply);
        }
    }

    static int setWatchesXid() {
        return SET_WATCHES_XID;
    }
}

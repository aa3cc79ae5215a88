// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.simulation;

import io.cad.zookeeper.core.Cores;
import io.cad.zookeeper.core.ReplyQueue;
import io.cad.zookeeper.index.StateIndex;
import io.cad.zookeeper.node.LeaseGate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What one role of one server holds for its clients: what reads require, and the replies that wait. */
abstract class Serving {
    /** A reply that waits; what it requires is what it shows. */
    private record Held(long required, Runnable reply) {
    }

    final StateIndex index;
    /** Where requests wait until this server may read. */
    final LeaseGate<Client.Op> gate;
    private final Cores cores;
    private final Map<Integer, ReplyQueue<String>> queues = new TreeMap<>();
    private final Map<String, Held> held = new HashMap<>();
    private final Map<String, List<Client.Watch>> watches = new HashMap<>();
    private long names;

    /** @param barrier last entry of the log */
    Serving(Node server, Cores cores, long barrier) {
        this.cores = cores;
        long wait = server.settings.heartbeat();
        this.gate = new LeaseGate<>(server::mayServe, server.now() + wait, wait, wait, op -> server.execute(op, this),
                server::refuse, server::now);
        this.index = new StateIndex(cores.dirty(server.itemsListed(), barrier), barrier);
    }

    abstract long durable();

    abstract void need(long target);

    /** Sends the reply, or keeps it in the order of its connection; answers whether it was kept. */
    boolean reply(int client, long required, Runnable reply, long now) {
        ReplyQueue<String> queue = queues.computeIfAbsent(client, any -> cores.replies());
        if (queue.passes(required, durable())) {
            reply.run();
            return false;
        }
        String name = client + "-" + names++;
        held.put(name, new Held(required, reply));
        queue.hold(name, required, 1, now);
        need(queue.maxRequired());
        return true;
    }

    /** D has moved. */
    void release(long durable) {
        index.durable(durable);
        for (ReplyQueue<String> queue : queues.values()) {
            for (String name = queue.pollReady(durable); name != null; name = queue.pollReady(durable)) {
                held.remove(name).reply.run();
            }
        }
    }

    void watch(Client.Watch watch) {
        watches.computeIfAbsent(watch.path(), any -> new ArrayList<>()).add(watch);
    }

    /** Those who wait for a change of the item; each of them is told once. */
    List<Client.Watch> watchers(String path) {
        List<Client.Watch> all = watches.remove(path);
        return all == null ? List.of() : all;
    }

    /** The role is over, and so is everything that it held. */
    void discard() {
        watches.clear();
        gate.discard();
        queues.values().forEach(ReplyQueue::discard);
        held.clear();
    }

    /** What a wrong server takes along into its next role. */
    void inherit(Serving former) {
        former.held.forEach((name, one) -> reply(-1, one.required, one.reply, 0));
    }
}

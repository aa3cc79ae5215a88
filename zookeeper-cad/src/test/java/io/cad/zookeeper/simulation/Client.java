// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.simulation;

import io.cad.jepsen.checker.Facts;
import io.cad.jepsen.checker.Index;
import io.cad.jepsen.checker.Operation;
import io.cad.jepsen.checker.Operation.Kind;
import io.cad.jepsen.checker.Operation.Outcome;
import io.cad.zookeeper.core.Indices;

/** One client: one operation at a time, each on a new connection. What it records is all that the checker sees. */
final class Client {
    private static final long MS = Simulation.MS;

    private final Simulation world;
    final int number;
    /** Half of them wait for longer than an election takes. */
    private final long timeOut;
    private long process;
    private long writes;
    private Op open;

    Client(Simulation world, int number) {
        this.world = world;
        this.number = number;
        this.timeOut = (number % 2 == 0 ? 1_200 : 5_000) * MS;
        this.process = number;
    }

    /** One operation, until it is completed or given up. */
    final class Op {
        final Kind kind;
        final String path;
        final String value;
        private final long began = world.time();
        private Node server;
        private boolean taken;
        private boolean over;

        Op(Kind kind, String path, String value) {
            this.kind = kind;
            this.path = path;
            this.value = value;
        }

        int client() {
            return number;
        }

        /** Whether this is the first time that a leader gets it; the network may double it. */
        boolean take() {
            boolean first = !taken;
            taken = true;
            return first;
        }

        void connected(Node to) {
            server = to;
            server.connections.add(this);
        }

        void refused() {
            reply(Outcome.FAIL, Facts.NONE);
        }

        /** The server has closed the connection: a write may have happened. */
        void closed() {
            reply(kind == Kind.READ ? Outcome.FAIL : Outcome.INFO, Facts.NONE);
        }

        void acknowledged(Entry entry) {
            reply(Outcome.OK, factsOf(entry));
        }

        Watch watch() {
            return new Watch(Client.this, path, began);
        }

        void read(Facts facts) {
            reply(Outcome.OK, facts);
        }

        private void reply(Outcome outcome, Facts facts) {
            world.later(world.between(MS / 10, MS), () -> complete(outcome, facts));
        }

        private void complete(Outcome outcome, Facts facts) {
            if (over) {
                return;
            }
            over = true;
            if (server != null) {
                server.connections.remove(this);
            }
            Facts asked = kind == Kind.WRITE ? Facts.written(value) : Facts.NONE;
            world.record(path, key -> new Operation(kind, outcome, world.recorded(), process, key, began,
                    outcome == Outcome.INFO ? Long.MAX_VALUE : world.time(), asked, facts, null));
            process += outcome == Outcome.INFO ? Simulation.CLIENTS : 0;
            world.later(outcome == Outcome.OK ? world.between(MS / 2, 10 * MS) : world.between(5 * MS, 50 * MS),
                    Client.this::next);
        }
    }

    /**
     * Left by a read. Its event tells of a change as a read would that began with the watch: it may come late, and who
     * has got it has seen the change.
     */
    record Watch(Client owner, String path, long began) {
        int client() {
            return owner.number;
        }

        void fired(Entry entry) {
            Simulation world = owner.world;
            world.later(world.between(MS / 10, MS), () -> world.record(path, key -> new Operation(Kind.READ, Outcome.OK,
                    world.recorded(), world.watcher(), key, began, world.time(), Facts.NONE, factsOf(entry), null)));
        }
    }

    private static Facts factsOf(Entry entry) {
        Index index = indexOf(entry.index);
        return entry.value == null ? Facts.absent(index)
                : Facts.present(entry.value, index, entry.version, indexOf(entry.created));
    }

    /** What is still under way when the life ends may have happened. */
    void giveUp() {
        if (open != null) {
            open.complete(Outcome.INFO, Facts.NONE);
        }
    }

    static Index indexOf(long zxid) {
        return Index.of(Indices.epoch(zxid), Indices.counter(zxid));
    }

    void next() {
        String path = world.paths.get(world.random.nextInt(world.paths.size()));
        int what = world.random.nextInt(20);
        Op op = new Op(what < 14 ? Kind.READ : what < 19 ? Kind.WRITE : Kind.DELETE, path,
                what >= 14 && what < 19 ? number + "." + ++writes : null);
        open = op;
        Node node = world.nodes.get(world.random.nextInt(world.nodes.size()));
        world.later(world.between(MS / 10, MS), () -> {
            if (node.up) {
                op.connected(node);
                node.receive(() -> node.handle(op));
            } else {
                op.refused();
            }
        });
        world.later(timeOut, () -> op.complete(Outcome.INFO, Facts.NONE));
    }
}

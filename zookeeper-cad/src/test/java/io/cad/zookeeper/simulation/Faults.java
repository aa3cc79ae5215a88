// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.simulation;

import io.cad.zookeeper.simulation.Simulation.Count;
import java.util.List;
import java.util.Random;
import java.util.Set;

/** What goes wrong in one life, and when. Each fault has a number and its own random, so that one can be left out. */
final class Faults {
    private static final long MS = Simulation.MS;
    private static final int OUTLIVES = 5;

    private final Simulation world;
    private final Network network;
    private final Random times;
    private final long seed;
    private final long until;
    private final long pace;
    private final Set<Integer> skipped;
    /** One promise, or one server that joins, in so many; 0: none. */
    private final int promises;
    private final int joins;
    private final boolean cutsElected;
    private final boolean cutsEstablished;
    private final boolean outlives;
    /** One server that connects in so many; 0: none. */
    private final int hellos;
    private Node cutOff;
    /** Is cut off, and those who were its followers lose their memory as soon as they have another leader. */
    private Node outlived;
    private int moves;
    private int number;

    /** @param until when faults end, so that what was lost is read afterwards */
    Faults(Simulation world, Network network, long seed, long until, Set<Integer> skipped) {
        this.world = world;
        this.network = network;
        this.seed = seed;
        this.times = times(seed);
        this.until = until;
        this.skipped = skipped;
        int kind = times.nextInt(8);
        this.promises = kind == 0 ? 4 : 0;
        this.joins = kind == 1 ? 3 : 0;
        this.cutsElected = kind == 2;
        this.cutsEstablished = kind == 2 || kind == 3 || kind == 4;
        this.outlives = kind == OUTLIVES;
        this.hellos = kind == 6 ? 3 : 0;
        // A cut that follows those who are established needs peace for several epochs.
        this.pace = kind >= 3 && kind <= 5 ? 4_000 * MS : times.nextBoolean() ? 300 * MS : 1_200 * MS;
    }

    private static Random times(long seed) {
        return new Random(new Random(~seed).nextLong()); // neighbouring seeds begin alike
    }

    /** Whether leaders are to be outlived, which takes lives in which little else happens. */
    static boolean outlives(long seed) {
        return times(seed).nextInt(8) == OUTLIVES;
    }

    /** In each life all servers lose power once; everything else is chance. */
    void begin() {
        world.later(600 * MS + times.nextInt(600) * MS, () -> numbered(random -> losePower(random, 0)));
        next();
        if (world.returns) {
            nextReturn();
        }
    }

    // --- what goes wrong just when something happens

    /** A server that has promised an epoch ends before it can follow, and whom it promised it to is cut off. */
    void promised(Node server, Node candidate) {
        if (promises > 0 && times.nextInt(promises) == 0 && world.time() < until) {
            numbered(random -> {
                world.count(Count.CRASH_AFTER_PROMISE);
                world.later(between(random, 0, 15), () -> server.restart(random.nextBoolean()));
                world.later(between(random, 5, 30), () -> cutOff(random, candidate));
            });
        }
    }

    /** A server that has just taken over a leader's history loses power, and the leader is cut off. */
    void joined(Node server, Node leader) {
        if (joins > 0 && times.nextInt(joins) == 0 && world.time() < until) {
            numbered(random -> {
                world.count(Count.CRASH_AFTER_JOINING);
                world.later(between(random, 0, 20), () -> server.restart(true));
                if (random.nextBoolean()) {
                    cutOff(random, leader);
                }
            });
        }
    }

    /** A server is elected: as soon as it leads it is cut off, and who was before is not any more. */
    void elected(Node leader) {
        follow(cutsElected, leader);
        if (outlived != null && leader != outlived && world.time() < until) {
            Node before = outlived;
            outlived = null;
            numbered(random -> {
                world.count(Count.OUTLIVED_TWICE);
                world.later(between(random, 40, 100), () -> restartOthers(random, before));
            });
        }
    }

    void established(Node leader) {
        follow(cutsEstablished, leader);
        if (outlives && cutOff == null && world.time() < until) {
            numbered(random -> {
                world.count(Count.OUTLIVED);
                world.later(between(random, 0, 100), () -> outlive(random, leader));
            });
        }
    }

    /**
     * A leader that is cut off may serve for as long as its lease lasts, and all who know that lose their memory: at
     * once, or when they follow somebody else.
     */
    private void outlive(Random random, Node leader) {
        cutOff(random, leader);
        if (random.nextBoolean()) {
            restartOthers(random, leader);
        } else {
            outlived = leader;
            world.nodes.stream().filter(node -> node != leader).forEach(node -> node.receive(node::breakOff));
        }
    }

    /** How long a leader does not hear of a server that connects: it may have given up by then, and connected anew. */
    long unheardFor() {
        long[] late = {0};
        if (hellos > 0 && times.nextInt(hellos) == 0 && world.time() < until) {
            numbered(random -> {
                world.count(Count.LATE_HELLO);
                late[0] = between(random, 100, 400);
            });
        }
        return late[0];
    }

    /**
     * Those who are about to leave the membership lose power, before they may have it on disk, and the leader is cut
     * off; or they are divided from the others, before they may know whether it is committed.
     */
    void leaving(Node leader, Set<Long> servers) {
        int kind = times.nextInt(4);
        if (kind < 2 && world.time() < until) {
            numbered(random -> {
                world.count(kind == 0 ? Count.CRASH_BEFORE_LEAVING : Count.CUT_OFF_BEFORE_LEAVING);
                world.later(between(random, 0, 60), () -> {
                    if (kind == 0) {
                        servers.forEach(server -> world.nodes.get(server.intValue()).restart(true));
                        cutOff(random, leader);
                    } else {
                        network.divide(servers, true);
                        world.later(between(random, 300, 1_500), () -> network.divide(servers, false));
                    }
                });
            });
        }
    }

    private void nextReturn() {
        long delay = 50 * MS + (long) (times.nextDouble() * 300 * MS);
        if (world.time() + delay < until) {
            world.later(delay, () -> {
                numbered(random -> returnSlowly(random, reader(random, world.nodes.get(0))));
                nextReturn();
            });
        }
    }

    /** A reader loses its connection, or its memory, and is back at once with much to apply. */
    private void returnSlowly(Random random, Node server) {
        world.count(Count.SLOW_RETURN);
        server.slowDown(between(random, 30, 95));
        boolean restarts = random.nextBoolean();
        world.later(between(random, 0, 60), () -> {
            if (restarts) {
                server.restart(true);
            } else {
                server.receive(server::breakOff);
            }
        });
    }

    private void follow(boolean wanted, Node leader) {
        if (wanted && world.time() < until) {
            numbered(random -> {
                world.count(Count.CUT_OFF_IN_OFFICE);
                long delay = between(random, 0, random.nextBoolean() ? 2 : 15);
                world.later(delay, () -> cutOff(random, leader));
            });
        }
    }

    /** One server at a time, for a while. */
    private void cutOff(Random random, Node victim) {
        int move = ++moves;
        if (cutOff != null) {
            network.isolate(cutOff.id, 0, false);
        }
        cutOff = victim;
        network.isolate(victim.id, random.nextInt(2), true);
        world.later(between(random, 100, 1_500), () -> {
            if (move == moves) {
                network.isolate(victim.id, 0, false);
                cutOff = null;
            }
        });
    }

    private interface Fault {
        void happen(Random random);
    }

    private void next() {
        long delay = 20 * MS + (long) (times.nextDouble() * pace);
        if (world.time() + delay < until) {
            world.later(delay, () -> {
                numbered(this::any);
                next();
            });
        }
    }

    private void numbered(Fault fault) {
        int mine = number++;
        if (!skipped.contains(mine)) {
            fault.happen(new Random(seed * 1_000_003 + mine));
        }
    }

    int number() {
        return number;
    }

    private void any(Random random) {
        Node server = world.nodes.get(random.nextInt(world.nodes.size()));
        Node leader = world.nodes.stream().filter(one -> one.up && one.office != null).findFirst().orElse(server);
        Node victim = random.nextInt(3) == 0 ? leader : server;
        switch (random.nextInt(16)) {
            case 0 -> victim.pause(between(random, 5, 700));
            case 1, 12 -> suspend(random, random.nextInt(3) == 0 ? victim : reader(random, victim));
            case 2 -> victim.restart(random.nextBoolean());
            case 3, 4 -> isolate(random, victim, random.nextInt(3));
            case 5, 8 -> victim.receive(victim::breakOff);
            case 9, 10 -> {
                isolate(random, leader, random.nextInt(2));
                restartOthers(random, leader);
            }
            case 6 -> server.changeRate();
            case 7 -> slowDown(random, victim, world.nodes.get(random.nextInt(world.nodes.size())));
            case 11 -> losePower(random, between(random, 1, 20));
            default -> server.slowDown(random.nextInt(3) == 0 ? 0 : between(random, 50, 400));
        }
    }

    /** A follower that answers reads, if there is one. */
    private Node reader(Random random, Node otherwise) {
        List<Node> readers = world.nodes.stream()
                .filter(one -> one.up && one.following != null && one.lease.mayRead()).toList();
        return readers.isEmpty() ? otherwise : readers.get(random.nextInt(readers.size()));
    }

    /** A machine that sleeps: what arrives at first is read when it wakes, but its connections may not last so long. */
    private void suspend(Random random, Node victim) {
        long duration = random.nextBoolean() ? between(random, 1, 200) : between(random, 200, 1_500);
        victim.suspend(duration);
        if (random.nextInt(3) != 0) {
            world.later(between(random, 5, 80), () -> {
                network.isolate(victim.id, 0, true);
                world.later(duration, () -> network.isolate(victim.id, 0, false));
            });
        }
    }

    private static long between(Random random, long low, long high) {
        return (low + (long) (random.nextDouble() * (high - low))) * MS;
    }

    /** All servers, one after the other within so long. */
    private void losePower(Random random, long within) {
        for (Node node : world.nodes) {
            world.later((long) (random.nextDouble() * within), () -> node.restart(true));
        }
    }

    /** All but one lose their processes at once, and that one loses the others. */
    private void restartOthers(Random random, Node survivor) {
        for (Node node : world.nodes) {
            if (node != survivor) {
                node.restart(random.nextBoolean());
            }
        }
    }

    private void isolate(Random random, Node victim, int direction) {
        network.isolate(victim.id, direction, true);
        world.later(between(random, 30, 1_800), () -> network.isolate(victim.id, direction, false));
    }

    private void slowDown(Random random, Node from, Node to) {
        network.slow(from.id, to.id, between(random, 10, 250));
        world.later(between(random, 100, 800), () -> network.slow(from.id, to.id, 0));
    }
}

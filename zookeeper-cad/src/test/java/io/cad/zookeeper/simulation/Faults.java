// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.simulation;

import java.util.Random;
import java.util.Set;

/** What goes wrong in one life, and when. Each fault has a number and its own random, so that one can be left out. */
final class Faults {
    private static final long MS = Simulation.MS;

    private final Simulation world;
    private final Network network;
    private final Random times;
    private final long seed;
    private final long until;
    private final long pace;
    private final Set<Integer> skipped;
    private int number;

    /** @param until when faults end, so that what was lost is read afterwards */
    Faults(Simulation world, Network network, long seed, long until, Set<Integer> skipped) {
        this.world = world;
        this.network = network;
        this.seed = seed;
        this.times = new Random(~seed);
        this.until = until;
        this.skipped = skipped;
        this.pace = times.nextBoolean() ? 300 * MS : 1_200 * MS;
    }

    /** In each life all servers lose power once; everything else is chance. */
    void begin() {
        world.later(600 * MS + times.nextInt(600) * MS, () -> numbered(random -> losePower(random, 0)));
        next();
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
            case 1 -> victim.suspend(between(random, 1, random.nextBoolean() ? 200 : 1_500));
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

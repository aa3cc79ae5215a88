// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.crash;

import io.cad.zookeeper.core.Indices;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Cuts the power of a traced life before each of its calls and after the last, in every way that a disk
 * may take it, or in a seeded choice of ways where there are too many; starts the server on each tree
 * that is left and asks the model. A server that starts is also made to append, stop and start again.
 */
final class Explorer {

    /** Up to so many undecided units every subset is tried. */
    private final int exhaustive;
    /** Beyond that, so many chosen subsets. */
    private final int samples;
    private final Random random;
    private final Path scratch;

    final List<String> violations = new ArrayList<>();
    final Map<Trace.Kind, int[]> crashedAt = new EnumMap<>(Trace.Kind.class);
    int calls;
    int points;
    int exhaustivePoints;
    int states;
    private final Set<String> seen = new HashSet<>();
    private boolean stopAtFirst;

    Explorer(Path scratch, int exhaustive, int samples, long seed) {
        this.scratch = scratch;
        this.exhaustive = exhaustive;
        this.samples = samples;
        this.random = new Random(seed);
    }

    /** One violation is enough: for variants that must fail. */
    Explorer stopAtFirst() {
        stopAtFirst = true;
        return this;
    }

    /** Explores a trace. */
    Explorer run(List<Trace.Op> ops) throws IOException {
        DiskImage image = new DiskImage();
        List<String> said = new ArrayList<>();
        for (Trace.Op op : ops) {
            if (op.kind() == Trace.Kind.SAY) {
                said.add(op.words());
                continue;
            }
            calls++;
            crashedAt.computeIfAbsent(op.kind(), kind -> new int[1])[0]++;
            crash(image, said, "before call " + calls + ", " + op);
            image.apply(op);
            if (stopAtFirst && !violations.isEmpty()) {
                return this;
            }
        }
        crash(image, said, "after the last call");
        return this;
    }

    /** Cuts the power after each start that followed a kill. */
    Explorer run(Kills kills) throws IOException {
        for (Kills.Kill kill : kills.kills) {
            crash(kill.image(), kill.said(), kill.where() + ", started again, power cut");
            if (stopAtFirst && !violations.isEmpty()) {
                return this;
            }
        }
        return this;
    }

    /** Calls at which the power was cut. */
    int crashes() {
        return crashedAt.values().stream().mapToInt(count -> count[0]).sum();
    }

    private void crash(DiskImage image, List<String> said, String where) throws IOException {
        points++;
        List<DiskImage.Unit> units = image.units();
        for (BitSet spared : choices(units.size())) {
            Map<String, byte[]> tree = image.after(units, spared);
            if (!seen.add(fingerprint(tree, said))) {
                continue;
            }
            states++;
            String wrong = restart(tree, said);
            if (wrong != null) {
                violations.add(where + ", spared " + spared + " of " + units.size() + ": " + wrong);
                if (stopAtFirst) {
                    return;
                }
            }
        }
    }

    private List<BitSet> choices(int units) {
        List<BitSet> choices = new ArrayList<>();
        if (units <= exhaustive) {
            exhaustivePoints++;
            for (long bits = 0; bits < 1L << units; bits++) {
                choices.add(BitSet.valueOf(new long[] {bits}));
            }
            return choices;
        }
        BitSet all = new BitSet();
        all.set(0, units);
        choices.add(new BitSet());
        choices.add(all);
        for (int i = 0; i < samples; i++) {
            double share = random.nextDouble();
            BitSet some = new BitSet();
            for (int unit = 0; unit < units; unit++) {
                some.set(unit, random.nextDouble() < share);
            }
            choices.add(some);
        }
        return choices;
    }

    private static String fingerprint(Map<String, byte[]> tree, List<String> said) {
        StringBuilder text = new StringBuilder().append(said.size());
        tree.forEach((path, bytes) -> text.append('|').append(path).append(':')
            .append(bytes == null ? 0 : bytes.length).append(':').append(Arrays.hashCode(bytes)));
        return text.toString();
    }

    /** Null if the server starts with a history that may be, and goes on. */
    private String restart(Map<String, byte[]> tree, List<String> said) throws IOException {
        Path disk = Files.createTempDirectory(scratch, "disk");
        try {
            DiskImage.write(tree, disk);
            Promise promise = new Promise();
            said.forEach(promise::hear);
            long last;
            try (Server server = new Server(disk)) {
                String wrong = promise.verdict(server);
                if (wrong != null) {
                    return wrong;
                }
                last = Math.max(server.last(), Indices.first(server.epoch("currentEpoch"))) + 1;
                server.append(last);
                server.files.commit();
                promise.hear("append " + last);
                promise.hear("durable " + last);
            }
            try (Server again = new Server(disk)) {
                String wrong = again.history().contains(last) ? null : Indices.format(last) + " is gone";
                return wrong == null ? null : "the second start: " + wrong;
            }
        } catch (IOException | RuntimeException e) {
            return e.toString();
        } finally {
            delete(disk);
        }
    }

    private static void delete(Path directory) throws IOException {
        try (Stream<Path> all = Files.walk(directory)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Raw data of one failure of one system, one JSON line.
 *
 * @param foreignCores cores that processes other than ours kept busy just before
 * @param setup fingerprint of what must not change between the trials of a fault
 * @param readsHeld reads at the survivors that met data which was not durable
 * @param answers what the clients of the survivors saw, by what they asked for
 * @param refusal why the server would not start again on what it had; empty if it did, or had not ended
 */
record FailoverResult(String fault, String system, int trial, String setup, long seed, double foreignCores, double readsHeld,
        Map<Probe.Kind, Answers> answers, String refusal) {

    /** Raw data of before say nothing of refusals: there a refused start ended the run. */
    FailoverResult {
        refusal = refusal == null ? "" : refusal;
    }

    boolean refusedToStart() {
        return !refusal.isEmpty();
    }

    /**
     * Answers of one kind, in ms.
     *
     * @param silence longest time in which no survivor gave one, from the last one before the failure on
     * @param back from the failure to the end of that time
     * @param waits how long each took that came after the failure
     * @param longest the longest of these for each client: a long wait is one among many short ones
     */
    record Answers(double silence, double back, List<Double> waits, List<Double> longest) {

        static Answers of(List<Probe.Wait> waits, long failure) {
            List<Long> ends = waits.stream().map(Probe.Wait::end).sorted().collect(Collectors.toList());
            long last = failure;
            long silence = 0;
            long back = failure;
            for (long end : ends) {
                if (end <= failure) {
                    last = end;
                } else {
                    if (end - last > silence) {
                        silence = end - last;
                        back = end;
                    }
                    last = end;
                }
            }
            List<Double> after = new ArrayList<>();
            Map<Integer, Double> longest = new TreeMap<>();
            for (Probe.Wait wait : waits) {
                if (wait.end() > failure) {
                    after.add(rounded(wait.millis()));
                    longest.merge(wait.client(), rounded(wait.millis()), Math::max);
                }
            }
            return new Answers(rounded(silence / 1e6), rounded((back - failure) / 1e6), after, List.copyOf(longest.values()));
        }

        private static double rounded(double millis) {
            return Math.round(millis * 100) / 100.0;
        }
    }

    static Map<Probe.Kind, Answers> answers(Collection<Probe.Wait> waits, long failure) {
        Map<Probe.Kind, Answers> answers = new EnumMap<>(Probe.Kind.class);
        for (Probe.Kind kind : Probe.Kind.values()) {
            answers.put(kind, Answers.of(waits.stream().filter(wait -> wait.kind() == kind).collect(Collectors.toList()), failure));
        }
        return answers;
    }

    static Path file(Path directory, Fault fault) {
        return directory.resolve(fault.label() + ".jsonl");
    }
}

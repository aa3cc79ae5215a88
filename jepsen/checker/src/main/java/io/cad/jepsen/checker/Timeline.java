// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;

/** Walks through reads as they began, with what had completed by then. Touching intervals overlap. */
final class Timeline {
    private final List<Operation> byInvocation;
    private final List<Completions> completions = new ArrayList<>();

    private static final class Completions {
        final List<Operation> sorted;
        final Consumer<Operation> sink;
        int next;

        Completions(List<Operation> operations, Consumer<Operation> sink) {
            this.sorted = sortedBy(operations, Operation::returned);
            this.sink = sink;
        }

        void before(long time) {
            while (next < sorted.size() && sorted.get(next).returned() < time) {
                sink.accept(sorted.get(next++));
            }
        }
    }

    Timeline(List<Operation> reads) {
        byInvocation = sortedBy(reads, Operation::invoked);
    }

    /** These are passed on when they have completed. */
    Timeline completing(List<Operation> operations, Consumer<Operation> sink) {
        completions.add(new Completions(operations, sink));
        return this;
    }

    void walk(Consumer<Operation> begins) {
        for (Operation read : byInvocation) {
            completions.forEach(completion -> completion.before(read.invoked()));
            begins.accept(read);
        }
    }

    private static List<Operation> sortedBy(List<Operation> operations, ToLongFunction<Operation> time) {
        List<Operation> sorted = new ArrayList<>(operations);
        sorted.sort(Comparator.comparingLong(time));
        return sorted;
    }
}

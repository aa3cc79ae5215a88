// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import io.cad.jepsen.checker.Operation.Kind;
import io.cad.jepsen.checker.Operation.Outcome;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * A store with several replicas that crashes now and then, and its clients. A good one never lets a read go back: what
 * any read has shown stays, and later reads include it; writes that nobody read may be lost. A bad one reads and loses
 * what it likes. Times are small, so that intervals touch.
 */
final class RandomHistories {
    /** One update of the log; each links to the one before it and to the former state of its item. */
    private record Entry(int key, Object payload, Index at, long number, Index created, boolean present, String uid,
            Entry before, int length, Entry ofKey) {
    }

    private final Random random;
    private final boolean chain;
    private final boolean good;
    private final int keys;
    private final boolean deletes;
    private final boolean tellsCreation;
    private final HistoryBuilder builder = new HistoryBuilder();
    private final List<Entry> log = new ArrayList<>();
    private final long[] freeAt = new long[8];
    private long epoch = 1;
    private long counter;
    private long position;
    private long serial;
    /** What reads that completed by a time have shown, as length of the log. */
    private final List<long[]> shown = new ArrayList<>();
    private int mostShown;

    RandomHistories(long seed, boolean chain, boolean good, int keys) {
        this.random = new Random(seed * 31 + (chain ? 7 : 0));
        this.chain = chain;
        this.good = good;
        this.keys = keys;
        this.deletes = !chain && random.nextBoolean();
        this.tellsCreation = random.nextBoolean();
        for (int key = 0; key < keys; key++) {
            builder.key("k" + key);
        }
    }

    History make(int operations) {
        long now = 0;
        for (int i = 0; i < operations; i++) {
            now += random.nextInt(3);
            int process = random.nextInt(freeAt.length);
            now = Math.max(now, freeAt[process]);
            long invoked = now - random.nextInt((int) (now - freeAt[process]) + 1) % 4;
            long returned = now + random.nextInt(4);
            freeAt[process] = returned + 1;
            int kind = random.nextInt(20);
            if (kind == 0) {
                crash();
            } else if (kind < 9) {
                change(process, random.nextInt(keys), invoked, returned);
            } else {
                read(process, random.nextInt(keys), invoked, returned);
            }
        }
        return builder.build();
    }

    private void crash() {
        int least = good ? mostShown : 0;
        int kept = least + random.nextInt(log.size() - least + 1);
        log.subList(kept, log.size()).clear();
        epoch++;
        counter = 0;
    }

    private Entry stateOf(int key, int length) {
        for (int i = length - 1; i >= 0; i--) {
            if (log.get(i).key == key) {
                return log.get(i);
            }
        }
        return null;
    }

    private void change(int process, int key, long invoked, long returned) {
        Entry old = stateOf(key, log.size());
        boolean exists = old != null && old.present;
        boolean delete = deletes && exists && random.nextInt(4) == 0;
        Index at = Index.of(epoch, ++counter);
        Object payload = ++serial;
        Entry last = log.isEmpty() ? null : log.get(log.size() - 1);
        Entry entry = new Entry(key, delete ? null : payload, at, exists && !delete ? old.number + 1 : 0,
                exists ? old.created : at, !delete, "u" + serial, last, log.size() + 1, old);
        Outcome outcome = List.of(Outcome.OK, Outcome.OK, Outcome.OK, Outcome.INFO, Outcome.FAIL)
                .get(random.nextInt(5));
        if (outcome != Outcome.FAIL && (outcome == Outcome.OK || random.nextBoolean())) {
            log.add(entry);
        } else {
            counter--;
        }
        Facts asked = delete ? Facts.NONE : chain
                ? new Facts(true, payload, null, -1, null, null, entry.uid, null, false) : Facts.written(payload);
        Facts got = outcome != Outcome.OK ? Facts.NONE : delete ? Facts.absent(at) : facts(entry);
        add(delete ? Kind.DELETE : Kind.WRITE, outcome, process, key, invoked, returned, asked, got);
    }

    private void read(int process, int key, long invoked, long returned) {
        int least = 0;
        for (long[] one : shown) {
            least = one[0] < invoked ? Math.max(least, (int) one[1]) : least;
        }
        least = good ? Math.min(least, log.size()) : Math.max(0, log.size() - 8);
        int length = least + random.nextInt(log.size() - least + 1);
        Entry entry = stateOf(key, length);
        Facts got = facts(entry);
        if (!good && !chain && random.nextInt(6) == 0) {
            got = new Facts(got.present(), got.payload(), got.version(), random.nextInt(3), got.created(), null, null,
                    null, false);
        }
        Outcome outcome = random.nextInt(10) == 0 ? Outcome.INFO : Outcome.OK;
        if (outcome == Outcome.OK && length > 0) {
            shown.add(new long[] {returned, length});
            mostShown = Math.max(mostShown, length);
        }
        Kind kind = !chain && entry != null && random.nextInt(8) == 0 ? Kind.WATCH : Kind.READ;
        add(kind, outcome, process, key, invoked, returned, Facts.NONE, outcome == Outcome.OK ? got : Facts.NONE);
    }

    private Facts facts(Entry entry) {
        if (chain) {
            return entry == null ? Facts.NONE
                    : Facts.link(entry.payload, entry.uid, entry.before == null ? null : entry.before.uid, entry.length);
        }
        if (entry == null || !entry.present) {
            Index at = entry == null ? Index.NEVER : entry.at;
            return Facts.absent(random.nextInt(3) == 0 ? null : at);
        }
        return Facts.present(entry.payload, entry.at, entry.number, tellsCreation ? entry.created : null);
    }

    private void add(Kind kind, Outcome outcome, long process, int key, long invoked, long returned, Facts asked,
            Facts got) {
        // In a good one nothing touches: what is invoked in the instant of a completion could explain it, but need not.
        long from = good ? 2 * invoked : invoked;
        long to = good ? 2 * returned + 1 : returned;
        builder.add(new Operation(kind, outcome, position++, process, key, from, to, asked, got, null));
    }

    /** The same history with some operations replaced. */
    static History with(History history, Map<Operation, Operation> replaced) {
        HistoryBuilder builder = new HistoryBuilder();
        history.keys().forEach(builder::key);
        history.operations().forEach(op -> builder.add(replaced.getOrDefault(op, op)));
        return builder.build();
    }

    static History with(History history, Operation old, Facts got) {
        Map<Operation, Operation> replaced = new HashMap<>();
        replaced.put(old, new Operation(old.kind(), old.outcome(), old.position(), old.process(), old.key(),
                old.invoked(), old.returned(), old.asked(), got, old.node()));
        return with(history, replaced);
    }
}

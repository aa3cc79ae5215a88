// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import clojure.lang.AFn;
import clojure.lang.BigInt;
import clojure.lang.EdnReader;
import clojure.lang.ILookup;
import clojure.lang.IPersistentMap;
import clojure.lang.Keyword;
import clojure.lang.LineNumberingPushbackReader;
import clojure.lang.PersistentArrayMap;
import io.cad.jepsen.checker.Operation.Kind;
import io.cad.jepsen.checker.Operation.Outcome;
import java.io.IOException;
import java.io.Reader;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads a history as Jepsen writes it: one op after the other, or one vector of them. An invocation belongs to the next
 * op of its process. Ops of the nemesis, and operations of names that mean nothing here, are left out.
 */
public final class HistoryReader {
    private static final Keyword TYPE = key("type");
    private static final Keyword F = key("f");
    private static final Keyword PROCESS = key("process");
    private static final Keyword TIME = key("time");
    private static final Keyword INDEX = key("index");
    private static final Keyword VALUE = key("value");
    private static final Keyword NODE = key("node");
    private static final Keyword T0 = key("t0");
    private static final Keyword T1 = key("t1");
    private static final Keyword V = key("v");
    private static final Keyword VER = key("ver");
    private static final Keyword N = key("n");
    private static final Keyword CZ = key("cz");
    private static final Keyword H = key("h");
    private static final Keyword UID = key("uid");
    private static final Keyword PREV = key("prev");
    private static final Keyword EVENT = key("event");
    private static final Keyword DELETED = key("deleted");
    private static final Keyword INVOKE = key("invoke");
    private static final Map<Keyword, Outcome> OUTCOMES =
            Map.of(key("ok"), Outcome.OK, key("fail"), Outcome.FAIL, key("info"), Outcome.INFO);
    private static final Map<Keyword, Kind> KINDS = Map.of(key("read"), Kind.READ, key("write"), Kind.WRITE,
            key("delete"), Kind.DELETE, key("watch"), Kind.WATCH, key("log"), Kind.LOG);
    private static final Object END = new Object();

    /** Absent from a map, which is not the same as nil. */
    private static final Object MISSING = new Object();

    private record Invocation(Kind kind, Object f, int key, long time, long position, Facts asked) {
    }

    private final HistoryBuilder builder = new HistoryBuilder();
    private final Map<Long, Invocation> open = new HashMap<>();
    private final LineNumberingPushbackReader in;
    private long position;

    private HistoryReader(Reader reader) {
        in = new LineNumberingPushbackReader(reader, 1 << 16);
    }

    private static Keyword key(String name) {
        return Keyword.intern(null, name);
    }

    /** @throws BadHistoryException if the file holds something else */
    public static History read(Path file) throws IOException {
        try (Reader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
            return read(reader);
        }
    }

    /** @throws BadHistoryException if the text is something else; its message names the line */
    public static History read(Reader reader) {
        return new HistoryReader(reader).read();
    }

    private History read() {
        // Records and other tagged values stand for what they contain.
        IPersistentMap options = new PersistentArrayMap(new Object[] {key("eof"), END, key("default"), new AFn() {
            @Override
            public Object invoke(Object tag, Object value) {
                return value;
            }
        }});
        while (true) {
            Object form;
            try {
                form = EdnReader.read(in, options);
            } catch (RuntimeException e) {
                throw bad("no edn: " + rootMessage(e));
            }
            if (form == END) {
                break;
            }
            if (form instanceof List<?> all) {
                all.forEach(this::op);
            } else {
                op(form);
            }
        }
        open.forEach((process, invocation) -> indeterminate(process, invocation));
        return builder.build();
    }

    private static String rootMessage(Throwable error) {
        Throwable root = error;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root.getMessage();
    }

    private BadHistoryException bad(String what) {
        return new BadHistoryException("line " + in.getLineNumber() + ": " + what);
    }

    private void op(Object form) {
        if (!(form instanceof IPersistentMap op)) {
            throw bad("an op is a map, not " + form);
        }
        Object index = op.valAt(INDEX);
        long at = index instanceof Long ? (Long) index : position;
        position++;
        Object process = op.valAt(PROCESS);
        if (process == null) {
            throw bad("an op without :process: " + op);
        }
        if (process instanceof Long client) {
            if (INVOKE.equals(op.valAt(TYPE))) {
                invoked(client, op, at);
            } else {
                completed(client, op, at);
            }
        }
    }

    private void invoked(long process, IPersistentMap op, long at) {
        Object f = op.valAt(F);
        Kind kind = f instanceof Keyword ? KINDS.get(f) : null;
        if (kind == null) {
            builder.ignored(String.valueOf(f));
        }
        int item = kind == null || kind == Kind.LOG ? -1 : item(op);
        Facts asked = kind == Kind.WRITE ? facts(true, details(op)) : Facts.NONE;
        Invocation before = open.put(process, new Invocation(kind, f, item, time(op, TIME), at, asked));
        if (before != null) {
            indeterminate(process, before);
        }
    }

    private void indeterminate(long process, Invocation invocation) {
        if (invocation.kind != null) {
            builder.add(new Operation(invocation.kind, Outcome.INFO, invocation.position, process, invocation.key,
                    invocation.time, Long.MAX_VALUE, invocation.asked, Facts.NONE, null));
        }
    }

    private void completed(long process, IPersistentMap op, long at) {
        Outcome outcome = op.valAt(TYPE) instanceof Keyword type ? OUTCOMES.get(type) : null;
        if (outcome == null) {
            throw bad(":type is :invoke, :ok, :fail or :info, not " + op.valAt(TYPE));
        }
        Invocation invocation = open.remove(process);
        if (invocation == null) {
            throw bad("process " + process + " completes what it has not invoked");
        }
        if (!invocation.f.equals(op.valAt(F))) {
            throw bad("process " + process + " invoked " + invocation.f + " and completes " + op.valAt(F));
        }
        if (invocation.kind == null) {
            return;
        }
        boolean timed = op.valAt(T0) != null && op.valAt(T1) != null;
        long from = timed ? time(op, T0) : invocation.time;
        long to = timed ? time(op, T1) : time(op, TIME);
        if (to < from) {
            throw bad("process " + process + " completes " + invocation.f + " before it invoked it");
        }
        Facts got = outcome == Outcome.OK ? got(invocation, op) : Facts.NONE;
        builder.add(new Operation(invocation.kind, outcome, at, process, invocation.key, from, to, invocation.asked,
                got, op.valAt(NODE)));
    }

    private Facts got(Invocation invocation, IPersistentMap op) {
        if (invocation.kind == Kind.LOG) {
            dump(op.valAt(VALUE));
            return Facts.NONE;
        }
        if (item(op) != invocation.key) {
            throw bad("the key of the completion is not that of the invocation: " + op.valAt(VALUE));
        }
        ILookup details = details(op);
        return switch (invocation.kind) {
            case READ -> facts(details.valAt(V) != null, details);
            case WRITE -> facts(true, details);
            case WATCH -> facts(!DELETED.equals(details.valAt(EVENT)), details);
            default -> facts(false, details);
        };
    }

    private void dump(Object value) {
        if (!(value instanceof List<?> entries)) {
            throw bad("the value of a :log is a list of [key [epoch counter]], not " + value);
        }
        for (Object entry : entries) {
            if (!(entry instanceof List<?> pair) || pair.size() != 2) {
                throw bad("an entry of a :log is [key [epoch counter]], not " + entry);
            }
            builder.dumped(pair.get(0), index(pair.get(1), "the index of an entry of a :log"));
        }
    }

    // --- values

    private int item(IPersistentMap op) {
        return builder.key(pair(op).get(0));
    }

    private List<?> pair(IPersistentMap op) {
        if (op.valAt(VALUE) instanceof List<?> pair && pair.size() == 2) {
            return pair;
        }
        throw bad("the value of a " + op.valAt(F) + " is [key details], not " + op.valAt(VALUE));
    }

    private ILookup details(IPersistentMap op) {
        if (pair(op).get(1) instanceof IPersistentMap details) {
            return details;
        }
        throw bad("[key details] with a map of details is expected, not " + op.valAt(VALUE));
    }

    private Facts facts(boolean present, ILookup details) {
        Object previous = details.valAt(PREV, MISSING);
        return new Facts(present, details.valAt(V), index(details.valAt(VER), ":ver"), number(details.valAt(N)),
                index(details.valAt(CZ), ":cz"), index(details.valAt(H), ":h"), details.valAt(UID),
                previous == MISSING ? null : previous, previous != MISSING);
    }

    private Index index(Object value, String what) {
        if (value == null) {
            return null;
        }
        if (value instanceof List<?> pair && pair.size() == 2 && pair.get(0) instanceof Long epoch) {
            if (pair.get(1) instanceof Long counter) {
                return Index.of(epoch, counter);
            }
            if (pair.get(1) instanceof BigInt counter) {
                return Index.of(epoch, counter.toBigInteger());
            }
            if (pair.get(1) instanceof BigInteger counter) {
                return Index.of(epoch, counter);
            }
        }
        throw bad(what + " is [epoch counter], not " + value);
    }

    private long number(Object value) {
        if (value == null) {
            return -1;
        }
        if (value instanceof Long number && number >= 0) {
            return number;
        }
        throw bad(":n is a number from 0 on, not " + value);
    }

    private long time(IPersistentMap op, Keyword which) {
        if (op.valAt(which) instanceof Long time) {
            return time;
        }
        throw bad(which + " is a number of nanoseconds, not " + op.valAt(which));
    }
}

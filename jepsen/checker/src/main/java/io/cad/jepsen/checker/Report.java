// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import io.cad.jepsen.checker.Verdict.Lawful;
import io.cad.jepsen.checker.Verdict.Violation;
import io.cad.jepsen.checker.Verdict.Wrong;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** A verdict in words, for people and for programs. */
public final class Report {
    private static final int SHOWN = 5;

    private final Verdict verdict;
    private final History history;

    public Report(Verdict verdict) {
        this.verdict = verdict;
        this.history = verdict.history();
    }

    /** A few lines: the verdict, the first violations, what was looked at. */
    public String text() {
        StringBuilder out = new StringBuilder();
        out.append(headline()).append('\n');
        List<Violation> violations = verdict.violations();
        for (Violation violation : violations.subList(0, Math.min(SHOWN, violations.size()))) {
            out.append("  ").append(describe(violation)).append('\n');
        }
        if (violations.size() > SHOWN) {
            out.append("  and ").append(violations.size() - SHOWN).append(" more\n");
        }
        out.append(String.format("%d operations on %d items, %d reads, %d of them after another read%n",
                history.operations().size(), history.keys().size(), verdict.reads(), verdict.comparable()));
        out.append("lawful:");
        for (Lawful what : Lawful.values()) {
            out.append(' ').append(name(what)).append(' ').append(verdict.lawful(what).size());
        }
        out.append(verdict.undecided() == 0 ? "\n" : "; undecided pairs of reads " + verdict.undecided() + "\n");
        if (!history.ignored().isEmpty()) {
            out.append("left out: ").append(history.ignored()).append('\n');
        }
        return out.toString();
    }

    private String headline() {
        if (!verdict.isValid()) {
            return "VIOLATED: " + verdict.violations().size() + " reads went back";
        }
        return verdict.isVacuous() ? "UNDECIDED: no read began after another one had completed"
                : "holds: no read went back";
    }

    /** One object. Operations are named by the :index of their completion. */
    public String json() {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("valid", verdict.isValid() ? verdict.isVacuous() ? "unknown" : true : false);
        all.put("style", name(history.style()));
        all.put("operations", history.operations().size());
        all.put("items", history.keys().size());
        all.put("reads", verdict.reads());
        all.put("comparable-reads", verdict.comparable());
        Map<String, Integer> classes = new TreeMap<>();
        for (Wrong wrong : Wrong.values()) {
            classes.put(name(wrong), 0);
        }
        List<Object> violations = new ArrayList<>();
        for (Violation violation : verdict.violations()) {
            classes.merge(name(violation.wrong()), 1, Integer::sum);
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("class", name(violation.wrong()));
            one.put("earlier", violation.earlier().position());
            one.put("later", violation.later().position());
            one.put("lacks", violation.lacks());
            one.put("why", describe(violation));
            violations.add(one);
        }
        all.put("classes", classes);
        all.put("violations", violations);
        Map<String, Object> lawful = new LinkedHashMap<>();
        for (Lawful what : Lawful.values()) {
            lawful.put(name(what), verdict.lawful(what).size());
        }
        all.put("lawful", lawful);
        all.put("undecided-pairs", verdict.undecided());
        all.put("ignored", history.ignored());
        return Json.of(all);
    }

    private String describe(Violation violation) {
        return name(violation.wrong()) + ": " + describe(violation.earlier()) + "; " + describe(violation.later())
                + " began later and lacks " + violation.lacks();
    }

    private String describe(Operation op) {
        Facts got = op.got();
        String value = !got.present() ? "absent" : got.payload() == null ? "present" : got.payload().toString();
        Object version = got.uid() == null ? got.version() : got.uid();
        return "op " + op.position() + " (process " + op.process() + (op.node() == null ? "" : " at " + op.node())
                + ") " + (op.kind() == Operation.Kind.READ ? "read " : "was told of ") + history.keys().get(op.key())
                + " as " + value + (version == null ? "" : "@" + version);
    }

    private static String name(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import clojure.lang.EdnReader;
import clojure.lang.IPersistentMap;
import clojure.lang.Keyword;
import clojure.lang.PersistentArrayMap;
import io.cad.jepsen.checker.Verdict.Lawful;
import io.cad.jepsen.checker.Verdict.Violation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Hand-made histories with verdicts; src/test/resources/histories/README.md says what each one shows. */
class FixturesTest {
    private static final Path HISTORIES = Path.of("src/test/resources/histories");

    static Stream<String> cases() throws IOException {
        try (Stream<Path> all = Files.list(HISTORIES)) {
            return all.filter(Files::isDirectory).map(path -> path.getFileName().toString()).sorted().toList()
                    .stream();
        }
    }

    @Test
    void allAreThere() throws IOException {
        assertEquals(40, cases().count());
    }

    @ParameterizedTest
    @MethodSource("cases")
    void agrees(String name) throws IOException {
        Path directory = HISTORIES.resolve(name);
        IPersistentMap wanted = (IPersistentMap) EdnReader.readString(
                Files.readString(directory.resolve("verdict.edn")), PersistentArrayMap.EMPTY);
        Verdict verdict = Checker.check(HistoryReader.read(directory.resolve("history.edn")));

        assertEquals(value(wanted, "valid?"), verdict.isValid());
        assertEquals(new TreeSet<>(numbers(value(wanted, "bad-reads"))), verdict.violations().stream()
                .map(violation -> violation.later().position()).collect(Collectors.toCollection(TreeSet::new)));
        IPersistentMap classes = (IPersistentMap) value(wanted, "classes");
        for (Violation found : verdict.violations()) {
            String wrong = found.wrong().name().toLowerCase(Locale.ROOT);
            List<Long> pair = List.of(found.earlier().position(), found.later().position());
            assertTrue(((Collection<?>) value(classes, wrong)).contains(pair), wrong + " has no pair " + pair);
        }
        IPersistentMap info = (IPersistentMap) value(wanted, "info");
        for (Lawful what : Lawful.values()) {
            Object reads = value(info, what.name().toLowerCase(Locale.ROOT).replace('_', '-'));
            if (reads != null) {
                assertEquals(new TreeSet<>(numbers(reads)), positions(verdict.lawful(what)), what.name());
            }
        }
        if (value(info, "undecided") != null) {
            assertEquals(value(info, "undecided"), verdict.undecided());
        }
    }

    private static Set<Long> positions(List<Operation> operations) {
        return operations.stream().map(Operation::position).collect(Collectors.toCollection(TreeSet::new));
    }

    private static Object value(IPersistentMap map, String key) {
        return map.valAt(Keyword.intern(null, key));
    }

    @SuppressWarnings("unchecked")
    private static List<Long> numbers(Object list) {
        return (List<Long>) list;
    }
}

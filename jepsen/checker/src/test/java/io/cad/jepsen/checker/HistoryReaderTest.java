// SPDX-License-Identifier: Apache-2.0
package io.cad.jepsen.checker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.jepsen.checker.Operation.Outcome;
import java.io.StringReader;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HistoryReaderTest {
    private static final String WRITE = """
            {:index 0, :time 1, :type :invoke, :process 0, :f :write, :value ["/a b" {:v 1}]}
            {:index 1, :time 2, :type :ok, :process 0, :f :write, :value ["/a b" {:v 1, :ver [1 9], :n 0}]}
            """;
    private static final String READ = """
            {:time 3, :type :invoke, :process 1, :f :read, :value ["/a b" nil]}
            {:time 4, :type :ok, :process 1, :f :read, :value ["/a b" {:v 1, :ver [1 9], :n 0}]}
            """;
    private static final String OLDER = READ.replace("{:time 3", "{:time 13").replace("{:time 4", "{:time 14")
            .replace("[1 9]", "[1 8]");

    private static History read(String text) {
        return HistoryReader.read(new StringReader(text));
    }

    @Test
    void takesAVectorRecordsAndUnknownTags() {
        String record = READ.replace("{:time 4", "#jepsen.history.Op{:error #object[x], :time 4");
        Verdict verdict = Checker.check(read("[" + WRITE + record + OLDER + "]"));
        assertEquals(2, verdict.reads());
        assertFalse(verdict.isValid());
    }

    @Test
    void comparesCountersOfAnySize() {
        String large = READ.replace("[1 9]", "[1 90000000000000000000000]");
        assertFalse(Checker.check(read(WRITE + large + OLDER)).isValid());
        assertTrue(Checker.check(read(WRITE + READ
                + OLDER.replace("[1 8], :n 0", "[1 90000000000000000000000], :n 1"))).isValid());
    }

    @Test
    void anInvocationMayLackItsCompletion() {
        History history = read(READ.lines().findFirst().orElseThrow() + WRITE);
        assertEquals(1, history.operations().stream().filter(op -> op.outcome() == Outcome.INFO).count());
        assertTrue(Checker.check(history).isVacuous());
    }

    @Test
    void otherOperationsAreCountedAndLeftOut() {
        History history = read(WRITE + "{:time 5 :type :invoke :process 3 :f :cas :value 1}"
                + "{:time 6 :type :ok :process 3 :f :cas :value 1}"
                + "{:time 7 :type :info :process :nemesis :f :read :value [\"/a b\" nil]}");
        assertEquals(1, history.operations().size());
        assertEquals(Map.of(":cas", 1), history.ignored());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "{:time 1 :type :invoke :process 0 :f :read :value [:x nil]                 | no edn: EOF while reading, starting at line 1",
        "7                                                                          | an op is a map",
        "{:time 1 :type :invoke :f :read :value [:x nil]}                           | without :process",
        "{:time 1 :type :ok :process 0 :f :read :value [:x {:v 1}]}                 | has not invoked",
        "{:type :invoke :process 0 :f :read :value [:x nil]}                        | :time is a number",
        "{:time 1 :type :invoke :process 0 :f :read :value :x}                      | is [key details]",
        "{:time 1 :type :invoke :process 0 :f :write :value [:x 1]}                 | with a map of details",
        "{:time 1 :type :invoke :process 0 :f :write :value [:x {:v 1 :ver 3}]}     | :ver is [epoch counter]",
        "{:time 1 :type :invoke :process 0 :f :write :value [:x {:v 1 :n -1}]}      | :n is a number from 0 on"})
    void saysWhatIsWrongWithBadInput(String text, String message) {
        BadHistoryException refused = assertThrows(BadHistoryException.class, () -> read(text));
        assertTrue(refused.getMessage().contains(message), refused.getMessage());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        ":type :done :f :read :value [:x {:v 1}] :time 2   | :type is :invoke, :ok, :fail or :info",
        ":type :ok :f :write :value [:x {:v 1}] :time 2    | and completes :write",
        ":type :ok :f :read :value [:y {:v 1}] :time 2     | is not that of the invocation",
        ":type :ok :f :read :value [:x 1] :time 2          | with a map of details",
        ":type :ok :f :read :value [:x {:v 1}] :time 0     | before it invoked it"})
    void saysWhatIsWrongWithACompletion(String rest, String message) {
        String text = "{:time 1 :type :invoke :process 0 :f :read :value [:x nil]}\n{:process 0 " + rest + "}";
        BadHistoryException refused = assertThrows(BadHistoryException.class, () -> read(text));
        assertTrue(refused.getMessage().startsWith("line 2: "), refused.getMessage());
        assertTrue(refused.getMessage().contains(message), refused.getMessage());
    }

    @Test
    void refusesTwoStylesAndContradictions() {
        String link = "{:time 1 :type :invoke :process 5 :f :write :value [:x {:v 1 :uid 1}]}\n"
                + "{:time 2 :type :ok :process 5 :f :write :value [:x {:v 1 :uid 1 :prev %s :n %d}]}\n";
        assertThrows(BadHistoryException.class, () -> read(WRITE + link.formatted("nil", 1)));
        String one = link.formatted("nil", 1);
        assertTrue(Checker.check(read(one)).isValid());
        assertThrows(BadHistoryException.class, () -> Checker.check(read(one + link.formatted("nil", 2))));
        assertThrows(BadHistoryException.class, () -> Checker.check(read(one + link.formatted("7", 1))));
    }
}

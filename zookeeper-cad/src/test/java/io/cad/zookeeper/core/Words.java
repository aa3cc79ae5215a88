// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;

/** The words of one line of a vector, taken from the front. */
final class Words {
    /** The vector itself is wrong: an unknown word, a missing number. Never the fault of a core. */
    static final class SyntaxError extends RuntimeException {
        private static final long serialVersionUID = 1;

        SyntaxError(String message) {
            super(message);
        }
    }

    private final Deque<String> words;
    private final String line;

    Words(String line) {
        this.line = line.strip();
        this.words = new ArrayDeque<>(Arrays.asList(this.line.split("\\s+")));
    }

    String word() {
        if (words.isEmpty() || words.peek().isEmpty()) {
            throw new SyntaxError("a word is missing: " + line);
        }
        return words.poll();
    }

    /** Takes a word that has to stand here. */
    Words literal(String expected) {
        String found = word();
        if (!found.equals(expected)) {
            throw new SyntaxError("\"" + expected + "\" expected, not \"" + found + "\": " + line);
        }
        return this;
    }

    boolean more() {
        return !words.isEmpty();
    }

    void end() {
        if (more()) {
            throw new SyntaxError("unknown word \"" + words.peek() + "\": " + line);
        }
    }

    long index() {
        String text = word();
        try {
            return Indices.parse(text);
        } catch (IllegalArgumentException e) {
            throw new SyntaxError(e.getMessage() + ": " + line);
        }
    }

    long number() {
        return number(word());
    }

    /** Nanoseconds of "10ms", "3us", "1s". */
    long time() {
        String text = word();
        String[] units = {"ns", "us", "ms", "s"};
        long[] nanos = {1, 1_000, 1_000_000, 1_000_000_000};
        for (int i = 0; i < units.length; i++) {
            String digits = text.endsWith(units[i]) ? text.substring(0, text.length() - units[i].length()) : "";
            if (!digits.isEmpty() && digits.chars().allMatch(Character::isDigit)) {
                return Math.multiplyExact(number(digits), nanos[i]);
            }
        }
        throw new SyntaxError("not a time (for example 10ms): " + text + ": " + line);
    }

    SyntaxError unknown(String word) {
        return new SyntaxError("unknown word \"" + word + "\": " + line);
    }

    private long number(String text) {
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) {
            throw new SyntaxError("not a number: " + text + ": " + line);
        }
    }

    /** How vectors write a time: in the largest unit that needs no fraction. */
    static String time(long nanos) {
        if (nanos % 1_000_000 == 0) {
            return nanos / 1_000_000 + "ms";
        }
        return nanos % 1_000 == 0 ? nanos / 1_000 + "us" : nanos + "ns";
    }

    @Override
    public String toString() {
        return line;
    }
}

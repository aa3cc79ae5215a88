// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** One scenario of {@code protocol/vectors}: events, the actions that they must cause, and the state in between. */
record Vector(String name, List<String> lines) {
    /** The core did not do what the vector says. */
    static final class Mismatch extends AssertionError {
        private static final long serialVersionUID = 1;

        Mismatch(String message, Throwable cause) {
            super(message, cause);
        }
    }

    /** All vectors, found by walking up from the working directory. */
    static List<Vector> all() {
        Path directory = Path.of("").toAbsolutePath();
        while (!Files.isDirectory(directory.resolve("protocol/vectors"))) {
            directory = directory.getParent();
            if (directory == null) {
                throw new IllegalStateException("no protocol/vectors above the working directory");
            }
        }
        try (Stream<Path> files = Files.list(directory.resolve("protocol/vectors"))) {
            return files.filter(file -> file.toString().endsWith(".txt")).sorted().map(Vector::read).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The wrong variants that this vector has to notice, as its "catches" lines name them. */
    Set<String> catches() {
        return lines.stream().filter(line -> line.startsWith("catches "))
                .flatMap(line -> Stream.of(line.split("\\s+")).skip(1)).collect(Collectors.toCollection(TreeSet::new));
    }

    private static Vector read(Path file) {
        try {
            return new Vector(file.getFileName().toString(), Files.readAllLines(file));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Throws {@link Mismatch} if the core is wrong, {@link Words.SyntaxError} if the vector is. */
    void run(Cores cores) {
        new Run(cores).run();
    }

    private final class Run {
        private final Cores cores;
        private final Deque<String> actions = new ArrayDeque<>();
        private Subject subject;
        private long now;
        private int number;

        Run(Cores cores) {
            this.cores = cores;
        }

        void run() {
            for (String line : lines) {
                number++;
                String text = line.split("#", 2)[0].strip();
                if (!text.isEmpty()) {
                    try {
                        step(new Words(text));
                    } catch (Words.SyntaxError e) {
                        throw new Words.SyntaxError(name + ":" + number + ": " + e.getMessage());
                    } catch (InvariantViolation | RuntimeException e) {
                        throw new Mismatch(at("the core refuses: " + e), e);
                    }
                }
            }
            number++;
            noActionLeft();
            if (subject == null) {
                throw new Words.SyntaxError(name + ": no part of the core is named");
            }
        }

        private void step(Words words) {
            String first = words.word();
            if (subject == null && first.equals("catches")) {
                return;
            }
            if (subject == null) {
                subject = Subject.parse(new Words(words.toString()), cores, actions::add);
                return;
            }
            switch (first) {
                case "->" -> expectAction(words.toString().substring(2).strip());
                case "==" -> {
                    noActionLeft();
                    String name = words.word();
                    compare(words.toString(), subject.state(name, words, now), words);
                }
                case "at" -> {
                    noActionLeft();
                    advance(words.time());
                    words.end();
                }
                default -> {
                    noActionLeft();
                    subject.event(first, words, now);
                    words.end();
                }
            }
        }

        private void advance(long time) {
            if (time < now) {
                throw new Words.SyntaxError("time goes back");
            }
            now = time;
        }

        private void expectAction(String expected) {
            String found = actions.poll();
            if (found == null) {
                throw new Mismatch(at("missing action: " + expected), null);
            }
            if (!found.equals(expected.replaceAll("\\s+", " "))) {
                throw new Mismatch(at("expected " + expected + ", the core did " + found), null);
            }
        }

        private void compare(String check, String found, Words words) {
            String expected = words.word();
            words.end();
            if (!found.equals(expected)) {
                throw new Mismatch(at(check + ", found " + found), null);
            }
        }

        private void noActionLeft() {
            if (!actions.isEmpty()) {
                throw new Mismatch(at("unexpected action before this line: " + actions.peek()), null);
            }
        }

        private String at(String message) {
            return name + ":" + number + ": " + message;
        }
    }
}

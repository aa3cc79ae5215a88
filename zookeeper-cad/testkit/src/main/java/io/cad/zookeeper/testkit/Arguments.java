// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Options of a command line: {@code --name value}, flags {@code --name}, options may come more than once. */
public final class Arguments {
    private final Map<String, List<String>> values = new HashMap<>();

    /** A command line that makes no sense; the message says what to give instead. */
    public static final class BadArguments extends Exception {
        private static final long serialVersionUID = 1;

        public BadArguments(String message) {
            super(message);
        }
    }

    /**
     * Parses a command line.
     *
     * @param options names that take a value, without the dashes
     * @param flags names that take none
     */
    public Arguments(String[] line, Set<String> options, Set<String> flags) throws BadArguments {
        for (int i = 0; i < line.length; i++) {
            String name = line[i].startsWith("--") ? line[i].substring(2) : "";
            if (flags.contains(name)) {
                values.computeIfAbsent(name, n -> new ArrayList<>()).add("");
            } else if (!options.contains(name)) {
                throw new BadArguments("unknown argument " + line[i] + "; known are --" + String.join(", --", sorted(options, flags)));
            } else if (i + 1 == line.length) {
                throw new BadArguments(line[i] + " needs a value");
            } else {
                values.computeIfAbsent(name, n -> new ArrayList<>()).add(line[++i]);
            }
        }
    }

    private static List<String> sorted(Set<String> options, Set<String> flags) {
        List<String> all = new ArrayList<>(options);
        all.addAll(flags);
        all.sort(null);
        return all;
    }

    public boolean has(String name) {
        return values.containsKey(name);
    }

    public List<String> all(String name) {
        return values.getOrDefault(name, List.of());
    }

    /** The last value given, or else the default. */
    public String get(String name, String otherwise) {
        List<String> given = all(name);
        return given.isEmpty() ? otherwise : given.get(given.size() - 1);
    }

    /** A whole number, at least {@code lowest}. */
    public long number(String name, long otherwise, long lowest) throws BadArguments {
        String given = get(name, null);
        if (given == null) {
            return otherwise;
        }
        try {
            long value = Long.parseLong(given);
            if (value >= lowest) {
                return value;
            }
        } catch (NumberFormatException e) {
            // Same message as for a number that is too small.
        }
        throw new BadArguments("--" + name + " needs a whole number of at least " + lowest + ", not " + given);
    }

    /** A number, at least {@code lowest}. */
    public double decimal(String name, double otherwise, double lowest) throws BadArguments {
        String given = get(name, null);
        if (given == null) {
            return otherwise;
        }
        try {
            double value = Double.parseDouble(given);
            if (value >= lowest) {
                return value;
            }
        } catch (NumberFormatException e) {
            // Same message as for a number that is too small.
        }
        throw new BadArguments("--" + name + " needs a number of at least " + lowest + ", not " + given);
    }

    /** Options of the form key=value. */
    public Map<String, String> pairs(String name) throws BadArguments {
        Map<String, String> pairs = new LinkedHashMap<>();
        for (String given : all(name)) {
            int equals = given.indexOf('=');
            if (equals < 1) {
                throw new BadArguments("--" + name + " needs key=value, not " + given);
            }
            pairs.put(given.substring(0, equals), given.substring(equals + 1));
        }
        return pairs;
    }
}

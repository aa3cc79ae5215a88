// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testing;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/** System properties of a test, put back when it ends. {@code cad.*} keys stand for {@code zookeeper.cad.*}. */
public final class Settings implements AutoCloseable {

    private static final String SERVER = "zookeeper.";

    private final Map<String, String> before = new HashMap<>();

    private Settings() {
    }

    /** Sets pairs of key and value, after every {@code cad.*} setting was removed. */
    public static Settings of(String... pairs) {
        Settings settings = new Settings();
        settings.clearCad();
        return settings.and(pairs);
    }

    /** Sets more pairs; a null value removes the key. */
    public Settings and(String... pairs) {
        Map<String, String> wanted = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            wanted.put(pairs[i].startsWith("cad.") ? SERVER + pairs[i] : pairs[i], pairs[i + 1]);
        }
        wanted.forEach(this::put);
        return this;
    }

    /** Removes every {@code cad.*} setting: the stock server. */
    public Settings clearCad() {
        for (String name : System.getProperties().stringPropertyNames()) {
            if (name.startsWith(SERVER + "cad.")) {
                put(name, null);
            }
        }
        return this;
    }

    private void put(String name, String value) {
        before.putIfAbsent(name, String.valueOf(System.getProperty(name)));
        if (value == null) {
            System.clearProperty(name);
        } else {
            System.setProperty(name, value);
        }
    }

    @Override
    public void close() {
        before.forEach((name, value) -> {
            if (value.equals("null")) {
                System.clearProperty(name);
            } else {
                System.setProperty(name, value);
            }
        });
    }
}

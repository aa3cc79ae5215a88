// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import java.util.ArrayList;
import java.util.List;

/** A way to run Redis: which build, and which lines of redis.conf beyond those that all modes share. */
enum RedisMode implements DemoMode {
    STOCK("stock-everysec", false, List.of()),
    OFF("off", true, List.of()),
    EVENTUAL("eventual", true, List.of("cad-durability", "eventual")),
    IMMEDIATE("immediate", true, List.of("cad-durability", "immediate", "cad-replication", "sync")),
    CAD("cad", true, List.of("cad-durability", "cad"));

    private final String label;
    private final boolean patched;
    private final List<String> settings;

    RedisMode(String label, boolean patched, List<String> settings) {
        this.label = label;
        this.patched = patched;
        this.settings = settings;
    }

    @Override
    public String label() {
        return label;
    }

    @Override
    public boolean isPatched() {
        return patched;
    }

    @Override
    public boolean acknowledgesDurably() {
        return this == IMMEDIATE;
    }

    @Override
    public boolean keepsWhatWasRead() {
        return this == IMMEDIATE || this == CAD;
    }

    @Override
    public boolean isWeak() {
        return !keepsWhatWasRead();
    }

    @Override
    public boolean isOnTrial() {
        return this == CAD;
    }

    @Override
    public String describe() {
        return (patched ? "" : "stock 8.0.2 ") + "appendfsync everysec " + String.join(" ", settings);
    }

    /** Whether the server holds replies at all. */
    boolean holds() {
        return keepsWhatWasRead();
    }

    /** The value of cad-durability that a server in this mode reports; null where there is no such setting. */
    String durability() {
        return this == STOCK ? null : this == OFF ? "off" : settings.get(1);
    }

    /** Arguments of redis-server. */
    List<String> arguments(int nodes) {
        List<String> words = new ArrayList<>();
        for (int i = 0; i < settings.size(); i += 2) {
            words.add("--" + settings.get(i));
            words.add(settings.get(i + 1));
        }
        if (!settings.isEmpty()) {
            words.addAll(List.of("--cad-nodes", Integer.toString(nodes)));
        }
        return words;
    }
}

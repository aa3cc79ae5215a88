// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.simulation;

import io.cad.zookeeper.core.Cores;
import io.cad.zookeeper.core.Variant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** A wrong server: with one mistake in the core, or with one outside it. */
record Suspect(String name, Cores cores, Set<Flaw> flaws) {
    static List<Suspect> all() {
        List<Suspect> all = new ArrayList<>();
        for (Flaw flaw : Flaw.values()) {
            all.add(new Suspect(flaw.name(), new Cores(), Set.of(flaw)));
        }
        for (Variant variant : Variant.values()) {
            all.add(new Suspect(variant.name(), variant.cores, Set.of()));
        }
        return all;
    }

    static Suspect named(String name) {
        return all().stream().filter(one -> one.name.equals(name)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no wrong variant " + name));
    }

    @Override
    public String toString() {
        return name;
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.testkit;

import java.util.List;

/** Flags of a server's JVM. */
public enum JvmProfile {
    /** Starts fast and stays small: for tests that start servers often. */
    TEST("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m"),
    /** Compiles fully and never resizes its heap: for measurements. */
    BENCH("-XX:+UseSerialGC", "-Xms512m", "-Xmx512m");

    private final List<String> flags;

    JvmProfile(String... flags) {
        this.flags = List.of(flags);
    }

    List<String> flags() {
        return flags;
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.quorum;

import static org.junit.jupiter.api.Assertions.assertNull;

import io.cad.zookeeper.testing.Settings;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What goes wrong on the stock jar ({@code make red-on-stock}) does not here. */
class HazardTest {

    @TempDir
    Path directory;

    @ParameterizedTest
    @EnumSource
    void isMet(Hazard hazard) throws Exception {
        try (Settings settings = Settings.of("cad.durability", "cad", "zookeeper.admin.enableServer", "false")) {
            assertNull(hazard.outcome(directory));
        }
    }
}

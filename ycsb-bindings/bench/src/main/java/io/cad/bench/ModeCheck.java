// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import io.cad.zookeeper.testkit.Ensemble;
import io.cad.zookeeper.testkit.PowerLossTrial;
import java.io.IOException;

/** A mode that the servers quietly ignore would make every figure a lie. */
final class ModeCheck {
    private ModeCheck() {
    }

    /**
     * Checks that servers with {@code cad.*} settings run CAD, and others do not.
     *
     * @throws IllegalStateException otherwise
     */
    static void requireActive(Mode mode, Ensemble ensemble) throws IOException {
        boolean configured = mode.cfg().keySet().stream().anyMatch(key -> key.startsWith("cad."));
        boolean active = !ensemble.sumMetrics(PowerLossTrial.METRICS_PREFIX).isEmpty();
        if (configured != active) {
            throw new IllegalStateException("mode " + mode.label() + ": the servers show " + (active ? "" : "no ")
                    + "metrics " + PowerLossTrial.METRICS_PREFIX + "*; is the plugin on their class path? Logs below "
                    + ensemble.directory());
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.quorum;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import org.apache.zookeeper.Version;

/**
 * Shows each hazard on the stock jar: {@code make red-on-stock}. A scenario that did not go wrong there
 * would prove nothing about ours. Exit codes: 0 all red, 1 one is not, 255 crashed.
 */
final class StockHazards {

    private StockHazards() {
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ZooKeeper " + Version.getVersion());
        boolean all = true;
        for (Hazard hazard : EnumSet.complementOf(EnumSet.of(Hazard.BROKEN_OFF_SNAP))) {
            Path directory = Files.createTempDirectory("hazard");
            String outcome = hazard.outcome(directory);
            System.out.printf("%s %-25s %s: %s%n", hazard.number, hazard.name().toLowerCase().replace('_', '-'),
                hazard.scenario, outcome == null ? "GREEN" : "RED: " + outcome.replace(directory.toString(), "DIR"));
            all &= outcome != null;
        }
        // Upstream leaves threads behind.
        System.exit(all ? 0 : 1);
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The classes in upstream's packages connect; they do not decide. So they must not compare what the protocol decides
 * by: indices, epochs, versions of memberships, times of leases.
 */
class AdaptersTest {
    private static final Path ADAPTERS = Path.of("src/main/java/org");

    /** A relational operator between operands, or a method that hides one: types, arrows and shifts are none. */
    private static final Pattern COMPARES = Pattern.compile("[\\w)] (<=|>=|<|>) [\\w(-]|isMoreRecentThan|compare(To)?\\(");
    private static final Pattern PROTOCOL = Pattern.compile(
            "(?i)zxid|durable|persisted|appl(ied|ying)|epoch|lease|index|committed|nanoTime|deadline|getVersion|recent");

    /** Comparisons that are there for another reason, or still wait to be moved into the core. */
    private static final Set<String> KNOWN = Set.of(
            // How an index is shown to operators.
            "CadBean.java: return role.durable() < 0 ? \"none\" : Indices.format(role.durable());",
            "CadMonitor.java: return index < 0 ? \"none\" : Indices.format(index);",
            // Upstream's own memberships: the newer one binds, too.
            "CadLeader.java: if (next != null && next.getVersion() > current.getVersion()) {",
            "CadLeader.java: || self.getLastSeenQuorumVerifier().getVersion() > self.getQuorumVerifier().getVersion();",
            // A request from another epoch, and D before there is one: plain checks of what arrives.
            "CadLeader.java: && Indices.epoch(packet.getZxid()) <= current.epoch) {",
            "CadLeader.java: if (current != null && current.durable() >= 0) {",
            // The planned stop waits for the role; no reply depends on it.
            "CadLeader.java: while (System.nanoTime() - deadline < 0) {",
            "CadLeader.java: if (outstandingProposals.isEmpty() && current.applying() >= last"
                    + " && current.durable() >= last) {",
            // Upstream's tree keeps the index of an older epoch at the start of one without entries.
            "LearnerLink.java: if (db.getDataTreeLastProcessedZxid() < epoch << 32) {");

    @Test
    void adaptersDoNotCompareWhatTheProtocolDecidesBy() throws IOException {
        Set<String> found = new TreeSet<>();
        try (Stream<Path> all = Files.walk(ADAPTERS)) {
            for (Path file : (Iterable<Path>) all.filter(path -> path.toString().endsWith(".java"))::iterator) {
                Files.readAllLines(file).stream().map(String::trim).filter(AdaptersTest::decides)
                        .forEach(line -> found.add(file.getFileName() + ": " + line));
            }
        }
        assertEquals(new TreeSet<>(KNOWN), found, "a decision belongs into io.cad.zookeeper, where the simulation and "
                + "the vectors reach it; what is no longer there must leave this list");
    }

    @Test
    void noticesAComparison() {
        assertTrue(decides("if (packet.getZxid() > role.durable()) {"));
        assertTrue(decides("return System.nanoTime() - leaseUntil < 0;"));
        assertTrue(decides("if (state.isMoreRecentThan(leaderStateSummary)) {"));
        assertFalse(decides("Map<Long, Long> persisted = new TreeMap<>();"));
        assertFalse(decides("// reads wait while D < index"));
        assertFalse(decides("packet -> role.durable(packet.getZxid())"));
    }

    private static boolean decides(String line) {
        boolean comment = line.startsWith("*") || line.startsWith("//") || line.startsWith("/*");
        return !comment && COMPARES.matcher(line).find() && PROTOCOL.matcher(line).find();
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.clienttests;

import static io.cad.zookeeper.clienttests.RealClients.LIMIT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testkit.Ensemble;
import io.cad.zookeeper.testkit.EnsembleConfig;
import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.ServerBuild;
import io.cad.zookeeper.testkit.ServerProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The way from stock to cad and back that docs/operations.md describes, server by server under load. The phases are read
 * from that page. A planned stop drains, so no phase may lose an acknowledged write, and no session may be lost.
 */
@Timeout(400)
class RollingUpgradeTest {
    private static final int CLIENTS = 6;
    private static final int SESSIONS = 6;
    private static final int WRITES_BETWEEN = 100;
    /** The jar of a server, and its release. */
    private static final Pattern RELEASE = Pattern.compile("zookeeper-(\\d[\\d.]*)\\.jar");

    /** What a server runs: a name for reports, its jars and its cad.* lines. */
    private record Phase(String name, ServerBuild build, Map<String, String> cad) {
    }

    private final Set<String> pairings = new LinkedHashSet<>();
    private Ensemble ensemble;
    private AcknowledgedWrites load;
    private LastingSessions sessions;
    private final Map<Integer, String> running = new LinkedHashMap<>();

    /** The lines between the two comments of operations.md, each a phase. */
    private static List<Phase> documented(ServerBuild stock, ServerBuild ours) throws IOException {
        String page = Files.readString(Path.of(System.getProperty("client.tests.docs"), "operations.md"));
        String steps = page.substring(page.indexOf("<!-- phases -->"), page.indexOf("<!-- end of phases -->"));
        List<Phase> phases = new ArrayList<>();
        for (String line : steps.lines().filter(text -> text.matches("(stock|cad\\.).*")).toList()) {
            Map<String, String> cad = new LinkedHashMap<>();
            for (String word : line.split("\\s+")) {
                if (word.contains("=")) {
                    cad.put(word.substring(0, word.indexOf('=')), word.substring(word.indexOf('=') + 1));
                }
            }
            phases.add(new Phase(cad.getOrDefault("cad.durability", "stock"), cad.isEmpty() ? stock : ours, cad));
        }
        assertEquals(List.of("stock", "immediate", "cad", "immediate", "stock"), phases.stream().map(Phase::name).toList());
        return phases;
    }

    private static ServerBuild ours() throws IOException {
        return ServerBuild.stock().withServerJar("cad", Path.of(System.getProperty("client.tests.server.jar")),
                List.of(Path.of(System.getProperty("client.tests.plugin.jar"))));
    }

    /** The leader last, as the page says. */
    @Test
    void fromStockToCadAndBack() throws Exception {
        roll(ServerBuild.stock(), documented(ServerBuild.stock(), ours()), true);
        assertEquals(Set.of("stock>stock", "stock>immediate", "immediate>immediate", "immediate>cad", "cad>cad",
                "cad>immediate", "immediate>stock"), pairings, "leader>follower pairs that were alive together");
    }

    /** Whatever the order, nothing is lost: the leader first. */
    @Test
    @Tag("full")
    void withTheLeaderFirst() throws Exception {
        roll(ServerBuild.stock(), documented(ServerBuild.stock(), ours()), false);
    }

    /** 3.8 to ours and back to 3.8: data directories and the protocol between servers are the same. */
    @Test
    @Tag("full")
    void fromTheReleaseBefore() throws Exception {
        Path lib = Path.of(System.getProperty("client.tests.stock38.lib"));
        ServerBuild old;
        try (Stream<Path> jars = Files.list(lib)) {
            List<Path> all = new ArrayList<>(jars.toList());
            ServerBuild.stock().jars().stream().filter(jar -> !jar.getFileName().toString().matches("zookeeper-(jute-)?3.*"))
                    .forEach(all::add);
            old = new ServerBuild("stock-3.8", all);
        }
        roll(old, documented(old, ours()), true);
    }

    /** The control: what a rolling restart of stock keeps is what every phase has to keep. */
    @Test
    @Tag("full")
    void stockKeepsItsSessionsThroughARollingRestart() throws Exception {
        Phase stock = new Phase("stock", ServerBuild.stock(), Map.of());
        roll(ServerBuild.stock(), List.of(stock, stock), true);
    }

    private void roll(ServerBuild first, List<Phase> phases, boolean leaderLast) throws Exception {
        try (RunDirectory run = RunDirectory.create("rolling-upgrade")) {
            ensemble = Ensemble.start(run, new EnsembleConfig(first, 3));
            for (ServerProcess server : ensemble.servers()) {
                assertRuns(first, server);
                running.put(server.id(), phases.get(0).name());
            }
            try (AcknowledgedWrites writes = AcknowledgedWrites.start(ensemble.connectString(), CLIENTS);
                    LastingSessions lasting = new LastingSessions(ensemble.connectString(), SESSIONS)) {
                load = writes;
                sessions = lasting;
                notePairings();
                for (Phase phase : phases.subList(1, phases.size())) {
                    enter(phase, leaderLast);
                }
            }
            run.closeAndDelete();
        }
    }

    /** A class path with two releases on it would run either of them. */
    private static void assertRuns(ServerBuild build, ServerProcess server) throws IOException {
        String release = build.jars().stream().map(jar -> RELEASE.matcher(jar.getFileName().toString()))
                .filter(Matcher::matches).map(jar -> jar.group(1)).findFirst().orElseThrow();
        String says = server.fourLetterWord("srvr").lines().findFirst().orElse("");
        assertTrue(says.startsWith("Zookeeper version: " + release + "-"), build.name() + ": " + says);
    }

    private void enter(Phase phase, boolean leaderLast) throws Exception {
        ServerProcess leader = ensemble.awaitLeader(LIMIT);
        List<ServerProcess> order = new ArrayList<>(ensemble.servers());
        order.remove(leader);
        order.add(leaderLast ? order.size() : 0, leader);
        for (ServerProcess server : order) {
            load.awaitMore(WRITES_BETWEEN);
            server.stop(LIMIT);
            server.reinstall(phase.build(), phase.cad());
            server.start();
            ensemble.awaitServing(LIMIT);
            assertRuns(phase.build(), server);
            running.put(server.id(), phase.name());
            notePairings();
        }
        load.awaitMore(WRITES_BETWEEN);
        for (ServerProcess server : ensemble.servers()) {
            Set<String> missing = load.missingNow(server.connectString());
            assertTrue(missing.isEmpty(), "in phase " + phase.name() + " at " + server + " are missing " + missing.size()
                    + " of " + load + ", such as " + missing.stream().findFirst());
        }
        assertEquals(0, sessions.lost(), "sessions lost in phase " + phase.name());
        assertEquals(0.0, ensemble.sumMetrics("digest_mismatches_count").getOrDefault("digest_mismatches_count", 0.0));
        System.out.println("all servers run " + phase.name() + ": " + load + ", 0 missing, 0 sessions lost");
    }

    private void notePairings() throws Exception {
        String leader = running.get(ensemble.awaitLeader(LIMIT).id());
        for (ServerProcess server : ensemble.servers()) {
            if (server.mode().equals("follower")) {
                pairings.add(leader + ">" + running.get(server.id()));
            }
        }
    }
}

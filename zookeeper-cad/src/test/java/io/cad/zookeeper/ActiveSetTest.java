// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.role.LeaderRole;
import io.cad.zookeeper.testing.Await;
import io.cad.zookeeper.testing.Disk;
import io.cad.zookeeper.testing.Ensemble;
import io.cad.zookeeper.testing.Ensemble.Transport;
import io.cad.zookeeper.testing.RawClient;
import io.cad.zookeeper.testing.RawClient.Packet;
import io.cad.zookeeper.testing.Settings;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.proto.CreateRequest;
import org.apache.zookeeper.proto.GetDataRequest;
import org.apache.zookeeper.proto.GetDataResponse;
import org.apache.zookeeper.proto.SetDataRequest;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** With cad.reads=active-set followers answer reads themselves while they hold a lease. */
class ActiveSetTest {

    private static final String NODE = "/node";

    private Settings settings;
    private Ensemble ensemble;
    private long leader;

    private void start(int voters, int observers, String... pairs) {
        settings = Settings.of("cad.reads", "active-set", "cad.replication", "sync").and(pairs);
        ensemble = new Ensemble(Transport.NIO, voters, observers).startAll();
        leader = ensemble.leader();
    }

    @AfterEach
    void stop() {
        ensemble.close();
        settings.close();
    }

    private LeaderRole leaderRole() {
        return (LeaderRole) ensemble.role(ensemble.leader());
    }

    private void awaitActive(Set<Long> servers) {
        Await.until("the active set is " + servers, () -> leaderRole().activeSet().equals(servers));
    }

    private static CompletableFuture<Packet> create(RawClient client) {
        return client.send(OpCode.create, new CreateRequest(NODE, new byte[1], ZooDefs.Ids.OPEN_ACL_UNSAFE, 0));
    }

    private static CompletableFuture<Packet> set(RawClient client, int bytes) {
        return client.send(OpCode.setData, new SetDataRequest(NODE, new byte[bytes], -1));
    }

    private static CompletableFuture<Packet> get(RawClient client) {
        return client.send(OpCode.getData, new GetDataRequest(NODE, false));
    }

    private static int length(CompletableFuture<Packet> read) {
        return ok(read).as(new GetDataResponse()).getData().length;
    }

    private static Packet ok(CompletableFuture<Packet> reply) {
        Packet packet = Await.get("a request", reply);
        assertEquals(Code.OK, packet.code(), packet::toString);
        return packet;
    }

    @ParameterizedTest
    @ValueSource(strings = {"cad", "immediate"})
    void followersAnswerReads(String durability) {
        start(3, 0, "cad.durability", durability);
        awaitActive(Set.of(1L, 2L, 3L));
        RawClient writer = ensemble.client(leader);
        ok(create(writer));
        for (long server = 1; server <= 3; server++) {
            RawClient reader = ensemble.client(server);
            for (int bytes = 2; bytes < 10; bytes++) {
                // Acknowledged means applied by the leader alone: a follower may be behind, never ahead of what is durable.
                ok(set(writer, bytes));
                int expected = bytes;
                Await.until("server " + server + " shows the write", () -> length(get(reader)) == expected);
            }
            reader.close();
        }
        writer.close();
    }

    /** A follower holds a read of what is not durable, asks for a flush and answers it itself. */
    @Test
    void aFollowerWaitsUntilWhatItShowsIsDurable() {
        try (Disk disk = new Disk()) {
            start(3, 0, "cad.durability", "cad", "cad.hold.ms", "3600000", "cad.durable.acks", "none", "cad.stuck",
                "3600000");
            awaitActive(Set.of(1L, 2L, 3L));
            long follower = ensemble.follower();
            RawClient writer = ensemble.client(leader);
            RawClient reader = ensemble.client(follower);
            ok(create(writer));
            assertEquals(1, length(get(reader)));
            disk.stall();
            try {
                ok(set(writer, 5));
                long written = leaderRole().index.lastApplied();
                Await.until("the follower has applied it", () -> ensemble.role(follower).index.lastApplied() >= written);
                CompletableFuture<Packet> read = get(reader);
                Await.until("the reply is held", () -> ensemble.role(follower).gates.repliesHeld() > 0);
                assertFalse(read.isDone());
                disk.release();
                assertEquals(5, length(read));
            } finally {
                disk.release();
            }
            writer.close();
            reader.close();
        }
    }

    @Test
    void theSetHasBoundsAndPreferences() {
        start(3, 0, "cad.durability", "cad", "cad.active.set.max", "2");
        Await.until("a follower is active", () -> leaderRole().activeSet().size() == 2);
        long outside = 6 - leaderRole().activeSet().stream().mapToLong(Long::longValue).sum();
        RawClient writer = ensemble.client(leader);
        ok(create(writer));
        writer.close();
        // The server outside takes no clients once it has been without a lease for a while.
        Await.until("server " + outside + " sends a client away", () -> {
            RawClient client = RawClient.opening(ensemble.clientPort(outside), 10_000);
            Await.until("the session is open or refused",
                () -> client.closed().isDone() || client.connected().isDone());
            boolean refused = client.closed().isDone();
            client.close();
            return refused;
        });
        assertFalse(ensemble.role(outside).mayRead());
    }

    @Test
    void aMemberThatIsGoneHoldsNobodyUp() {
        start(3, 0, "cad.durability", "cad");
        awaitActive(Set.of(1L, 2L, 3L));
        long follower = ensemble.follower();
        RawClient writer = ensemble.client(leader);
        ok(create(writer));
        ensemble.stop(follower);
        ok(set(writer, 7));
        assertEquals(7, length(get(writer)));
        awaitActive(Set.of(leader, 6 - leader - follower));
        ensemble.start(follower);
        awaitActive(Set.of(1L, 2L, 3L));
        RawClient reader = ensemble.client(follower);
        assertEquals(7, length(get(reader)));
        reader.close();
        writer.close();
    }

    @Test
    void observersAskTheLeader() {
        start(2, 1, "cad.durability", "cad");
        awaitActive(Set.of(1L, 2L));
        RawClient writer = ensemble.client(leader);
        RawClient reader = ensemble.client(3);
        ok(create(writer));
        for (int bytes = 2; bytes < 20; bytes++) {
            ok(set(writer, bytes));
            // One round trip to the leader, so never older than what was acknowledged.
            assertEquals(bytes, length(get(reader)));
        }
        reader.close();
        writer.close();
    }

    @Test
    void aNewLeaderServesAfterTheOldLeasesAreOver() {
        start(3, 0, "cad.durability", "cad");
        awaitActive(Set.of(1L, 2L, 3L));
        RawClient writer = ensemble.client(leader);
        ok(create(writer));
        ok(set(writer, 3));
        assertEquals(3, length(get(writer)));
        ensemble.stop(leader);
        Await.until("another server leads", () -> {
            try {
                return ensemble.leader() != leader && ensemble.role(ensemble.leader()) != null;
            } catch (IllegalStateException e) {
                return false;
            }
        });
        ensemble.awaitServing(ensemble.leader());
        RawClient reader = ensemble.client(ensemble.leader());
        assertEquals(3, length(get(reader)));
        assertTrue(leaderRole().durable() >= 0);
        reader.close();
        writer.close();
    }
}

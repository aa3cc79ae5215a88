// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.lease;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.core.Quorum;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Which followers may answer reads, as the leader of one epoch sees it. The leader itself is always a member and is not
 * listed. A member is one connection of one server; each member has applied the durable index, or is granted no lease.
 *
 * <p>Pure: each method is one event; the caller serialises them <em>with those of the leader's accounting</em> (one
 * lock), because a member that is admitted holds the durable index back from that moment. Times are the monotonic and
 * the wall clock in nanoseconds, read before something is sent and after something was received. An action may not call
 * back; after each event the caller lets the accounting look again ({@code LeaderCore.tick}), since the durable index
 * may rise when a member leaves.
 */
public class ActiveSet {
    /** Why a member was removed. */
    public enum Removal { LEFT, RECONNECTED, SILENT, NEVER_GRANTED }

    /** Why a member is told to leave. */
    public enum Reason { SLOW, PREFERENCE, MEMBERSHIP }

    /** For metrics and logs; state is complete when they are called. */
    public interface Actions {
        void admitted(long server, long connection);

        void removed(long server, long connection, Removal why);

        /** The heartbeats to it carry the request from now on, until it has left or is silent for too long. */
        void toldToLeave(long server, long connection, Reason why);
    }

    /** The leader's history. */
    public interface History {
        /** {@link Indices#NONE} before the epoch is established. */
        long durable();

        /** Persisted by a quorum and applied by the leader: what would be durable if no other member were. */
        long reachable();
    }

    /** One connection. It stays here after its end as long as it is a member. */
    private static final class Peer {
        final long server;
        final long connection;
        final long incarnation;
        final long attempt;
        boolean registered = true;
        boolean member;
        long applied = Indices.NONE;

        Ticket ticket;
        long received;
        boolean granted;
        long grantedTicketReceived;

        long leave = Heartbeat.NO_LEAVE;

        boolean measured;
        long mark;
        long markSince;
        boolean keepsUp;
        long keepsUpSince;

        Peer(long server, long connection, long incarnation, long attempt) {
            this.server = server;
            this.connection = connection;
            this.incarnation = incarnation;
            this.attempt = attempt;
        }

        boolean isOlderThan(long otherIncarnation, long otherAttempt) {
            return incarnation < otherIncarnation || incarnation == otherIncarnation && attempt < otherAttempt;
        }
    }

    private final long epoch;
    private final LeaseSettings settings;
    private final ActiveSetRules rules;
    private final LeaderLease lease;
    private final Promise promise;
    private final History history;
    private final Actions out;

    private final Map<Long, Peer> peers = new TreeMap<>();
    /** Those who were told to leave because they were slow and have not kept up for long enough since. */
    private final Set<Long> onProbation = new HashSet<>();
    private List<Quorum> configurations = List.of();
    private long leaves;

    public ActiveSet(long epoch, LeaseSettings settings, ActiveSetRules rules, LeaderLease lease, Promise promise,
            History history, Actions out) {
        this.epoch = epoch;
        this.settings = settings;
        this.rules = rules;
        this.lease = lease;
        this.promise = promise;
        this.history = history;
        this.out = out;
    }

    // --- events

    /** Every membership that binds from now on, oldest first. Passed on to the leader lease. */
    public void configurations(List<Quorum> all) {
        configurations = List.copyOf(all);
        lease.configurations(all);
    }

    /**
     * A server registered. By then it had dropped whatever lease it had on an older connection, so that one leaves the
     * set at once.
     *
     * @param connection a number that is never used twice in the epoch
     * @param incarnation which process of the server; a later one has a higher number
     * @param attempt which connection of that process; a later one has a higher number
     * @return false if a newer connection of that server is known: this one is stale and must be closed
     */
    public boolean connected(long connection, long server, long incarnation, long attempt, long now) {
        if (peers.containsKey(connection)) {
            throw new IllegalArgumentException("connection " + connection + " is registered already");
        }
        for (Peer peer : of(server)) {
            if (!peer.isOlderThan(incarnation, attempt) && isStaleRefused()) {
                return false;
            }
        }
        Peer connected = new Peer(server, connection, incarnation, attempt);
        for (Peer peer : of(server)) {
            peer.registered = false;
            if (peer.member) {
                replace(peer, connected);
            }
            forgetIfOver(peer);
        }
        peers.put(connection, connected);
        return true;
    }

    /** The connection ended. A member that was granted a lease stays one until that is over. */
    public void lost(long connection, long now) {
        Peer peer = peers.get(connection);
        if (peer != null) {
            peer.registered = false;
            if (peer.member && !peer.granted) {
                remove(peer, Removal.NEVER_GRANTED);
            }
            forgetIfOver(peer);
        }
    }

    /**
     * A heartbeat was answered. The caller passes the report in it to its accounting afterwards, if this returns true.
     *
     * @return whether it belongs to the current connection of its server in this epoch
     */
    public boolean answered(HeartbeatAnswer answer, long now, long wall) {
        Peer peer = peers.get(answer.connection());
        if (answer.epoch() != epoch || peer == null || !isCurrent(peer.registered)) {
            return false;
        }
        lease.answered(peer.server, answer.number(), now, wall);
        if (peer.ticket == null || answer.ticket().number() > peer.ticket.number()) {
            peer.ticket = answer.ticket();
            peer.received = now;
        }
        if (answer.left() != Heartbeat.NO_LEAVE && answer.left() == peer.leave) {
            if (peer.member) {
                remove(peer, Removal.LEFT);
            }
            peer.leave = Heartbeat.NO_LEAVE;
        }
        applied(peer, answer.applied(), now);
        return true;
    }

    /** The server on the connection reports, outside a heartbeat, how far its reads see. */
    public void reported(long connection, long applied, long now) {
        Peer peer = peers.get(connection);
        if (peer != null && isCurrent(peer.registered)) {
            applied(peer, applied, now);
        }
    }

    /**
     * The heartbeat {@code number}, which {@link LeaderLease#beat} has given out, for one connection; null if the
     * connection is over. Each server on a connection gets one, member or not.
     */
    public Heartbeat heartbeat(long connection, long number, long now, long wall) {
        Peer peer = peers.get(connection);
        if (peer == null || !peer.registered) {
            return null;
        }
        Ticket echo = null;
        if (peer.ticket != null && mayGrant(peer, now, wall)) {
            echo = peer.ticket;
            peer.granted = true;
            peer.grantedTicketReceived = peer.received;
            promise.echoed(now);
        }
        return new Heartbeat(epoch, connection, number, history.durable(), settings.readLease(), settings.promise(),
                settings.driftPpm(), echo, peer.leave);
    }

    /** Removes, tells to leave, admits. Call it several times per heartbeat interval. */
    public void tick(long now, long wall) {
        lease.check(now, wall);
        for (Peer peer : all()) {
            if (peer.member && mayRemove(peer, now)) {
                remove(peer, peer.granted ? Removal.SILENT : Removal.NEVER_GRANTED);
                forgetIfOver(peer);
            }
        }
        if (history.durable() == Indices.NONE) {
            return;
        }
        for (Peer peer : all()) {
            measure(peer, now);
            if (peer.member && peer.leave == Heartbeat.NO_LEAVE) {
                if (!isEligible(peer.server)) {
                    tellToLeave(peer, Reason.MEMBERSHIP);
                } else if (isSlow(peer, now)) {
                    onProbation.add(peer.server);
                    tellToLeave(peer, Reason.SLOW);
                }
            }
        }
        List<Peer> candidates = all();
        candidates.removeIf(peer -> peer.member || !isReady(peer, now));
        candidates.sort(Comparator.comparingInt(peer -> rules.rank(peer.server)));
        candidates.forEach(this::admitOrMakeRoom);
    }

    // --- queries

    /** The lowest index that a member has applied; {@link Long#MAX_VALUE} if the leader is the only one. */
    public long applied() {
        long lowest = Long.MAX_VALUE;
        for (Peer peer : peers.values()) {
            if (peer.member) {
                lowest = Math.min(lowest, peer.applied);
            }
        }
        return lowest;
    }

    /** Whether the connection is a member. */
    public boolean isMember(long connection) {
        Peer peer = peers.get(connection);
        return peer != null && peer.member;
    }

    /** Server to connection of the members, without the leader. */
    public Map<Long, Long> members() {
        Map<Long, Long> members = new TreeMap<>();
        for (Peer peer : peers.values()) {
            if (peer.member) {
                members.put(peer.server, peer.connection);
            }
        }
        return members;
    }

    /** The servers that were slow and have not kept up for long enough since. For the operator. */
    public Set<Long> onProbation() {
        return new TreeSet<>(onProbation);
    }

    // --- decisions; tests replace single ones by wrong ones

    /** Of a server that has connected anew only the newest connection speaks. */
    boolean isCurrent(boolean registered) {
        return registered;
    }

    boolean isStaleRefused() {
        return true;
    }

    /** Whether a server that is a member remains one, with what it reported, when it connects anew. */
    boolean isKeyedByServer() {
        return false;
    }

    boolean isLeaveRespected() {
        return true;
    }

    boolean needsLeaderLease() {
        return true;
    }

    boolean needsApplied() {
        return true;
    }

    /** Whether a lease granted by a ticket received at that time is over, by the leader's clock. */
    boolean isOver(long ticketReceived, long now) {
        return now - ticketReceived >= settings.removal();
    }

    private boolean mayGrant(Peer peer, long now, long wall) {
        long durable = history.durable();
        return peer.member && durable != Indices.NONE && (peer.applied >= durable || !needsApplied())
                && (peer.leave == Heartbeat.NO_LEAVE || !isLeaveRespected())
                && (lease.holds(now, wall) || !needsLeaderLease());
    }

    /** Silent for too long; or asked to leave, or gone, and its lease is over whatever it says. */
    private boolean mayRemove(Peer peer, long now) {
        boolean unwanted = peer.leave != Heartbeat.NO_LEAVE || !peer.registered;
        if (!peer.granted) {
            return unwanted || isOver(peer.received, now);
        }
        return isOver(unwanted ? peer.grantedTicketReceived : peer.received, now);
    }

    private boolean isEligible(long server) {
        return rules.allows(server) && !configurations.isEmpty()
                && configurations.get(configurations.size() - 1).votes(server);
    }

    private boolean isSlow(Peer peer, long now) {
        return peer.measured && peer.applied < peer.mark && now - peer.markSince >= rules.slowAfter
                && history.reachable() > history.durable();
    }

    /** It answers, may be a member, and has what members have or keeps up so well that the others may wait for it. */
    private boolean isReady(Peer peer, long now) {
        if (!peer.registered || peer.ticket == null || peer.leave != Heartbeat.NO_LEAVE || !isEligible(peer.server)
                || isOver(peer.received, now)) {
            return false;
        }
        if (onProbation.contains(peer.server)) {
            return peer.keepsUp && mayReturn(peer.keepsUpSince, now);
        }
        return hasCaughtUp(peer.applied, history.durable()) || peer.keepsUp;
    }

    /** Whether a slow server has kept up for long enough since. */
    boolean mayReturn(long keepsUpSince, long now) {
        return now - keepsUpSince >= rules.readmitAfter;
    }

    boolean hasCaughtUp(long applied, long durable) {
        return applied >= durable;
    }

    // --- the step

    private void applied(Peer peer, long applied, long now) {
        if (applied > peer.applied) {
            peer.applied = applied;
        }
        measure(peer, now);
    }

    /**
     * How long a server needs to apply what the leader and a quorum have: it keeps up when it reaches a mark, set where
     * they were when it reached the one before, in time.
     */
    private void measure(Peer peer, long now) {
        if (peer.applied == Indices.NONE || history.durable() == Indices.NONE) {
            return;
        }
        if (!peer.measured || peer.applied >= peer.mark) {
            if (peer.measured && !peer.keepsUp) {
                peer.keepsUp = true;
                peer.keepsUpSince = now;
            }
            peer.measured = true;
            peer.mark = history.reachable();
            peer.markSince = now;
        } else if (now - peer.markSince >= rules.slowAfter) {
            peer.keepsUp = false;
        }
    }

    private void admitOrMakeRoom(Peer candidate) {
        int members = 1; // the leader
        Peer dispensable = null;
        boolean leaving = false;
        for (Peer peer : peers.values()) {
            if (peer.member) {
                members++;
                leaving |= peer.leave != Heartbeat.NO_LEAVE;
                if (dispensable == null || rules.rank(peer.server) > rules.rank(dispensable.server)) {
                    dispensable = peer;
                }
            }
        }
        if (members < rules.max) {
            admit(candidate);
        } else if (dispensable != null && !leaving
                && rules.rank(candidate.server) < rules.rank(dispensable.server)) {
            tellToLeave(dispensable, Reason.PREFERENCE);
        }
    }

    private void admit(Peer peer) {
        for (Peer older : of(peer.server)) {
            if (older != peer && older.member) {
                remove(older, Removal.RECONNECTED);
                forgetIfOver(older);
            }
        }
        onProbation.remove(peer.server);
        peer.member = true;
        peer.granted = false;
        out.admitted(peer.server, peer.connection);
    }

    private void replace(Peer older, Peer newer) {
        if (isKeyedByServer()) {
            newer.member = true;
            newer.applied = older.applied;
            older.member = false;
        } else {
            remove(older, Removal.RECONNECTED);
        }
    }

    private void tellToLeave(Peer peer, Reason why) {
        peer.leave = ++leaves;
        out.toldToLeave(peer.server, peer.connection, why);
    }

    private void remove(Peer peer, Removal why) {
        peer.member = false;
        peer.granted = false;
        peer.leave = Heartbeat.NO_LEAVE;
        out.removed(peer.server, peer.connection, why);
    }

    private void forgetIfOver(Peer peer) {
        if (!peer.registered && !peer.member) {
            peers.remove(peer.connection);
        }
    }

    private List<Peer> all() {
        return new ArrayList<>(peers.values());
    }

    private List<Peer> of(long server) {
        List<Peer> found = all();
        found.removeIf(peer -> peer.server != server);
        return found;
    }
}

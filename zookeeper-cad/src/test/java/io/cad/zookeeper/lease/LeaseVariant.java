// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.lease;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.core.Quorum;
import java.util.List;
import java.util.Set;

/** Wrong leases, each with one mistake that somebody could make. They exist in test classes only. */
public enum LeaseVariant {
    // --- the follower's lease

    LEASE_COUNTED_FROM_RECEIPT(readLease((process, settings, promise, now, wall, out) ->
            new ReadLease(process, settings, promise, now, wall, out) {
                @Override
                long startOf(Ticket ticket, long now) {
                    return now;
                }
            })),

    TICKET_REPLAYED(readLease((process, settings, promise, now, wall, out) ->
            new ReadLease(process, settings, promise, now, wall, out) {
                @Override
                boolean isMine(Ticket ticket) {
                    return true;
                }

                @Override
                boolean isInTable(Ticket ticket) {
                    return true;
                }
            })),

    /** The ticket carries the time at which it was sent. */
    TICKET_READ_FROM_THE_WIRE(readLease((process, settings, promise, now, wall, out) ->
            new ReadLease(process, settings, promise, now, wall, out) {
                @Override
                boolean isMine(Ticket ticket) {
                    return true;
                }

                @Override
                boolean isInTable(Ticket ticket) {
                    return true;
                }

                @Override
                long numberOf(long last, long now) {
                    return now;
                }

                @Override
                long startOf(Ticket ticket, long now) {
                    return ticket.number();
                }
            })),

    TABLE_KEPT_OVER_A_NEW_CONNECTION(readLease((process, settings, promise, now, wall, out) ->
            new ReadLease(process, settings, promise, now, wall, out) {
                @Override
                boolean drops(MarkOut why) {
                    return why != MarkOut.NEW_CONNECTION && why != MarkOut.SYNCHRONISATION;
                }
            })),

    TABLE_KEPT_OVER_A_RESYNC(readLease((process, settings, promise, now, wall, out) ->
            new ReadLease(process, settings, promise, now, wall, out) {
                @Override
                boolean drops(MarkOut why) {
                    return why != MarkOut.SYNCHRONISATION;
                }
            })),

    TABLE_KEPT_AFTER_A_PROMISE(readLease((process, settings, promise, now, wall, out) ->
            new ReadLease(process, settings, promise, now, wall, out) {
                @Override
                boolean drops(MarkOut why) {
                    return why != MarkOut.PROMISE && why != MarkOut.NEW_CONNECTION;
                }
            })),

    TABLE_KEPT_AFTER_LEAVE(readLease((process, settings, promise, now, wall, out) ->
            new ReadLease(process, settings, promise, now, wall, out) {
                @Override
                boolean drops(MarkOut why) {
                    return why != MarkOut.TOLD_TO_LEAVE;
                }
            })),

    SUSPENSION_KEEPS_THE_TABLES(readLease((process, settings, promise, now, wall, out) ->
            new ReadLease(process, settings, promise, now, wall, out) {
                @Override
                boolean drops(MarkOut why) {
                    return why != MarkOut.SUSPENSION;
                }
            })),

    /** A channel of its own that goes on although the server has connected anew. */
    HEARTBEATS_OUTLIVE_THE_CONNECTION(readLease((process, settings, promise, now, wall, out) ->
            new ReadLease(process, settings, promise, now, wall, out) {
                @Override
                boolean isCurrent(Heartbeat heartbeat) {
                    return true;
                }

                @Override
                boolean isMine(Ticket ticket) {
                    return true;
                }
            })),

    // --- promises

    NO_PROMISE(promise((settings, promised, recorded, now, out) ->
            new Promise(settings, promised, recorded, now, out) {
                @Override
                public long owed(long now) {
                    return 0;
                }
            })),

    PROMISE_FORGOTTEN_AT_RESTART(promise((settings, promised, recorded, now, out) ->
            new Promise(settings, promised, recorded, now, out) {
                @Override
                long owedAtStart(long recordedPromise, long configured) {
                    return 0;
                }
            })),

    CONFIGURED_PROMISE_AT_RESTART(promise((settings, promised, recorded, now, out) ->
            new Promise(settings, promised, recorded, now, out) {
                @Override
                long owedAtStart(long recordedPromise, long configured) {
                    return configured;
                }
            })),

    PROMISE_NOT_RECORDED(promise((settings, promised, recorded, now, out) ->
            new Promise(settings, promised, recorded, now, out) {
                @Override
                boolean covers(long nanos, long now) {
                    return true;
                }
            })),

    LEADERS_PROMISE_NOT_RECORDED(promise((settings, promised, recorded, now, out) ->
            new Promise(settings, promised, recorded, now, out) {
                @Override
                public boolean maySend(long epoch, long nanos, long now) {
                    return epoch >= promised();
                }
            })),

    PROMISE_RECORD_LOWERED_AT_ONCE(promise((settings, promised, recorded, now, out) ->
            new Promise(settings, promised, recorded, now, out) {
                @Override
                boolean isOver(long until, long now) {
                    return true;
                }
            })),

    EX_LEADER_FORGETS_ITS_PROMISE(promise((settings, promised, recorded, now, out) ->
            new Promise(settings, promised, recorded, now, out) {
                @Override
                long owedToOthers(long now) {
                    return owedAsLeader(now) > 0 ? 0 : super.owedToOthers(now);
                }
            })),

    EX_LEADER_FORGETS_ITS_GRANTS(promise((settings, promised, recorded, now, out) ->
            new Promise(settings, promised, recorded, now, out) {
                @Override
                long owedAsLeader(long now) {
                    return 0;
                }
            })),

    // --- the leader's lease

    /** Reads at the leader without a leader lease. */
    NO_LEADER_LEASE(leaderLease((epoch, self, settings, promise, stuck, now, wall, out) ->
            new LeaderLease(epoch, self, settings, promise, stuck, now, wall, out) {
                @Override
                boolean isWithin(long until, long now) {
                    return true;
                }
            })),

    LEADER_LEASE_WITHOUT_A_QUORUM(leaderLease((epoch, self, settings, promise, stuck, now, wall, out) ->
            new LeaderLease(epoch, self, settings, promise, stuck, now, wall, out) {
                @Override
                boolean isQuorum(Set<Long> servers) {
                    return true;
                }
            })),

    LEADER_LEASE_BY_OLD_MEMBERSHIP(leaderLease((epoch, self, settings, promise, stuck, now, wall, out) ->
            new LeaderLease(epoch, self, settings, promise, stuck, now, wall, out) {
                @Override
                public void configurations(List<Quorum> all) {
                    super.configurations(all.subList(0, 1));
                }
            })),

    OLDER_LEASES_NOT_AWAITED(leaderLease((epoch, self, settings, promise, stuck, now, wall, out) ->
            new LeaderLease(epoch, self, settings, promise, stuck, now, wall, out) {
                @Override
                long waitFor(long owed) {
                    return 0;
                }
            })),

    WAIT_BY_A_FAST_CLOCK(leaderLease((epoch, self, settings, promise, stuck, now, wall, out) ->
            new LeaderLease(epoch, self, settings, promise, stuck, now, wall, out) {
                @Override
                long waitFor(long owed) {
                    return owed;
                }
            })),

    SUSPENSION_KEEPS_THE_LEADER_LEASE(leaderLease((epoch, self, settings, promise, stuck, now, wall, out) ->
            new LeaderLease(epoch, self, settings, promise, stuck, now, wall, out) {
                @Override
                boolean dropsAtSuspension() {
                    return false;
                }
            })),

    // --- the leader's work

    STUCK_LEADER_STAYS(stuckLeader((timeout) ->
            new StuckLeader(timeout) {
                @Override
                boolean moved(long before, long done) {
                    return true;
                }
            })),

    // --- the active set

    REMOVAL_BEFORE_MARK_OUT(activeSet((epoch, settings, rules, lease, promise, history, out) ->
            new ActiveSet(epoch, settings, rules, lease, promise, history, out) {
                @Override
                boolean isOver(long ticketReceived, long now) {
                    return now - ticketReceived >= settings.readLease() / 2;
                }
            })),

    MEMBER_KEYED_BY_SERVER(activeSet((epoch, settings, rules, lease, promise, history, out) ->
            new ActiveSet(epoch, settings, rules, lease, promise, history, out) {
                @Override
                boolean isKeyedByServer() {
                    return true;
                }
            })),

    ECHO_AFTER_LEAVE(activeSet((epoch, settings, rules, lease, promise, history, out) ->
            new ActiveSet(epoch, settings, rules, lease, promise, history, out) {
                @Override
                boolean isLeaveRespected() {
                    return false;
                }
            })),

    ECHO_WITHOUT_A_LEADER_LEASE(activeSet((epoch, settings, rules, lease, promise, history, out) ->
            new ActiveSet(epoch, settings, rules, lease, promise, history, out) {
                @Override
                boolean needsLeaderLease() {
                    return false;
                }
            })),

    ADMISSION_WITHOUT_APPLIED(activeSet((epoch, settings, rules, lease, promise, history, out) ->
            new ActiveSet(epoch, settings, rules, lease, promise, history, out) {
                @Override
                boolean needsApplied() {
                    return false;
                }

                @Override
                boolean hasCaughtUp(long applied, long durable) {
                    return true;
                }
            })),

    /** Who is admitted was decided before D moved last, as by another thread. */
    ADMISSION_OUTSIDE_THE_LOCK(activeSet((epoch, settings, rules, lease, promise, history, out) ->
            new ActiveSet(epoch, settings, rules, lease, promise, history, out) {
                private long newest = Indices.NONE;
                private long before = Indices.NONE;

                @Override
                boolean needsApplied() {
                    return false;
                }

                @Override
                boolean hasCaughtUp(long applied, long durable) {
                    before = newest == Indices.NONE ? durable : durable == newest ? before : newest;
                    newest = durable;
                    return applied >= before;
                }
            })),

    ECHO_WITHOUT_APPLIED(activeSet((epoch, settings, rules, lease, promise, history, out) ->
            new ActiveSet(epoch, settings, rules, lease, promise, history, out) {
                @Override
                boolean needsApplied() {
                    return false;
                }
            })),

    STALE_HELLO_COUNTS(activeSet((epoch, settings, rules, lease, promise, history, out) ->
            new ActiveSet(epoch, settings, rules, lease, promise, history, out) {
                @Override
                boolean isStaleRefused() {
                    return false;
                }
            })),

    OLD_CONNECTION_SPEAKS(activeSet((epoch, settings, rules, lease, promise, history, out) ->
            new ActiveSet(epoch, settings, rules, lease, promise, history, out) {
                @Override
                boolean isCurrent(boolean registered) {
                    return true;
                }
            })),

    SLOW_SERVER_RETURNS_AT_ONCE(activeSet((epoch, settings, rules, lease, promise, history, out) ->
            new ActiveSet(epoch, settings, rules, lease, promise, history, out) {
                @Override
                boolean mayReturn(long keepsUpSince, long now) {
                    return true;
                }
            }));

    public final Leases leases;

    LeaseVariant(Leases leases) {
        this.leases = leases;
    }

    private interface ReadLeaseFactory {
        ReadLease make(long process, LeaseSettings settings, Promise promise, long now, long wall,
            ReadLease.Actions out);
    }

    private interface PromiseFactory {
        Promise make(LeaseSettings settings, long promised, long recorded, long now, Promise.Actions out);
    }

    private interface LeaderLeaseFactory {
        LeaderLease make(long epoch, long self, LeaseSettings settings, Promise promise, StuckLeader stuck,
            long now, long wall, LeaderLease.Actions out);
    }

    private interface StuckLeaderFactory {
        StuckLeader make(long timeout);
    }

    private interface ActiveSetFactory {
        ActiveSet make(long epoch, LeaseSettings settings, ActiveSetRules rules, LeaderLease lease,
            Promise promise, ActiveSet.History history, ActiveSet.Actions out);
    }

    private static Leases readLease(ReadLeaseFactory factory) {
        return new Leases() {
            @Override
            public ReadLease readLease(long process, LeaseSettings settings, Promise promise, long now, long wall,
                    ReadLease.Actions out) {
                return factory.make(process, settings, promise, now, wall, out);
            }
        };
    }

    private static Leases promise(PromiseFactory factory) {
        return new Leases() {
            @Override
            public Promise promise(LeaseSettings settings, long promised, long recorded, long now,
                    Promise.Actions out) {
                return factory.make(settings, promised, recorded, now, out);
            }
        };
    }

    private static Leases leaderLease(LeaderLeaseFactory factory) {
        return new Leases() {
            @Override
            public LeaderLease leaderLease(long epoch, long self, LeaseSettings settings, Promise promise,
                    StuckLeader stuck, long now, long wall, LeaderLease.Actions out) {
                return factory.make(epoch, self, settings, promise, stuck, now, wall, out);
            }
        };
    }

    private static Leases stuckLeader(StuckLeaderFactory factory) {
        return new Leases() {
            @Override
            public StuckLeader stuckLeader(long timeout) {
                return factory.make(timeout);
            }
        };
    }

    private static Leases activeSet(ActiveSetFactory factory) {
        return new Leases() {
            @Override
            public ActiveSet activeSet(long epoch, LeaseSettings settings, ActiveSetRules rules, LeaderLease lease,
                    Promise promise, ActiveSet.History history, ActiveSet.Actions out) {
                return factory.make(epoch, settings, rules, lease, promise, history, out);
            }
        };
    }
}

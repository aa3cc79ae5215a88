// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import io.cad.zookeeper.index.DirtyIndex;
import io.cad.zookeeper.index.DirtyVariants;
import io.cad.zookeeper.lease.LeaseVariant;
import io.cad.zookeeper.lease.Leases;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * Wrong cores, each with one mistake that somebody could make. A vector names those that it was written against, and
 * must notice them. They exist in test classes only.
 */
public enum Variant {
    // --- the leader's accounting

    DURABLE_WITHOUT_A_QUORUM(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        @Override
        boolean isQuorum(Set<Long> servers) {
            return true;
        }
    })),

    QUORUM_IS_EVERYBODY(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        private final Set<Long> connected = new HashSet<>(Set.of(self));

        @Override
        public void memberConnected(long connection, long server) {
            connected.add(server);
            super.memberConnected(connection, server);
        }

        @Override
        boolean isQuorum(Set<Long> servers) {
            return servers.containsAll(connected);
        }
    })),

    QUORUM_BY_COUNTING(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        private final Set<Long> voters = new HashSet<>();

        @Override
        public void configurations(List<Quorum> all) {
            voters.clear();
            all.forEach(one -> voters.addAll(((VectorQuorum) one).voters()));
            super.configurations(all);
        }

        @Override
        boolean isQuorum(Set<Long> servers) {
            return servers.stream().filter(voters::contains).count() > voters.size() / 2;
        }
    })),

    NON_VOTERS_COUNT(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        private List<Quorum> all = List.of();

        @Override
        public void configurations(List<Quorum> all) {
            this.all = all;
            super.configurations(all);
        }

        @Override
        boolean isQuorum(Set<Long> servers) {
            return !all.isEmpty() && all.stream().allMatch(one -> one.containsQuorum(servers));
        }
    })),

    OLD_CONFIGURATION_ONLY(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        @Override
        public void configurations(List<Quorum> all) {
            super.configurations(all.subList(0, 1));
        }
    })),

    NEW_CONFIGURATION_ONLY(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        @Override
        public void configurations(List<Quorum> all) {
            super.configurations(all.subList(all.size() - 1, all.size()));
        }
    })),

    REPORT_OF_OLDER_CONNECTION_COUNTS(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        @Override
        boolean isCurrent(long connection, long currentConnection) {
            return true;
        }
    })),

    REPORTS_SURVIVE_RECONNECT(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        private final Map<Long, Long> serverOf = new HashMap<>();
        private final Map<Long, Long> persistedBy = new HashMap<>();

        @Override
        public void memberConnected(long connection, long server) {
            super.memberConnected(connection, server);
            serverOf.put(connection, server);
            if (persistedBy.containsKey(server)) {
                report(connection, epoch, persistedBy.get(server), Indices.NONE, 0);
            }
        }

        @Override
        public void report(long connection, long reportedEpoch, long persisted, long applied, long now) {
            persistedBy.put(serverOf.get(connection), persisted);
            super.report(connection, reportedEpoch, persisted, applied, now);
        }
    })),

    LOST_MEMBER_COUNTS(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        @Override
        public void memberLost(long connection) {
        }
    })),

    REPORT_BEFORE_EPOCH_RECORDED_COUNTS(leader((epoch, self, timeout, out) ->
            new LeaderCore(epoch, self, timeout, out) {
                @Override
                boolean countsFrom(long reportedEpoch) {
                    return reportedEpoch <= epoch;
                }
            })),

    REPORT_OF_NEWER_EPOCH_COUNTS(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        @Override
        boolean countsFrom(long reportedEpoch) {
            return reportedEpoch >= epoch;
        }
    })),

    REPORT_OF_INCOMPLETE_HISTORY_COUNTS(leader((epoch, self, timeout, out) ->
            new LeaderCore(epoch, self, timeout, out) {
                @Override
                public void report(long connection, long reportedEpoch, long persisted, long applied, long now) {
                    long atLeast = Math.max(persisted, Indices.first(epoch));
                    super.report(connection, reportedEpoch, atLeast, applied, now);
                }
            })),

    REPORT_CUT_AT_OWN_LOG(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        @Override
        public void report(long connection, long reportedEpoch, long persisted, long applied, long now) {
            super.report(connection, reportedEpoch, Math.min(persisted, lastAppended()), applied, now);
        }
    })),

    DURABLE_RECOMPUTED_FROM_CURRENT_REPORTS(leader((epoch, self, timeout, out) ->
            new LeaderCore(epoch, self, timeout, out) {
                @Override
                long durableNow() {
                    long index = Math.min(persistedByQuorum(Indices.NONE), super.durableNow());
                    return super.durableNow() == Indices.NONE ? Indices.NONE : index;
                }

                @Override
                boolean moves(long from, long to) {
                    return from != to;
                }
            })),

    DURABLE_IGNORES_APPLIED(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        @Override
        long appliedByActiveSet() {
            return Long.MAX_VALUE;
        }
    })),

    DURABLE_IGNORES_PERSISTED(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        @Override
        long durableNow() {
            return super.durableNow() == Indices.NONE ? Indices.NONE : appliedByActiveSet();
        }
    })),

    APPENDED_TAKEN_FOR_PERSISTED(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        @Override
        public void appended(long index, long now) {
            super.appended(index, now);
            persisted(index, now);
        }
    })),

    PERSISTED_AFTER_FAILED_SYNC(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        @Override
        public void syncFailed() {
        }
    })),

    ESTABLISHED_WITHOUT_A_QUORUM(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        private boolean own;

        @Override
        public void established(long now) {
            own = true;
            super.established(now);
        }

        @Override
        long durableNow() {
            return own ? Math.max(Indices.first(epoch), super.durableNow()) : Indices.NONE;
        }
    })),

    ESTABLISHED_WITHOUT_OWN_PART(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        @Override
        long durableNow() {
            return quorumPersisted() == Indices.NONE ? Indices.NONE : Math.min(quorumPersisted(), appliedByActiveSet());
        }
    })),

    // --- the leader's flush rounds

    FLUSH_TARGET_IS_THE_REQUIRED_INDEX(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        @Override
        long targetOf(long index) {
            return index;
        }
    })),

    FLUSH_TARGET_IS_THE_OWN_LOG(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        @Override
        long targetOf(long index) {
            return lastAppended();
        }

        @Override
        boolean isReached(long target) {
            return target > Indices.first(epoch) && super.isReached(target); // else it would spin
        }
    })),

    DURABLE_IGNORES_MEMBERS(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        @Override
        public void activeSet(LongSupplier appliedByMembers) {
        }
    })),

    SECOND_ROUND_LOST(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        @Override
        long neededInNextRound(long index) {
            return roundInFlight() ? Indices.NONE : index;
        }
    })),

    ROUND_PER_REQUEST(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        @Override
        public void needDurable(long index, long now) {
            if (roundInFlight() && index > durable()) {
                out.flush(lastAppended());
            }
            super.needDurable(index, now);
        }
    })),

    ROUND_FOR_DURABLE_INDEX(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        @Override
        public void needDurable(long index, long now) {
            if (isEstablished() && index <= durable()) {
                out.flush(lastAppended());
            }
            super.needDurable(index, now);
        }
    })),

    ROUND_NEVER_TIMES_OUT(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        @Override
        boolean isExpired(long started, long now) {
            return false;
        }
    })),

    ROUND_WAITS_FOR_EVERYBODY(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        private final Set<Long> connected = new HashSet<>(Set.of(self));

        @Override
        public void memberConnected(long connection, long server) {
            connected.add(server);
            super.memberConnected(connection, server);
        }

        @Override
        boolean isReached(long target) {
            return holders(target).containsAll(connected);
        }
    })),

    NEED_BEFORE_ESTABLISHMENT_LOST(leader((epoch, self, timeout, out) -> new LeaderCore(epoch, self, timeout, out) {
        @Override
        public void needDurable(long index, long now) {
            if (isEstablished()) {
                super.needDurable(index, now);
            }
        }
    })),

    // --- the follower

    FOLLOWER_REPORTS_BEFORE_EPOCH_RECORDED(follower((epoch, timeout, out) -> new FollowerCore(epoch, timeout, out) {
        @Override
        boolean mayReport() {
            return true;
        }
    })),

    FOLLOWER_BELIEVES_BEFORE_SYNCHRONISED(follower((epoch, timeout, out) -> new FollowerCore(epoch, timeout, out) {
        @Override
        boolean mayBelieveLeader() {
            return true;
        }
    })),

    FOLLOWER_BELIEVES_OTHER_EPOCHS(follower((epoch, timeout, out) -> new FollowerCore(epoch, timeout, out) {
        @Override
        boolean accepts(long announcedEpoch, long index) {
            return true;
        }
    })),

    FOLLOWER_BELIEVES_THE_LAST_MESSAGE(follower((epoch, timeout, out) -> new FollowerCore(epoch, timeout, out) {
        @Override
        long chooseAnnounced(long known, long index) {
            return index;
        }
    })),

    FOLLOWER_CLAIMS_APPLIED_HISTORY(follower((epoch, timeout, out) -> new FollowerCore(epoch, timeout, out) {
        @Override
        long visible() {
            return Math.max(super.visible(), Indices.first(epoch));
        }
    })),

    FOLLOWER_REPORTS_BARE_LOG_INDEX(follower((epoch, timeout, out) -> new FollowerCore(epoch, timeout,
            new FollowerActions(out) {
                @Override
                public void report(long persisted, long applied) {
                    long below = Indices.first(epoch) - 1;
                    super.report(persisted == Indices.first(epoch) ? below : persisted, applied);
                }
            }))),

    FOLLOWER_ANSWERS_BEFORE_THE_SYNC(follower((epoch, timeout, out) -> new FollowerCore(epoch, timeout, out) {
        @Override
        public void flushAsked(long target, long now) {
            super.flushAsked(target, now);
            persisted(target, now);
        }
    })),

    FOLLOWER_SYNCS_FOR_EACH_REQUEST(follower((epoch, timeout, out) -> new FollowerCore(epoch, timeout, out) {
        @Override
        public void flushAsked(long target, long now) {
            super.flushAsked(target, now);
            out.flush(target);
        }
    })),

    FOLLOWER_SILENT_WHEN_PERSISTED(follower((epoch, timeout, out) -> new FollowerCore(epoch, timeout, out) {
        private long persisted = Indices.NONE;

        @Override
        public void persisted(long index, long now) {
            persisted = Math.max(persisted, index);
            super.persisted(index, now);
        }

        @Override
        public void flushAsked(long target, long now) {
            if (target > persisted) {
                super.flushAsked(target, now);
            }
        }
    })),

    FOLLOWER_FORGETS_WHAT_IS_AHEAD(follower((epoch, timeout, out) -> new FollowerCore(epoch, timeout, out) {
        private long appended = Indices.NONE;

        @Override
        public void appended(long index, long now) {
            appended = Math.max(appended, index);
            super.appended(index, now);
        }

        @Override
        public void flushAsked(long target, long now) {
            if (target <= appended) {
                super.flushAsked(target, now);
            }
        }
    })),

    FOLLOWER_FORGETS_EARLY_REQUEST(follower((epoch, timeout, out) -> new FollowerCore(epoch, timeout, out) {
        @Override
        public void flushAsked(long target, long now) {
            if (mayReport()) {
                super.flushAsked(target, now);
            }
        }
    })),

    FOLLOWER_REPORTS_APPLIED_LATE(follower((epoch, timeout, out) -> new FollowerCore(epoch, timeout, out) {
        private long latest = Indices.NONE;

        @Override
        public void applied(long index, long now) {
            latest = index;
        }

        @Override
        public void tick(long now) {
            super.applied(latest, now);
            super.tick(now);
        }
    })),

    FOLLOWER_TICK_IS_SILENT(follower((epoch, timeout, out) -> new FollowerCore(epoch, timeout, out) {
        @Override
        public void tick(long now) {
        }
    })),

    FOLLOWER_LOSES_SECOND_NEED(follower((epoch, timeout, out) -> new FollowerCore(epoch, timeout, out) {
        @Override
        long neededByNextRequest(long index) {
            return requestInFlight() ? Indices.NONE : index;
        }
    })),

    FOLLOWER_ASKS_FOR_EACH_REPLY(follower((epoch, timeout, out) -> new FollowerCore(epoch, timeout, out) {
        @Override
        public void needDurable(long index, long now) {
            if (requestInFlight() && index > durable()) {
                out.flushRequest(index);
            }
            super.needDurable(index, now);
        }
    })),

    FOLLOWER_NEVER_ASKS_AGAIN(follower((epoch, timeout, out) -> new FollowerCore(epoch, timeout, out) {
        @Override
        boolean requestExpired(long now) {
            return false;
        }
    })),

    FOLLOWER_FORGETS_EARLY_NEED(follower((epoch, timeout, out) -> new FollowerCore(epoch, timeout, out) {
        @Override
        public void needDurable(long index, long now) {
            if (mayReport()) {
                super.needDurable(index, now);
            }
        }
    })),

    FOLLOWER_PERSISTED_AFTER_FAILED_SYNC(follower((epoch, timeout, out) -> new FollowerCore(epoch, timeout, out) {
        @Override
        public void syncFailed() {
        }
    })),

    // --- held replies

    REPLY_LEAVES_ABOVE_DURABLE(replies(() -> new ReplyQueue<>() {
        @Override
        boolean isDurable(long required, long durable) {
            return true;
        }
    })),

    REPLY_WAITS_ONE_INDEX_TOO_LONG(replies(() -> new ReplyQueue<>() {
        @Override
        boolean isDurable(long required, long durable) {
            return required < durable;
        }
    })),

    REPLY_OVERTAKES_THE_QUEUE(replies(() -> new ReplyQueue<>() {
        @Override
        public boolean passes(long required, long durable) {
            return required <= durable;
        }
    })),

    REPLIES_LEAVE_IN_ORDER_OF_INDEX(replies(() -> new ReplyQueue<>() {
        private final List<Map.Entry<Long, String>> all = new ArrayList<>();

        @Override
        public void hold(String reply, long required, long bytes, long now) {
            all.add(Map.entry(required, reply));
            super.hold(reply, required, bytes, now);
        }

        @Override
        public String pollReady(long durable) {
            Map.Entry<Long, String> lowest = all.stream().min(Map.Entry.comparingByKey()).orElse(null);
            if (lowest == null || lowest.getKey() > durable) {
                return null;
            }
            all.remove(lowest);
            super.pollReady(Long.MAX_VALUE);
            return lowest.getValue();
        }
    })),

    REPLY_SURVIVES_ROLE_CHANGE(replies(() -> new ReplyQueue<>() {
        @Override
        public int discard() {
            return size();
        }
    })),

    ONLY_FIRST_REPLY_ASKS(replies(() -> new ReplyQueue<>() {
        @Override
        public long maxRequired() {
            return headRequired();
        }
    })),

    LAST_REPLY_ASKS(replies(() -> new ReplyQueue<>() {
        private long last = Indices.NONE;

        @Override
        public void hold(String reply, long required, long bytes, long now) {
            last = required;
            super.hold(reply, required, bytes, now);
        }

        @Override
        public long maxRequired() {
            return size() == 0 ? Indices.NONE : last;
        }
    })),

    HELD_BYTES_NEVER_SHRINK(replies(() -> new ReplyQueue<>() {
        private long all;

        @Override
        public void hold(String reply, long required, long bytes, long now) {
            all += bytes;
            super.hold(reply, required, bytes, now);
        }

        @Override
        public long bytes() {
            return all;
        }
    })),

    // --- the window

    WINDOW_IGNORES_TXNS(window((txns, bytes, age) -> new Window(txns, bytes, age) {
        @Override
        boolean fitsTxns(long found) {
            return true;
        }
    })),

    WINDOW_IGNORES_BYTES(window((txns, bytes, age) -> new Window(txns, bytes, age) {
        @Override
        boolean fitsBytes(long found) {
            return true;
        }
    })),

    WINDOW_IGNORES_AGE(window((txns, bytes, age) -> new Window(txns, bytes, age) {
        @Override
        boolean fitsAge(long nanos) {
            return true;
        }
    })),

    WINDOW_OPEN_FROM_THE_START(window((txns, bytes, age) -> new Window(txns, bytes, age) {
        @Override
        boolean isOpen() {
            return true;
        }
    })),

    WINDOW_STAYS_SHUT(window((txns, bytes, age) -> new Window(txns, bytes, age) {
        private boolean shut;

        @Override
        boolean fitsTxns(long found) {
            shut |= !super.fitsTxns(found);
            return !shut;
        }
    })),

    WINDOW_COUNTS_DURABLE_ENTRIES(window((txns, bytes, age) -> new Window(txns, bytes, age) {
        private boolean opened;

        @Override
        public void durable(long index) {
            if (!opened) {
                opened = true;
                super.durable(0);
            }
        }
    })),

    // --- the dirty index

    ABSENCE_TREATED_AS_DURABLE(dirty(DirtyVariants::absenceTreatedAsDurable)),
    NO_BARRIER_AFTER_RESYNC(dirty(DirtyVariants::noBarrierAfterResync)),
    NO_BARRIER_AT_START(dirty(DirtyVariants::noBarrierAtStart)),
    BOUND_DROPS_ITEMS(dirty(DirtyVariants::boundDropsItems)),
    FIRST_TOUCH_WINS(dirty(DirtyVariants::firstTouchWins)),
    DURABLE_NOT_PRUNED(dirty(DirtyVariants::durableNotPruned)),
    SUBTREE_BY_BARE_PREFIX(dirty(DirtyVariants::subtreeByBarePrefix)),
    SUBTREE_OF_ONE_NODE(dirty(DirtyVariants::subtreeOfOneNode)),

    // --- leases

    LEASE_COUNTED_FROM_RECEIPT(leases(LeaseVariant.LEASE_COUNTED_FROM_RECEIPT)),
    TICKET_REPLAYED(leases(LeaseVariant.TICKET_REPLAYED)),
    TICKET_READ_FROM_THE_WIRE(leases(LeaseVariant.TICKET_READ_FROM_THE_WIRE)),
    TABLE_KEPT_OVER_A_NEW_CONNECTION(leases(LeaseVariant.TABLE_KEPT_OVER_A_NEW_CONNECTION)),
    TABLE_KEPT_OVER_A_RESYNC(leases(LeaseVariant.TABLE_KEPT_OVER_A_RESYNC)),
    TABLE_KEPT_AFTER_A_PROMISE(leases(LeaseVariant.TABLE_KEPT_AFTER_A_PROMISE)),
    TABLE_KEPT_AFTER_LEAVE(leases(LeaseVariant.TABLE_KEPT_AFTER_LEAVE)),
    SUSPENSION_KEEPS_THE_TABLES(leases(LeaseVariant.SUSPENSION_KEEPS_THE_TABLES)),
    HEARTBEATS_OUTLIVE_THE_CONNECTION(leases(LeaseVariant.HEARTBEATS_OUTLIVE_THE_CONNECTION)),
    NO_PROMISE(leases(LeaseVariant.NO_PROMISE)),
    PROMISE_FORGOTTEN_AT_RESTART(leases(LeaseVariant.PROMISE_FORGOTTEN_AT_RESTART)),
    CONFIGURED_PROMISE_AT_RESTART(leases(LeaseVariant.CONFIGURED_PROMISE_AT_RESTART)),
    PROMISE_NOT_RECORDED(leases(LeaseVariant.PROMISE_NOT_RECORDED)),
    LEADERS_PROMISE_NOT_RECORDED(leases(LeaseVariant.LEADERS_PROMISE_NOT_RECORDED)),
    PROMISE_RECORD_LOWERED_AT_ONCE(leases(LeaseVariant.PROMISE_RECORD_LOWERED_AT_ONCE)),
    EX_LEADER_FORGETS_ITS_PROMISE(leases(LeaseVariant.EX_LEADER_FORGETS_ITS_PROMISE)),
    EX_LEADER_FORGETS_ITS_GRANTS(leases(LeaseVariant.EX_LEADER_FORGETS_ITS_GRANTS)),
    NO_LEADER_LEASE(leases(LeaseVariant.NO_LEADER_LEASE)),
    LEADER_LEASE_WITHOUT_A_QUORUM(leases(LeaseVariant.LEADER_LEASE_WITHOUT_A_QUORUM)),
    LEADER_LEASE_BY_OLD_MEMBERSHIP(leases(LeaseVariant.LEADER_LEASE_BY_OLD_MEMBERSHIP)),
    OLDER_LEASES_NOT_AWAITED(leases(LeaseVariant.OLDER_LEASES_NOT_AWAITED)),
    WAIT_BY_A_FAST_CLOCK(leases(LeaseVariant.WAIT_BY_A_FAST_CLOCK)),
    SUSPENSION_KEEPS_THE_LEADER_LEASE(leases(LeaseVariant.SUSPENSION_KEEPS_THE_LEADER_LEASE)),
    STUCK_LEADER_STAYS(leases(LeaseVariant.STUCK_LEADER_STAYS)),
    REMOVAL_BEFORE_MARK_OUT(leases(LeaseVariant.REMOVAL_BEFORE_MARK_OUT)),
    MEMBER_KEYED_BY_SERVER(leases(LeaseVariant.MEMBER_KEYED_BY_SERVER)),
    ECHO_AFTER_LEAVE(leases(LeaseVariant.ECHO_AFTER_LEAVE)),
    ECHO_WITHOUT_A_LEADER_LEASE(leases(LeaseVariant.ECHO_WITHOUT_A_LEADER_LEASE)),
    ADMISSION_WITHOUT_APPLIED(leases(LeaseVariant.ADMISSION_WITHOUT_APPLIED)),
    ADMISSION_OUTSIDE_THE_LOCK(leases(LeaseVariant.ADMISSION_OUTSIDE_THE_LOCK)),
    ECHO_WITHOUT_APPLIED(leases(LeaseVariant.ECHO_WITHOUT_APPLIED)),
    STALE_HELLO_COUNTS(leases(LeaseVariant.STALE_HELLO_COUNTS)),
    OLD_CONNECTION_SPEAKS(leases(LeaseVariant.OLD_CONNECTION_SPEAKS)),
    SLOW_SERVER_RETURNS_AT_ONCE(leases(LeaseVariant.SLOW_SERVER_RETURNS_AT_ONCE));

    public final Cores cores;

    /** The variant that a vector names: "second-round-lost". */
    static Variant named(String name) {
        for (Variant variant : values()) {
            if (variant.toString().equals(name)) {
                return variant;
            }
        }
        throw new Words.SyntaxError("unknown variant \"" + name + "\"");
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    Variant(Cores cores) {
        this.cores = cores;
    }

    interface LeaderFactory {
        LeaderCore make(long epoch, long self, long timeout, LeaderCore.Actions out);
    }

    interface FollowerFactory {
        FollowerCore make(long epoch, long timeout, FollowerCore.Actions out);
    }

    interface RepliesFactory {
        ReplyQueue<String> make();
    }

    interface WindowFactory {
        Window make(long txns, long bytes, long age);
    }

    interface DirtyFactory {
        DirtyIndex make(int max, long barrier);
    }

    /** Passes the actions on; a variant changes one of them. */
    private static class FollowerActions implements FollowerCore.Actions {
        private final FollowerCore.Actions out;

        FollowerActions(FollowerCore.Actions out) {
            this.out = out;
        }

        @Override
        public void report(long persisted, long applied) {
            out.report(persisted, applied);
        }

        @Override
        public void flush(long target) {
            out.flush(target);
        }

        @Override
        public void flushRequest(long index) {
            out.flushRequest(index);
        }

        @Override
        public void durable(long index) {
            out.durable(index);
        }
    }

    private static Cores leader(LeaderFactory factory) {
        return new Cores() {
            @Override
            public LeaderCore leader(long epoch, long self, long timeout, LeaderCore.Actions out) {
                return factory.make(epoch, self, timeout, out);
            }
        };
    }

    private static Cores follower(FollowerFactory factory) {
        return new Cores() {
            @Override
            public FollowerCore follower(long epoch, long timeout, FollowerCore.Actions out) {
                return factory.make(epoch, timeout, out);
            }
        };
    }

    private static Cores replies(RepliesFactory factory) {
        return new Cores() {
            @Override
            public ReplyQueue<String> replies() {
                return factory.make();
            }
        };
    }

    private static Cores window(WindowFactory factory) {
        return new Cores() {
            @Override
            public Window window(long txns, long bytes, long age) {
                return factory.make(txns, bytes, age);
            }
        };
    }

    private static Cores dirty(DirtyFactory factory) {
        return new Cores() {
            @Override
            public DirtyIndex dirty(int max, long barrier) {
                return factory.make(max, barrier);
            }
        };
    }

    private static Cores leases(LeaseVariant variant) {
        return new Cores() {
            @Override
            public Leases leases() {
                return variant.leases;
            }
        };
    }
}

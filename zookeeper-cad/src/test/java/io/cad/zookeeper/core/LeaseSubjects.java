// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import io.cad.zookeeper.lease.ActiveSet;
import io.cad.zookeeper.lease.ActiveSetRules;
import io.cad.zookeeper.lease.Heartbeat;
import io.cad.zookeeper.lease.HeartbeatAnswer;
import io.cad.zookeeper.lease.LeaderLease;
import io.cad.zookeeper.lease.LeaseSettings;
import io.cad.zookeeper.lease.Leases;
import io.cad.zookeeper.lease.Promise;
import io.cad.zookeeper.lease.ReadLease;
import io.cad.zookeeper.lease.StuckLeader;
import io.cad.zookeeper.lease.Ticket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Consumer;

/** The leases behind the words of the vectors, all with the settings for local networks. */
final class LeaseSubjects {
    private static final LeaseSettings LAN = LeaseSettings.lan();

    private LeaseSubjects() {
    }

    /** A part whose wall clock runs ahead of its monotonic one by the suspensions so far. */
    private abstract static class Timed extends Subject implements Promise.Actions {
        private static final long WALL = 1_000_000_000_000L;
        private long suspended;

        Timed(Consumer<String> out) {
            super(out);
        }

        long wall(long now) {
            return WALL + now + suspended;
        }

        void suspend(Words words) {
            suspended += words.time();
        }

        @Override
        public void record(long nanos) {
            out.accept("record " + Words.time(nanos));
        }
    }

    private static String word(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    private static String yes(boolean holds) {
        return holds ? "yes" : "no";
    }

    private static long recorded(Words words) {
        String text = words.literal("recorded").word();
        return text.equals("none") ? Promise.NONE : new Words(text).time();
    }

    static final class Read extends Timed implements ReadLease.Actions {
        private final Promise promise;
        private final ReadLease lease;

        Read(Words words, Leases leases, Consumer<String> out) {
            super(out);
            long process = words.literal("process").number();
            promise = leases.promise(LAN, 0, recorded(words), 0, this);
            lease = leases.readLease(process, LAN, promise, 0, wall(0), this);
        }

        @Override
        void event(String event, Words words, long now) {
            switch (event) {
                case "connected" ->
                    lease.connected(words.literal("epoch").number(), words.literal("connection").number());
                case "disconnected" -> lease.disconnected();
                case "synchronising" -> lease.synchronising();
                case "recorded" -> promise.recorded(words.time());
                case "promise" -> out.accept("states " + Words.time(lease.promise(words.number(), now)));
                case "suspended" -> suspend(words);
                case "check" -> lease.check(now, wall(now));
                case "heartbeat" -> lease.heartbeat(heartbeat(words), now, wall(now));
                default -> throw words.unknown(event);
            }
        }

        private static Heartbeat heartbeat(Words words) {
            long epoch = words.literal("epoch").number();
            long connection = words.literal("connection").number();
            long number = words.literal("number").number();
            Ticket echo = null;
            long leave = Heartbeat.NO_LEAVE;
            long promise = LAN.promise();
            long drift = LAN.driftPpm();
            while (words.more()) {
                String word = words.word();
                switch (word) {
                    case "echo" -> echo = ticket(words);
                    case "leave" -> leave = words.number();
                    case "promise" -> promise = words.time();
                    case "drift" -> drift = words.number();
                    default -> throw words.unknown(word);
                }
            }
            return new Heartbeat(epoch, connection, number, Indices.NONE, LAN.readLease(), promise, (int) drift, echo,
                    leave);
        }

        private static Ticket ticket(Words words) {
            String text = words.word();
            if (!text.matches("\\d+/\\d+/\\d+")) {
                throw words.unknown(text);
            }
            List<Long> parts = Arrays.stream(text.split("/")).map(Long::parseLong).toList();
            return new Ticket(parts.get(0), parts.get(1), parts.get(2));
        }

        @Override
        String state(String name, Words words, long now) {
            return switch (name) {
                case "holds" -> yes(lease.holds(now, wall(now)));
                case "owed" -> Words.time(promise.owed(now));
                default -> throw words.unknown(name);
            };
        }

        @Override
        public void answer(Heartbeat heartbeat, Ticket ticket, long left) {
            out.accept("answer " + heartbeat.number() + " ticket " + ticket
                    + (left == Heartbeat.NO_LEAVE ? "" : " left " + left));
        }

        @Override
        public void markedOut(ReadLease.MarkOut why) {
            out.accept("marked-out " + word(why));
        }

        @Override
        public void refuse(String why) {
            out.accept("refuse " + why.substring(0, why.indexOf(':')));
        }
    }

    static final class Promises extends Timed {
        private final Promise promise;

        Promises(Words words, Leases leases, Consumer<String> out) {
            super(out);
            promise = leases.promise(LAN, 0, recorded(words), 0, this);
        }

        @Override
        void event(String event, Words words, long now) {
            switch (event) {
                case "heartbeat" -> {
                    long epoch = words.literal("epoch").number();
                    long nanos = words.literal("promise").time();
                    boolean may = promise.mayAnswer(epoch, nanos, now);
                    if (may) {
                        promise.answered(now, nanos);
                    }
                    out.accept(may ? "answer" : "no-answer");
                }
                case "beat" -> {
                    long epoch = words.literal("epoch").number();
                    out.accept(promise.maySend(epoch, words.literal("promise").time(), now) ? "send" : "no-send");
                }
                case "echo" -> promise.echoed(now);
                case "recorded" -> promise.recorded(words.time());
                case "promise" -> out.accept("states " + Words.time(promise.promise(words.number(), now)));
                default -> throw words.unknown(event);
            }
        }

        @Override
        String state(String name, Words words, long now) {
            if (!name.equals("owed")) {
                throw words.unknown(name);
            }
            return Words.time(promise.owed(now));
        }
    }

    static final class Leader extends Timed implements LeaderLease.Actions {
        private static final long STUCK = 5_000_000_000L;
        private final LeaderLease lease;
        private final StuckLeader stuck;

        Leader(Words words, Leases leases, Consumer<String> out) {
            super(out);
            long epoch = words.literal("epoch").number();
            long self = words.literal("self").number();
            stuck = leases.stuckLeader(STUCK);
            Promise promise = leases.promise(LAN, 0, LAN.promise(), 0, this);
            lease = leases.leaderLease(epoch, self, LAN, promise, stuck, 0, wall(0), this);
        }

        @Override
        void event(String event, Words words, long now) {
            switch (event) {
                case "configurations" -> lease.configurations(VectorQuorum.parse(words));
                case "promised" -> lease.promised(words.number(), words.literal("owed").time(), now);
                case "elected" -> lease.elected();
                case "established" -> lease.established(now);
                case "beat" -> {
                    long number = lease.beat(now, wall(now));
                    out.accept(number == LeaderLease.NONE ? "no-heartbeat" : "heartbeat " + number);
                }
                case "answer" -> lease.answered(words.number(), words.literal("number").number(), now, wall(now));
                case "work" -> stuck.observe(StuckLeader.Work.valueOf(words.word().toUpperCase(Locale.ROOT)),
                        words.literal("wanted").index(), words.literal("done").index(), now);
                case "suspended" -> suspend(words);
                case "check" -> lease.check(now, wall(now));
                case "end" -> lease.end();
                default -> throw words.unknown(event);
            }
        }

        @Override
        String state(String name, Words words, long now) {
            return switch (name) {
                case "holds" -> yes(lease.holds(now, wall(now)));
                case "wait-over" -> yes(lease.isWaitOver(now));
                case "has-quorum" -> yes(lease.hasQuorum());
                case "answered-by-quorums" -> Long.toString(lease.answeredByQuorums());
                default -> throw words.unknown(name);
            };
        }

        @Override
        public void stepDown(StuckLeader.Work work) {
            out.accept("step-down " + word(work));
        }
    }

    /** Server 1 leads epoch 2, elected by whom it owes nothing, and is established from the start. */
    static final class Active extends Timed implements ActiveSet.Actions, ActiveSet.History, LeaderLease.Actions {
        private static final long EPOCH = 2;
        private static final long LEADER = 1;
        private final LeaderLease lease;
        private final ActiveSet set;
        private long durable = Indices.first(EPOCH);
        private long reachable = durable;

        Active(Words words, Leases leases, Consumer<String> out) {
            super(out);
            int max = (int) words.literal("max").number();
            List<Long> servers = servers(words.literal("servers").word(), words);
            long slow = words.literal("slow").time();
            ActiveSetRules rules = new ActiveSetRules(max, servers, slow, words.literal("back").time());
            Promise promise = leases.promise(LAN, 0, LAN.promise(), 0, this);
            lease = leases.leaderLease(EPOCH, LEADER, LAN, promise, leases.stuckLeader(1), 0, wall(0), this);
            set = leases.activeSet(EPOCH, LAN, rules, lease, promise, this, this);
            set.configurations(List.of(VectorQuorum.majority(Set.of(LEADER))));
            lease.promised(LEADER, 0, 0);
            lease.elected();
            lease.established(0);
        }

        private static List<Long> servers(String text, Words words) {
            if (text.equals("all")) {
                return List.of();
            }
            List<Long> servers = new ArrayList<>();
            for (String one : text.split(",")) {
                if (!one.matches("\\d+")) {
                    throw words.unknown(one);
                }
                servers.add(Long.parseLong(one));
            }
            return servers;
        }

        @Override
        void event(String event, Words words, long now) {
            switch (event) {
                case "configurations" -> set.configurations(VectorQuorum.parse(words));
                case "connect" -> {
                    boolean known = set.connected(words.number(), words.literal("server").number(),
                            words.literal("process").number(), words.literal("attempt").number(), now);
                    if (!known) {
                        out.accept("stale");
                    }
                }
                case "lost" -> set.lost(words.number(), now);
                case "history" -> {
                    durable = words.literal("durable").index();
                    reachable = words.literal("reachable").index();
                }
                case "beat" -> beat(words, now);
                case "answer" -> answer(words, now);
                case "tick" -> set.tick(now, wall(now));
                default -> throw words.unknown(event);
            }
        }

        /** One heartbeat, to the connections that are named. */
        private void beat(Words words, long now) {
            long number = lease.beat(now, wall(now));
            while (words.more()) {
                long connection = words.number();
                Heartbeat heartbeat = set.heartbeat(connection, number, now, wall(now));
                if (heartbeat == null) {
                    out.accept("no heartbeat on " + connection);
                } else {
                    out.accept("heartbeat " + number + " on " + connection
                            + (heartbeat.echo() == null ? "" : " echo " + heartbeat.echo().number())
                            + (heartbeat.leave() == Heartbeat.NO_LEAVE ? "" : " leave " + heartbeat.leave()));
                }
            }
        }

        private void answer(Words words, long now) {
            long connection = words.number();
            long number = words.literal("number").number();
            long ticket = words.literal("ticket").number();
            long applied = words.literal("applied").index();
            long left = words.more() ? words.literal("left").number() : Heartbeat.NO_LEAVE;
            set.answered(new HeartbeatAnswer(EPOCH, connection, number, new Ticket(7, connection, ticket), applied,
                    applied, left, HeartbeatAnswer.ROLE_FULL, 7), now, wall(now));
        }

        @Override
        String state(String name, Words words, long now) {
            return switch (name) {
                case "applied" -> set.applied() == Long.MAX_VALUE ? "all" : Indices.format(set.applied());
                case "member" -> yes(set.isMember(words.number()));
                default -> throw words.unknown(name);
            };
        }

        @Override
        public long durable() {
            return durable;
        }

        @Override
        public long reachable() {
            return reachable;
        }

        @Override
        public void admitted(long server, long connection) {
            out.accept("admitted " + connection);
        }

        @Override
        public void removed(long server, long connection, ActiveSet.Removal why) {
            out.accept("removed " + connection + " " + word(why));
        }

        @Override
        public void toldToLeave(long server, long connection, ActiveSet.Reason why) {
            out.accept("leave " + connection + " " + word(why));
        }

        @Override
        public void stepDown(StuckLeader.Work work) {
            out.accept("step-down " + word(work));
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.core;

import static io.cad.zookeeper.core.Indices.format;

import io.cad.zookeeper.index.DirtyIndex;
import java.util.function.Consumer;

/**
 * One part of the core behind the words of the vectors. The grammar of each part is in the README beside the vectors.
 */
abstract class Subject {
    /** Where actions go, as the vectors write them. */
    final Consumer<String> out;

    Subject(Consumer<String> out) {
        this.out = out;
    }

    /** The part that the first line of a vector names, with its parameters. */
    static Subject parse(Words words, Cores cores, Consumer<String> out) {
        String part = words.word();
        return switch (part) {
            case "leader" -> new Leader(words, cores, out);
            case "follower" -> new Follower(words, cores, out);
            case "replies" -> new Replies(words, cores, out);
            case "window" -> new WindowSubject(words, cores, out);
            case "dirty" -> new Dirty(words, cores, out);
            case "read-lease" -> new LeaseSubjects.Read(words, cores.leases(), out);
            case "promise" -> new LeaseSubjects.Promises(words, cores.leases(), out);
            case "leader-lease" -> new LeaseSubjects.Leader(words, cores.leases(), out);
            case "active-set" -> new LeaseSubjects.Active(words, cores.leases(), out);
            default -> throw words.unknown(part);
        };
    }

    /** Performs one event. */
    abstract void event(String event, Words words, long now);

    /** The value that a state check compares, as the vectors write it. */
    abstract String state(String name, Words words, long now);

    private static final class Leader extends Subject implements LeaderCore.Actions {
        private final LeaderCore core;
        private long appliedByMembers = Long.MAX_VALUE;

        Leader(Words words, Cores cores, Consumer<String> out) {
            super(out);
            long epoch = words.literal("epoch").number();
            long self = words.literal("self").number();
            core = cores.leader(epoch, self, words.literal("timeout").time(), this);
            core.activeSet(() -> appliedByMembers);
        }

        @Override
        void event(String event, Words words, long now) {
            switch (event) {
                case "configurations" -> core.configurations(VectorQuorum.parse(words));
                case "connect" -> core.memberConnected(words.number(), words.literal("server").number());
                case "lost" -> core.memberLost(words.number());
                case "established" -> core.established(now);
                case "appended" -> core.appended(words.index(), now);
                case "persisted" -> core.persisted(words.index(), now);
                case "sync-failed" -> core.syncFailed();
                case "applied" -> core.applied(words.index(), now);
                case "members-applied" -> {
                    appliedByMembers = words.index();
                    core.tick(now);
                }
                case "members-gone" -> {
                    appliedByMembers = Long.MAX_VALUE;
                    core.tick(now);
                }
                case "report" -> core.report(words.number(), words.literal("epoch").number(),
                        words.literal("persisted").index(), words.literal("applied").index(), now);
                case "need" -> core.needDurable(words.index(), now);
                case "tick" -> core.tick(now);
                default -> throw words.unknown(event);
            }
        }

        @Override
        String state(String name, Words words, long now) {
            return switch (name) {
                case "durable" -> format(core.durable());
                case "quorum-persisted" -> format(core.quorumPersisted());
                case "reachable" -> format(core.reachable());
                case "last-appended" -> format(core.lastAppended());
                case "established" -> core.isEstablished() ? "yes" : "no";
                default -> throw words.unknown(name);
            };
        }

        @Override
        public void durable(long index) {
            out.accept("durable " + format(index));
        }

        @Override
        public void flush(long target) {
            out.accept("flush " + format(target));
        }

        @Override
        public void flushRoundEnded(long target, boolean reached) {
            out.accept("round-ended " + format(target) + (reached ? " reached" : " timed-out"));
        }
    }

    private static final class Follower extends Subject implements FollowerCore.Actions {
        private final FollowerCore core;

        Follower(Words words, Cores cores, Consumer<String> out) {
            super(out);
            core = cores.follower(words.literal("epoch").number(), words.literal("timeout").time(), this);
        }

        @Override
        void event(String event, Words words, long now) {
            switch (event) {
                case "synchronised" -> core.synchronised(words.literal("persisted").index(),
                        words.literal("applied").index(), now);
                case "appended" -> core.appended(words.index(), now);
                case "persisted" -> core.persisted(words.index(), now);
                case "sync-failed" -> core.syncFailed();
                case "applied" -> core.applied(words.index(), now);
                case "announced" -> core.durableAnnounced(words.literal("epoch").number(),
                        words.literal("durable").index(), now);
                case "flush-asked" -> core.flushAsked(words.index(), now);
                case "need" -> core.needDurable(words.index(), now);
                case "tick" -> core.tick(now);
                default -> throw words.unknown(event);
            }
        }

        @Override
        String state(String name, Words words, long now) {
            if (!name.equals("durable")) {
                throw words.unknown(name);
            }
            return format(core.durable());
        }

        @Override
        public void report(long persisted, long applied) {
            out.accept("report persisted " + format(persisted) + " applied " + format(applied));
        }

        @Override
        public void flush(long target) {
            out.accept("flush " + format(target));
        }

        @Override
        public void flushRequest(long index) {
            out.accept("flush-request " + format(index));
        }

        @Override
        public void durable(long index) {
            out.accept("durable " + format(index));
        }
    }

    private static final class Replies extends Subject {
        private final ReplyQueue<String> queue;
        private long durable = Indices.NONE;

        Replies(Words words, Cores cores, Consumer<String> out) {
            super(out);
            queue = cores.replies();
        }

        @Override
        void event(String event, Words words, long now) {
            switch (event) {
                case "reply" -> reply(words.word(), words.literal("required").index(),
                        words.literal("bytes").number(), now);
                case "durable" -> drain(words.index());
                case "discard" -> out.accept("discarded " + queue.discard());
                default -> throw words.unknown(event);
            }
        }

        private void reply(String name, long required, long bytes, long now) {
            if (queue.passes(required, durable)) {
                out.accept("sent " + name);
            } else {
                queue.hold(name, required, bytes, now);
                out.accept("held " + name);
            }
        }

        private void drain(long index) {
            durable = index;
            for (String reply = queue.pollReady(index); reply != null; reply = queue.pollReady(index)) {
                out.accept("sent " + reply);
            }
        }

        @Override
        String state(String name, Words words, long now) {
            return switch (name) {
                case "head-required" -> format(queue.headRequired());
                case "max-required" -> format(queue.maxRequired());
                case "size" -> Long.toString(queue.size());
                case "bytes" -> Long.toString(queue.bytes());
                case "oldest" -> Words.time(queue.oldestHeldAt());
                default -> throw words.unknown(name);
            };
        }
    }

    private static final class WindowSubject extends Subject {
        private final Window window;

        WindowSubject(Words words, Cores cores, Consumer<String> out) {
            super(out);
            long txns = words.literal("txns").number();
            long bytes = words.literal("bytes").number();
            window = cores.window(txns, bytes, words.literal("age").time());
        }

        @Override
        void event(String event, Words words, long now) {
            switch (event) {
                case "appended" -> window.appended(words.index(), words.literal("bytes").number(), now);
                case "durable" -> window.durable(words.index());
                default -> throw words.unknown(event);
            }
        }

        @Override
        String state(String name, Words words, long now) {
            return switch (name) {
                case "admits" -> window.admits(words.index(), now) ? "yes" : "no";
                case "txns" -> Long.toString(window.txns());
                case "bytes" -> Long.toString(window.bytes());
                case "age" -> Words.time(window.ageNanos(now));
                default -> throw words.unknown(name);
            };
        }
    }

    private static final class Dirty extends Subject {
        private final DirtyIndex index;

        Dirty(Words words, Cores cores, Consumer<String> out) {
            super(out);
            index = cores.dirty((int) words.literal("max").number(), words.literal("barrier").index());
        }

        @Override
        void event(String event, Words words, long now) {
            switch (event) {
                case "touch" -> index.touch(words.word(), words.index());
                case "durable" -> index.durable(words.index());
                case "resynchronised" -> index.raiseBarrier(words.index());
                default -> throw words.unknown(event);
            }
        }

        @Override
        String state(String name, Words words, long now) {
            return switch (name) {
                case "required" -> format(index.required(words.word()));
                case "required-under" -> format(index.requiredUnder(words.word()));
                case "barrier" -> format(index.barrier());
                case "floor" -> format(index.floor());
                case "size" -> Long.toString(index.size());
                default -> throw words.unknown(name);
            };
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.role;

import io.cad.zookeeper.config.CadConfig;
import io.cad.zookeeper.config.Mode;
import io.cad.zookeeper.core.FollowerCore;
import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.lease.Heartbeat;
import io.cad.zookeeper.lease.HeartbeatAnswer;
import io.cad.zookeeper.node.Followership;
import io.cad.zookeeper.node.PeerLease;

/** This server as follower or observer on one connection to one leader: it reports, and believes D. */
public final class FollowerRole extends Role implements FollowerCore.Actions {

    /** The connection to the leader. */
    public interface Link {
        /** Sends what this server has persisted and applied; observers send nothing. */
        void report(long persisted, long applied);

        void requestFlush(long target);
    }

    private final Followership following;
    private final Link link;
    private final String name;
    private final boolean readsByLease;

    /** @param votes false for an observer, which is never a member of the active set */
    public FollowerRole(CadConfig config, Mode mode, long epoch, long self, long lastApplied, Files files, Link link,
                        String name, PeerLease lease, boolean votes) {
        super(config, mode, epoch, lastApplied, files, "cad-" + name + "-" + self);
        this.link = link;
        this.name = name;
        this.readsByLease = votes && mode.reads == Mode.Reads.ACTIVE_SET;
        this.following = new Followership(new FollowerCore(epoch, this), lease, SystemClock.INSTANCE);
    }

    /** The history is persisted up to an index and the epoch is recorded: reports count from here. */
    public void synchronised(long persisted, long applied) {
        following.synchronised(persisted, applied);
    }

    // ---- what the leader says

    public void durableAnnounced(long announcedEpoch, long durable) {
        following.durableAnnounced(announcedEpoch, durable);
    }

    /**
     * On this connection, after the synchronisation.
     *
     * @return what to answer, or null
     */
    public HeartbeatAnswer heartbeat(Heartbeat heartbeat) throws PeerLease.RefusedException {
        HeartbeatAnswer answer = following.heartbeat(heartbeat);
        pollReads();
        return answer;
    }

    public void flushAsked(long target) {
        following.flushAsked(target);
    }

    // ---- this server

    @Override
    public void written(long zxid) {
        following.appended(zxid);
    }

    @Override
    public void persisted(long zxid) {
        following.persisted(zxid);
    }

    @Override
    public void applied(long zxid) {
        if (mode.tracksDurable()) {
            following.applied(zxid);
        }
    }

    @Override
    public long durable() {
        return following.durable();
    }

    @Override
    public void need(long target) {
        following.need(target);
    }

    /**
     * With reads at the leader each one asks for its position, which only an established leader gives; until then it
     * waits here.
     */
    @Override
    public boolean mayRead() {
        return readsByLease ? following.mayRead() : following.durable() != Indices.NONE;
    }

    public PeerLease lease() {
        return following.lease();
    }

    @Override
    protected void tick(long now) {
        following.tick();
    }

    @Override
    public void stop() {
        following.end();
        super.stop();
    }

    // ---- actions of the core

    @Override
    public void report(long persisted, long applied) {
        link.report(persisted, applied);
    }

    @Override
    public void flush(long target) {
        if (flusher != null) {
            flusher.demand();
        }
    }

    @Override
    public void flushRequest(long target) {
        link.requestFlush(target);
    }

    @Override
    public void durable(long moved) {
        if (!isStopped()) {
            durableMoved(moved);
        }
    }

    @Override
    public String name() {
        return name;
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.role.FollowerRole;
import io.cad.zookeeper.role.LeaderRole;
import io.cad.zookeeper.role.Role;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;
import org.apache.zookeeper.metrics.MetricsContext;

/** What a role shows to operators: gauges, and the fields of the {@code cad} command. */
public final class CadMonitor {

    private CadMonitor() {
    }

    private static final String[] GAUGES = {
        "cad_durable_lag_txns", "cad_durable_lag_ms", "cad_undurable_bytes", "cad_dirty_items",
        "cad_held_now", "cad_held_connections", "cad_held_bytes", "cad_lease_ms", "cad_active_set_size"};
    private static final long MILLI = 1_000_000;
    private static final String PERSISTED = "cad_persisted_index";

    /** Registers the gauges of a role with the server's metrics provider; {@code mntr} shows them too. */
    public static void register(Role role) {
        MetricsContext context = ServerMetrics.getMetrics().getMetricsProvider().getRootContext();
        context.registerGauge("cad_durable_lag_txns", role::undurableTxns);
        context.registerGauge("cad_durable_lag_ms", role::undurableMillis);
        context.registerGauge("cad_undurable_bytes", role::undurableBytes);
        context.registerGauge("cad_dirty_items", role.index::size);
        context.registerGauge("cad_held_now", role.gates::repliesHeld);
        context.registerGauge("cad_held_connections", role.gates::connectionsHeld);
        context.registerGauge("cad_held_bytes", role.gates::bytesHeld);
        context.registerGauge("cad_lease_ms", () -> leaseMillis(role));
        if (role instanceof LeaderRole) {
            context.registerGauge("cad_active_set_size", () -> 1 + ((LeaderRole) role).activeFollowers());
            context.registerGaugeSet(PERSISTED, () -> {
                Map<String, Number> values = new LinkedHashMap<>();
                ((LeaderRole) role).persistedByServer().forEach((server, at) -> values.put("server_" + server, at));
                return values;
            });
        }
    }

    public static void unregister() {
        MetricsContext context = ServerMetrics.getMetrics().getMetricsProvider().getRootContext();
        for (String gauge : GAUGES) {
            context.unregisterGauge(gauge);
        }
        context.unregisterGaugeSet(PERSISTED);
    }

    /** What is no number, for {@code mntr}, which puts {@code zk_} before the names. */
    public static void dump(Role role, BiConsumer<String, Object> out) {
        out.accept("cad_mode", role.mode.toString());
        out.accept("cad_role", role.name());
    }

    /** Everything the {@code cad} command answers, in order. */
    public static Map<String, Object> describe(Role role) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("mode", role.mode.toString());
        fields.put("role", role.name());
        fields.put("epoch", role.epoch);
        fields.put("durable_index", index(role.durable()));
        fields.put("applied_index", index(role.index.lastApplied()));
        if (role instanceof LeaderRole) {
            LeaderRole leader = (LeaderRole) role;
            fields.put("quorum_persisted_index", index(leader.quorumPersisted()));
            fields.put("last_logged_index", index(leader.lastAppended()));
            Map<String, String> persisted = new LinkedHashMap<>();
            leader.persistedByServer().forEach((server, at) -> persisted.put(Long.toString(server), index(at)));
            fields.put("persisted_by_server", persisted);
            fields.put("active_set", leader.activeSet());
            fields.put("on_probation", leader.onProbation());
        }
        fields.put("lease_ms", leaseMillis(role));
        fields.put("may_answer_reads", role.mayRead());
        if (role instanceof FollowerRole) {
            fields.put("promise_owed_ms", ((FollowerRole) role).lease().owed() / MILLI);
        }
        fields.put("durable_lag_txns", role.undurableTxns());
        fields.put("durable_lag_ms", role.undurableMillis());
        fields.put("undurable_bytes", role.undurableBytes());
        fields.put("dirty_items", role.index.size());
        fields.put("replies_held", role.gates.repliesHeld());
        fields.put("connections_held", role.gates.connectionsHeld());
        fields.put("bytes_held", role.gates.bytesHeld());
        return fields;
    }

    /** Of the lease by which this server may answer reads: how long it lasts unless it is renewed. */
    private static long leaseMillis(Role role) {
        return (role instanceof LeaderRole ? ((LeaderRole) role).leaseRemaining()
            : ((FollowerRole) role).lease().remaining()) / MILLI;
    }

    private static String index(long index) {
        return index < 0 ? "none" : Indices.format(index);
    }

    /** Restoring a snapshot into a running server would undo what clients have read. */
    public static IOException restoreRefused() {
        return new IOException("restore is refused while cad.durability is set: it would take back what clients have "
            + "read; stop the ensemble and restore its data directories instead");
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.role.LeaderRole;
import io.cad.zookeeper.role.Role;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;

/** What a role shows to operators: the lines of {@code mntr} and the fields of the {@code cad} command. */
public final class CadMonitor {

    private CadMonitor() {
    }

    /** The gauges of a role under the names of {@code mntr}, which puts {@code zk_} before them. */
    public static void dump(Role role, BiConsumer<String, Object> out) {
        out.accept("cad_mode", role.mode.toString());
        out.accept("cad_role", role.name());
        out.accept("cad_durable_lag_txns", role.undurableTxns());
        out.accept("cad_durable_lag_ms", role.undurableMillis());
        out.accept("cad_undurable_bytes", role.undurableBytes());
        out.accept("cad_dirty_items", (long) role.index.size());
        out.accept("cad_held_now", role.gates.repliesHeld());
        out.accept("cad_held_connections", (long) role.gates.connectionsHeld());
        out.accept("cad_held_bytes", role.gates.bytesHeld());
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
        }
        dump(role, (name, value) -> fields.putIfAbsent(name.substring("cad_".length()), value));
        return fields;
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

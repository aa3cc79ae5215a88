// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.admin;

import io.cad.zookeeper.role.Role;
import java.util.List;
import java.util.Map;
import org.apache.zookeeper.server.CadConnections;
import org.apache.zookeeper.server.CadMonitor;
import org.apache.zookeeper.server.ZooKeeperServer;

/** {@code /commands/cad}: the fields of the four letter command as JSON. */
public final class CadAdminCommand extends GetCommand {

    public CadAdminCommand() {
        super(List.of("cad"));
    }

    @Override
    public CommandResponse runGet(ZooKeeperServer server, Map<String, String> arguments) {
        CommandResponse response = initializeResponse();
        Role role = server instanceof CadConnections.RoleHolder ? ((CadConnections.RoleHolder) server).role() : null;
        if (role == null) {
            response.put("mode", "stock");
        } else {
            CadMonitor.describe(role).forEach(response::put);
        }
        return response;
    }
}

// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server.command;

import io.cad.zookeeper.role.Role;
import java.io.PrintWriter;
import java.util.Map;
import org.apache.zookeeper.server.CadConnections;
import org.apache.zookeeper.server.CadMonitor;
import org.apache.zookeeper.server.ServerCnxn;

/** The command {@code cad}: mode, indices, what is held. The newline that netcat sends is its fourth letter. */
public final class CadCommand extends AbstractFourLetterCommand {


    public static final String NAME = "cad";

    public CadCommand(PrintWriter writer, ServerCnxn connection) {
        super(writer, connection);
    }

    @Override
    public void commandRun() {
        if (!isZKServerRunning()) {
            pw.println(ZK_NOT_SERVING);
            return;
        }
        Role role = zkServer instanceof CadConnections.RoleHolder
            ? ((CadConnections.RoleHolder) zkServer).role() : null;
        if (role == null) {
            pw.println("mode\tstock");
            return;
        }
        for (Map.Entry<String, Object> field : CadMonitor.describe(role).entrySet()) {
            pw.println(field.getKey() + "\t" + field.getValue());
        }
    }
}

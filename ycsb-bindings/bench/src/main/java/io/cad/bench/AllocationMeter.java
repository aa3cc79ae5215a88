// SPDX-License-Identifier: Apache-2.0
package io.cad.bench;

import com.sun.management.ThreadMXBean;
import com.sun.tools.attach.AttachNotSupportedException;
import com.sun.tools.attach.VirtualMachine;
import io.cad.zookeeper.testkit.ServerProcess;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.util.ArrayList;
import java.util.List;
import javax.management.MBeanServerConnection;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/** Bytes that the threads of servers have allocated, by the JVM's own account. */
final class AllocationMeter implements AutoCloseable {
    private final List<JMXConnector> connectors = new ArrayList<>();
    private final List<ThreadMXBean> servers = new ArrayList<>();

    /** Attaches to each server; the management agent that this loads stays in it. */
    AllocationMeter(List<ServerProcess> processes) throws IOException, AttachNotSupportedException {
        for (ServerProcess server : processes) {
            VirtualMachine machine = VirtualMachine.attach(Long.toString(server.pid()));
            try {
                JMXConnector connector = JMXConnectorFactory.connect(new JMXServiceURL(machine.startLocalManagementAgent()));
                connectors.add(connector);
                MBeanServerConnection connection = connector.getMBeanServerConnection();
                servers.add(ManagementFactory.newPlatformMXBeanProxy(connection, ManagementFactory.THREAD_MXBEAN_NAME, ThreadMXBean.class));
            } finally {
                machine.detach();
            }
        }
    }

    /** Sum over the live threads, without those that answer us. */
    double bytes() {
        double sum = 0;
        for (ThreadMXBean server : servers) {
            long[] ids = server.getAllThreadIds();
            long[] bytes = server.getThreadAllocatedBytes(ids);
            ThreadInfo[] infos = server.getThreadInfo(ids);
            for (int i = 0; i < ids.length; i++) {
                if (infos[i] != null && bytes[i] > 0 && !isOurs(infos[i].getThreadName())) {
                    sum += bytes[i];
                }
            }
        }
        return sum;
    }

    private static boolean isOurs(String thread) {
        return thread.startsWith("RMI ") || thread.startsWith("JMX ") || thread.startsWith("Attach Listener");
    }

    @Override
    public void close() throws IOException {
        for (JMXConnector connector : connectors) {
            connector.close();
        }
    }
}

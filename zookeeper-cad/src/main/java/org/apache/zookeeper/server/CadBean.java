// SPDX-License-Identifier: Apache-2.0
package org.apache.zookeeper.server;

import io.cad.zookeeper.core.Indices;
import io.cad.zookeeper.role.Role;
import javax.management.JMException;
import org.apache.zookeeper.jmx.MBeanRegistry;
import org.apache.zookeeper.jmx.ZKMBeanInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The role as an MBean, below the server's own bean. */
public final class CadBean implements CadMXBean, ZKMBeanInfo {

    private static final Logger LOG = LoggerFactory.getLogger(CadBean.class);

    private final Role role;

    private CadBean(Role role) {
        this.role = role;
    }

    /** Registers a bean for a role; returns null where upstream has none to put it below. */
    public static CadBean register(Role role, ZKMBeanInfo server) {
        if (server == null) {
            return null;
        }
        CadBean bean = new CadBean(role);
        try {
            MBeanRegistry.getInstance().register(bean, server);
            return bean;
        } catch (JMException e) {
            LOG.warn("Failed to register with JMX", e);
            return null;
        }
    }

    public static void unregister(CadBean bean) {
        if (bean != null) {
            MBeanRegistry.getInstance().unregister(bean);
        }
    }

    @Override
    public String getName() {
        return "Durability";
    }

    @Override
    public boolean isHidden() {
        return false;
    }

    @Override
    public String getMode() {
        return role.mode.toString();
    }

    @Override
    public String getDurableIndex() {
        return role.durable() < 0 ? "none" : Indices.format(role.durable());
    }

    @Override
    public String getAppliedIndex() {
        return Indices.format(role.index.lastApplied());
    }

    @Override
    public long getDurableLagTxns() {
        return role.undurableTxns();
    }

    @Override
    public long getDurableLagMillis() {
        return role.undurableMillis();
    }

    @Override
    public long getUndurableBytes() {
        return role.undurableBytes();
    }

    @Override
    public long getRepliesHeld() {
        return role.gates.repliesHeld();
    }

    @Override
    public long getBytesHeld() {
        return role.gates.bytesHeld();
    }
}

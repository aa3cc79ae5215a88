// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.durability.CadTxnLog;
import io.cad.zookeeper.testing.Ensemble;
import io.cad.zookeeper.testing.Ensemble.Transport;
import io.cad.zookeeper.testing.RawClient;
import io.cad.zookeeper.testing.Settings;
import java.io.File;
import java.lang.reflect.Field;
import org.apache.zookeeper.server.NIOServerCnxn;
import org.apache.zookeeper.server.NettyServerCnxn;
import org.apache.zookeeper.server.ServerCnxn;
import org.apache.zookeeper.server.ServerExtension;
import org.apache.zookeeper.server.persistence.FileTxnLog;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;
import org.apache.zookeeper.server.quorum.Follower;
import org.apache.zookeeper.server.quorum.Leader;
import org.apache.zookeeper.server.quorum.Observer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The plugin without settings leaves every object the stock one; with settings it supplies its own. */
class ServerExtensionTest {

    private static Object log(Ensemble ensemble, long server) throws ReflectiveOperationException {
        Field field = FileTxnSnapLog.class.getDeclaredField("txnLog");
        field.setAccessible(true);
        return field.get(ensemble.peer(server).getTxnFactory());
    }

    private static ServerCnxn connection(Ensemble ensemble, long server) {
        return ensemble.server(server).getServerCnxnFactory().getConnections().iterator().next();
    }

    @Test
    void pluginIsFound() {
        assertInstanceOf(CadExtension.class, ServerExtension.get());
    }

    @ParameterizedTest
    @EnumSource(Transport.class)
    void withoutSettingsEverythingIsStock(Transport transport) throws Exception {
        long before = CadObjects.created();
        try (Settings settings = Settings.of();
             Ensemble ensemble = new Ensemble(transport, 3, 1).startAll()) {
            long leader = ensemble.leader();
            long follower = ensemble.follower();
            assertSame(Leader.class, ensemble.peer(leader).leader.getClass());
            assertSame(Follower.class, ensemble.peer(follower).follower.getClass());
            assertSame(Observer.class, ensemble.peer(4).observer.getClass());
            assertEquals("org.apache.zookeeper.server.quorum.LeaderZooKeeperServer",
                ensemble.server(leader).getClass().getName());
            for (long server = 1; server <= 4; server++) {
                assertSame(FileTxnLog.class, log(ensemble, server).getClass());
                assertFalse(new File(ensemble.data(server), "cad").exists(), "a stock server leaves no side files");
            }
            RawClient client = ensemble.client(follower);
            assertSame(transport == Transport.NIO ? NIOServerCnxn.class : NettyServerCnxn.class,
                connection(ensemble, follower).getClass());
            client.close();
            assertTrue(ensemble.command(follower, "cad\n").contains("stock"));
        }
        assertEquals(before, CadObjects.created());
    }

    @ParameterizedTest
    @EnumSource(Transport.class)
    void withSettingsEveryRoleIsOurs(Transport transport) throws Exception {
        long before = CadObjects.created();
        try (Settings settings = Settings.of("cad.durability", "immediate");
             Ensemble ensemble = new Ensemble(transport, 3, 1).startAll()) {
            long leader = ensemble.leader();
            long follower = ensemble.follower();
            assertEquals("CadLeader", ensemble.peer(leader).leader.getClass().getSimpleName());
            assertEquals("CadFollower", ensemble.peer(follower).follower.getClass().getSimpleName());
            assertEquals("CadObserver", ensemble.peer(4).observer.getClass().getSimpleName());
            for (long server = 1; server <= 4; server++) {
                assertSame(CadTxnLog.class, log(ensemble, server).getClass());
            }
            RawClient client = ensemble.client(follower);
            assertTrue(connection(ensemble, follower).getClass().getSimpleName().startsWith("Cad"));
            client.close();
        }
        assertTrue(CadObjects.created() >= before + 4);
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.clienttests;

import static io.cad.zookeeper.clienttests.RealClients.LIMIT;
import static io.cad.zookeeper.clienttests.RealClients.SESSION;
import static io.cad.zookeeper.clienttests.RealClients.bytes;
import static io.cad.zookeeper.clienttests.RealClients.create;
import static io.cad.zookeeper.clienttests.RealClients.text;
import static io.cad.zookeeper.clienttests.RealClients.zooKeeper;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.cad.zookeeper.testkit.Await;
import io.cad.zookeeper.testkit.Clients;
import io.cad.zookeeper.testkit.Ensemble;
import io.cad.zookeeper.testkit.EnsembleConfig;
import io.cad.zookeeper.testkit.RunDirectory;
import io.cad.zookeeper.testkit.ServerProcess;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLSocket;
import javax.security.auth.login.Configuration;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.common.ClientX509Util;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** TLS and SASL, among servers and for clients, in mode cad: the protected way works and the open one is refused. */
@Tag("full")
@Timeout(240)
class SecurityTest {
    private static final String NETTY = "org.apache.zookeeper.server.NettyServerCnxnFactory";
    /** On by default, and with it DIGEST-MD5 off. */
    private static final String FIPS_MODE = "fips-mode";
    private static final String DIGEST = "org.apache.zookeeper.server.auth.DigestLoginModule required";

    private RunDirectory run;

    @BeforeEach
    void makeRun() throws Exception {
        run = RunDirectory.create("security");
    }

    @AfterEach
    void endRun() {
        run.close();
    }

    /** Writes, durable reads at every server, and an election: all that the links among servers carry. */
    private static void useEverything(Ensemble ensemble) throws Exception {
        try (ZooKeeper client = zooKeeper(ensemble.connectString())) {
            create(client, "/secured", "0");
            client.create("/ephemeral", bytes(""), Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
        }
        readEverywhere(ensemble, "0");
        ServerProcess leader = ensemble.awaitLeader(LIMIT);
        leader.kill();
        leader.awaitEnd();
        ensemble.awaitLeader(LIMIT);
        ensemble.startAll();
        try (ZooKeeper client = zooKeeper(ensemble.connectString())) {
            client.setData("/secured", bytes("1"), 0);
        }
        readEverywhere(ensemble, "1");
    }

    private static void readEverywhere(Ensemble ensemble, String value) throws Exception {
        for (ServerProcess server : ensemble.servers()) {
            try (ZooKeeper client = zooKeeper(server.connectString())) {
                assertEquals(value, text(client.getData("/secured", false, null)));
            }
        }
    }

    @Test
    void serversSpeakTlsToEachOther() throws Exception {
        KeyStores stores = KeyStores.create(run.path());
        Ensemble ensemble = Ensemble.start(run, Mode.CAD_ASYNC.ensemble(3).cfg("sslQuorum", "true")
                .cfg("serverCnxnFactory", NETTY).cfg(stores.settings("ssl.quorum.")));
        useEverything(ensemble);
        int port = quorumPort(ensemble.awaitLeader(LIMIT));
        tlsHandshake(stores, true, port);
        // An alert, or a broken pipe if the alert comes while the client still writes.
        assertThrows(IOException.class, () -> tlsHandshake(stores, false, port), "a stranger without a key");
    }

    private static int quorumPort(ServerProcess server) throws IOException {
        Matcher line = Pattern.compile("server\\." + server.id() + "=127\\.0\\.0\\.1:(\\d+):")
                .matcher(Files.readString(server.configFile()));
        assertTrue(line.find());
        return Integer.parseInt(line.group(1));
    }

    private static void tlsHandshake(KeyStores stores, boolean withKey, int port) throws Exception {
        try (SSLSocket socket = (SSLSocket) stores.context(withKey).getSocketFactory()
                .createSocket(InetAddress.getLoopbackAddress(), port)) {
            socket.setEnabledProtocols(new String[] {"TLSv1.2"});
            socket.setSoTimeout((int) LIMIT.toMillis());
            socket.startHandshake();
        }
    }

    @Test
    void clientsSpeakTls() throws Exception {
        KeyStores stores = KeyStores.create(run.path());
        Ensemble ensemble = Ensemble.create(run, Mode.CAD_ASYNC.ensemble(3).cfg("serverCnxnFactory", NETTY)
                .cfg("secureClientPortAddress", "127.0.0.1").cfg(stores.settings("ssl.")));
        int[] ports = new int[4];
        for (ServerProcess server : ensemble.servers()) {
            try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
                ports[server.id()] = free.getLocalPort();
            }
            Files.writeString(server.configFile(), "secureClientPort=" + ports[server.id()] + "\n", StandardOpenOption.APPEND);
        }
        ensemble.startAll();
        ZKClientConfig tls = new ZKClientConfig();
        tls.setProperty(ZKClientConfig.ZOOKEEPER_CLIENT_CNXN_SOCKET, "org.apache.zookeeper.ClientCnxnSocketNetty");
        tls.setProperty(ZKClientConfig.SECURE_CLIENT, "true");
        try (ClientX509Util names = new ClientX509Util()) {
            tls.setProperty(names.getSslKeystoreLocationProperty(), stores.settings("").get("keyStore.location"));
            tls.setProperty(names.getSslKeystorePasswdProperty(), stores.settings("").get("keyStore.password"));
            tls.setProperty(names.getSslTruststoreLocationProperty(), stores.settings("").get("trustStore.location"));
            tls.setProperty(names.getSslTruststorePasswdProperty(), stores.settings("").get("trustStore.password"));
        }
        for (ServerProcess server : ensemble.servers()) {
            try (ZooKeeper client = connect("127.0.0.1:" + ports[server.id()], tls)) {
                String path = "/tls" + server.id();
                create(client, path, "secret");
                assertEquals("secret", text(client.getData(path, false, null)), "undurable until this read");
                client.setData(path, bytes("changed"), 0);
                assertEquals("changed", text(client.getData(path, false, null)));
            }
        }
        assertThrows(TimeoutException.class, () -> Clients.connect("127.0.0.1:" + ports[1], SESSION, Duration.ofSeconds(3)),
                "a client without TLS at the secure port");
    }

    private static ZooKeeper connect(String connectString, ZKClientConfig config) throws Exception {
        ZooKeeper client = new ZooKeeper(connectString, (int) SESSION.toMillis(), event -> { }, config);
        Await.until("a session", LIMIT, () -> client.getState().isConnected(), client::toString);
        return client;
    }

    @Test
    void serversAuthenticateToEachOther() throws Exception {
        Path jaas = Files.write(run.path().resolve("jaas.conf"), List.of(
                "QuorumServer { " + DIGEST + " user_peer=\"secret\"; };",
                "QuorumLearner { " + DIGEST + " username=\"peer\" password=\"secret\"; };",
                "Stranger { " + DIGEST + " username=\"peer\" password=\"guessed\"; };"));
        Ensemble ensemble = Ensemble.start(run, quorumSasl(jaas, "QuorumLearner"));
        useEverything(ensemble);
        for (ServerProcess server : ensemble.servers()) {
            assertTrue(Files.readString(server.logFile()).contains("Successfully completed the authentication using SASL"),
                    server.logFile().toString());
        }
    }

    /** The control: with a wrong password the servers never form a quorum. */
    @Test
    void serversWithAWrongPasswordFindNoLeader() throws Exception {
        Path jaas = Files.write(run.path().resolve("jaas.conf"), List.of(
                "QuorumServer { " + DIGEST + " user_peer=\"secret\"; };",
                "Stranger { " + DIGEST + " username=\"peer\" password=\"guessed\"; };"));
        Ensemble ensemble = Ensemble.create(run, quorumSasl(jaas, "Stranger"));
        for (ServerProcess server : ensemble.servers()) {
            server.start();
        }
        for (ServerProcess server : ensemble.servers()) {
            Await.until("server " + server.id() + " to refuse a peer", LIMIT, () -> Files.readString(server.logFile())
                    .contains("Mismatched response"), () -> "" + server.logFile());
            assertEquals("", server.mode());
        }
    }

    private static EnsembleConfig quorumSasl(Path jaas, String learnerContext) throws IOException {
        return Mode.CAD_ASYNC.ensemble(3).jvmFlags("-Djava.security.auth.login.config=" + jaas)
                .cfg(FIPS_MODE, "false")
                .cfg("quorum.auth.enableSasl", "true")
                .cfg("quorum.auth.learnerRequireSasl", "true")
                .cfg("quorum.auth.serverRequireSasl", "true")
                .cfg("quorum.auth.learner.saslLoginContext", learnerContext)
                .cfg("quorum.auth.server.saslLoginContext", "QuorumServer");
    }

    @Test
    void clientsAuthenticateWithDigest() throws Exception {
        Path jaas = Files.write(run.path().resolve("jaas.conf"), List.of(
                "Server { " + DIGEST + " user_alice=\"wonderland\"; };",
                "Alice { " + DIGEST + " username=\"alice\" password=\"wonderland\"; };",
                "Mallory { " + DIGEST + " username=\"alice\" password=\"guessed\"; };"));
        Ensemble ensemble = Ensemble.start(run, Mode.CAD_ASYNC.ensemble(3)
                .jvmFlags("-Djava.security.auth.login.config=" + jaas)
                .cfg(FIPS_MODE, "false")
                .cfg("authProvider.sasl", "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"));
        System.setProperty("java.security.auth.login.config", jaas.toString());
        Configuration.getConfiguration().refresh();
        try {
            for (ServerProcess server : ensemble.servers()) {
                String path = "/private" + server.id();
                try (ZooKeeper alice = connect(server.connectString(), loginContext("Alice"))) {
                    alice.create(path, bytes("secret"), Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT);
                    assertEquals("secret", text(alice.getData(path, false, null)));
                    assertEquals("alice", alice.getACL(path, null).get(0).getId().getId());
                }
                try (ZooKeeper nobody = zooKeeper(server.connectString())) {
                    assertThrows(KeeperException.NoAuthException.class, () -> nobody.getData(path, false, null));
                }
            }
            ZooKeeper mallory = new ZooKeeper(ensemble.connectString(), (int) SESSION.toMillis(), event -> { },
                    loginContext("Mallory"));
            try {
                Await.until("the refusal", LIMIT, () -> mallory.getState() == ZooKeeper.States.AUTH_FAILED, mallory::toString);
                assertFalse(mallory.getState().isAlive());
            } finally {
                mallory.close();
            }
        } finally {
            System.clearProperty("java.security.auth.login.config");
            Configuration.setConfiguration(null);
        }
    }

    private static ZKClientConfig loginContext(String name) {
        ZKClientConfig config = new ZKClientConfig();
        config.setProperty(ZKClientConfig.LOGIN_CONTEXT_NAME_KEY, name);
        config.setProperty("zookeeper." + FIPS_MODE, "false");
        return config;
    }
}

// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper.clienttests;

import io.cad.zookeeper.testkit.Commands;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Map;
import java.util.TreeMap;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** A key of this host and the store that trusts it, made for one test. */
final class KeyStores {
    private static final String PASSWORD = "test-only";

    private final Path key;
    private final Path trust;

    private KeyStores(Path key, Path trust) {
        this.key = key;
        this.trust = trust;
    }

    static KeyStores create(Path directory) throws Exception {
        String keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
        Path key = directory.resolve("key.p12");
        Path certificate = directory.resolve("certificate.pem");
        Path trust = directory.resolve("trust.p12");
        Commands.run(keytool, "-genkeypair", "-keystore", key.toString(), "-storepass", PASSWORD, "-storetype", "PKCS12",
                "-alias", "server", "-keyalg", "EC", "-groupname", "secp256r1", "-validity", "2", "-dname", "CN=localhost",
                "-ext", "SAN=DNS:localhost,IP:127.0.0.1");
        Commands.run(keytool, "-exportcert", "-keystore", key.toString(), "-storepass", PASSWORD, "-alias", "server",
                "-rfc", "-file", certificate.toString());
        Commands.run(keytool, "-importcert", "-noprompt", "-keystore", trust.toString(), "-storepass", PASSWORD,
                "-storetype", "PKCS12", "-alias", "server", "-file", certificate.toString());
        return new KeyStores(key, trust);
    }

    /** The settings that name the stores, each with this prefix, as {@code ssl.} or {@code ssl.quorum.}. */
    Map<String, String> settings(String prefix) {
        Map<String, String> settings = new TreeMap<>();
        settings.put(prefix + "keyStore.location", key.toString());
        settings.put(prefix + "keyStore.password", PASSWORD);
        settings.put(prefix + "trustStore.location", trust.toString());
        settings.put(prefix + "trustStore.password", PASSWORD);
        return settings;
    }

    /** For a peer with this key, or for a stranger without one. */
    SSLContext context(boolean withKey) throws Exception {
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(load(key), PASSWORD.toCharArray());
        TrustManagerFactory trusted = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trusted.init(load(trust));
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(withKey ? keys.getKeyManagers() : null, trusted.getTrustManagers(), null);
        return context;
    }

    private static KeyStore load(Path file) throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(file)) {
            store.load(in, PASSWORD.toCharArray());
        }
        return store;
    }
}

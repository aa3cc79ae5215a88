// SPDX-License-Identifier: Apache-2.0
package io.cad.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cad.zookeeper.testing.Ensemble;
import io.cad.zookeeper.testing.Ensemble.Transport;
import io.cad.zookeeper.testing.RawClient;
import io.cad.zookeeper.testing.Settings;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What operators see: the four letter command and the AdminServer's. */
class CadCommandTest {

    private static Map<String, String> fields(String answer) {
        return answer.lines().collect(Collectors.toMap(line -> line.split("\t", 2)[0], line -> line.split("\t", 2)[1]));
    }

    @ParameterizedTest
    @EnumSource(Transport.class)
    void fourLetterCommandDescribesTheRole(Transport transport) {
        try (Settings settings = Settings.of("cad.durability", "cad", "cad.replication", "async");
             Ensemble ensemble = new Ensemble(transport, 3, 0).startAll()) {
            long leader = ensemble.leader();
            Map<String, String> fields = fields(ensemble.command(leader, "cad\n"));
            assertEquals("cad+async+leader", fields.get("mode"));
            assertEquals("leader", fields.get("role"));
            assertEquals("1", fields.get("epoch"));
            assertTrue(fields.get("durable_index").startsWith("1:"), fields::toString);
            assertTrue(fields.containsKey("persisted_by_server"), fields::toString);
            assertEquals("follower", fields(ensemble.command(ensemble.follower(), "cad\n")).get("role"));
        }
    }

    @Test
    void adminServerAnswersTheSame() throws Exception {
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        try (Settings settings = Settings.of("cad.durability", "cad", "zookeeper.admin.serverPort",
            Integer.toString(port), "zookeeper.admin.serverAddress", "127.0.0.1");
             Ensemble ensemble = Ensemble.one(Transport.NIO)) {
            RawClient client = ensemble.client(1);
            HttpResponse<String> response = HttpClient.newHttpClient().send(
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/commands/cad")).build(),
                HttpResponse.BodyHandlers.ofString());
            assertEquals(200, response.statusCode());
            JsonNode answer = new ObjectMapper().readTree(response.body());
            assertEquals("cad+sync+leader", answer.get("mode").asText());
            assertEquals("leader", answer.get("role").asText());
            assertTrue(answer.get("error").isNull());
            client.close();
        }
    }
}

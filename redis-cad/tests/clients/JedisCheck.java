// SPDX-License-Identifier: Apache-2.0

import java.util.List;
import java.util.Map;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Response;
import redis.clients.jedis.Transaction;
import redis.clients.jedis.params.SetParams;

/** What Jedis does against a server: JedisCheck PORT all|held. */
public final class JedisCheck {
    private JedisCheck() {
    }

    public static void main(String[] line) {
        DefaultJedisClientConfig config = DefaultJedisClientConfig.builder().socketTimeoutMillis(60_000).build();
        try (Jedis jedis = new Jedis(new HostAndPort("127.0.0.1", Integer.parseInt(line[0])), config)) {
            if (line[1].equals("held")) {
                jedis.set("held", "jedis");
                expect("jedis", jedis.get("held"));
            } else {
                everything(jedis);
            }
        }
    }

    private static void everything(Jedis jedis) {
        expect("OK", jedis.set("k", "v"));
        expect("v", jedis.get("k"));
        expect(null, jedis.get("absent"));
        expect(null, jedis.set("k", "w", SetParams.setParams().nx()));
        long before = jedis.incr("n");
        expect(before + 1, jedis.incr("n"));
        Pipeline pipeline = jedis.pipelined();
        Response<String> last = null;
        for (int i = 0; i < 200; i++) {
            pipeline.set("p" + i, Integer.toString(i));
            last = pipeline.get("p" + i);
        }
        pipeline.sync();
        expect("199", last.get());
        Transaction transaction = jedis.multi();
        transaction.set("k", "x");
        transaction.get("k");
        expect(List.of("OK", "x"), transaction.exec());
        expect(null, jedis.blpop(0.2, "nothing"));
        jedis.hset("h", Map.of("a", "1", "b", "2"));
        expect(Map.of("a", "1", "b", "2"), jedis.hgetAll("h"));
        expect("x", jedis.eval("return redis.call('get', KEYS[1])", 1, "k"));
        expect(1L, jedis.del("h"));
    }

    private static void expect(Object expected, Object actual) {
        if (expected == null ? actual != null : !expected.equals(actual)) {
            throw new AssertionError("expected " + expected + ", got " + actual);
        }
    }
}

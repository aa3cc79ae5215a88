# SPDX-License-Identifier: Apache-2.0
"""What redis-py does against a server: redis_py_check.py PORT all|held."""
import sys
import threading

import redis


def held(client):
    client.set("held", "redis-py")
    assert client.get("held") == "redis-py"


def everything(client):
    assert client.set("k", "v") is True
    assert client.get("k") == "v"
    assert client.get("absent") is None
    assert client.set("k", "w", nx=True) is None
    before = client.incr("n")
    assert client.incr("n") == before + 1
    with client.pipeline(transaction=False) as pipe:
        for i in range(200):
            pipe.set(f"p{i}", i)
            pipe.get(f"p{i}")
        replies = pipe.execute()
    assert replies[1::2] == [str(i) for i in range(200)]
    with client.pipeline(transaction=True) as pipe:
        pipe.watch("k")
        pipe.multi()
        pipe.set("k", "x").get("k").incr("n")
        assert pipe.execute() == [True, "x", before + 2]
    assert client.blpop("nothing", timeout=0.2) is None
    waiter = threading.Timer(0.1, lambda: client.rpush("queue", "job"))
    waiter.start()
    assert client.blpop("queue", timeout=20) == ("queue", "job")
    assert client.eval("return redis.call('get', KEYS[1])", 1, "k") == "x"
    client.hset("h", mapping={"a": "1", "b": "2"})
    assert client.hgetall("h") == {"a": "1", "b": "2"}
    entry = client.xadd("s", {"f": "v"})
    assert client.xread({"s": "0"}, count=1)[0][1][0][0] <= entry
    subscriber = client.pubsub()
    subscriber.subscribe("channel")
    assert subscriber.get_message(timeout=20)["type"] == "subscribe"
    assert client.publish("channel", "hello") == 1
    assert subscriber.get_message(timeout=20)["data"] == "hello"


if __name__ == "__main__":
    connection = redis.Redis(port=int(sys.argv[1]), decode_responses=True, socket_timeout=60)
    {"all": everything, "held": held}[sys.argv[2]](connection)

# SPDX-License-Identifier: Apache-2.0
"""kazoo, unmodified, against running servers: data, watches, lock, election, sessions.

    check.py HOST:PORT...

Clients are spread over the servers.  Exit codes: 0 all checks hold, 1 one does not, 254 wrong arguments.
"""
import sys
import threading

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, NoNodeError, NodeExistsError

LIMIT = 60
ROUNDS = 10


class Clients:
    """One started client at each server."""

    def __init__(self, servers):
        self.all = []
        for server in servers:
            client = KazooClient(hosts=server, timeout=15)
            client.start(timeout=LIMIT)
            self.all.append(client)

    def __enter__(self):
        return self.all

    def __exit__(self, *exc):
        for client in self.all:
            client.stop()
            client.close()


def data(clients):
    """Every client reads what another one wrote, and refusals are the usual ones."""
    writer = clients[0]
    writer.create("/kazoo-data", b"0")
    for n in range(1, ROUNDS + 1):
        clients[n % len(clients)].set("/kazoo-data", b"%d" % n)
        for reader in clients:
            reader.sync("/kazoo-data")
            value, stat = reader.get("/kazoo-data")
            assert (value, stat.version) == (b"%d" % n, n), (value, stat)
    for error, call in [
        (BadVersionError, lambda: writer.set("/kazoo-data", b"", version=0)),
        (NodeExistsError, lambda: writer.create("/kazoo-data")),
        (NoNodeError, lambda: writer.get("/kazoo-data/no")),
    ]:
        try:
            call()
        except error:
            continue
        raise AssertionError("expected " + error.__name__)
    transaction = writer.transaction()
    transaction.create("/kazoo-data/a")
    transaction.set_data("/kazoo-data", b"transaction")
    assert transaction.commit() is not None
    names = [writer.create("/kazoo-data/s-", sequence=True) for _ in range(ROUNDS)]
    assert names == sorted(set(names)), names
    assert len(writer.get_children("/kazoo-data")) == ROUNDS + 1


def watches(clients):
    """DataWatch and ChildrenWatch see the last state."""
    writer, watcher = clients[0], clients[-1]
    writer.create("/kazoo-watch", b"0")
    watcher.sync("/kazoo-watch")
    seen, children = threading.Event(), threading.Event()
    watcher.DataWatch("/kazoo-watch", lambda value, stat: seen.set() if value == b"last" else None)
    watcher.ChildrenWatch("/kazoo-watch", lambda names: children.set() if len(names) == ROUNDS else None)
    for n in range(ROUNDS):
        writer.set("/kazoo-watch", b"%d" % n)
        writer.create("/kazoo-watch/%d" % n)
    writer.set("/kazoo-watch", b"last")
    assert seen.wait(LIMIT) and children.wait(LIMIT), "a watch did not fire"


def lock(clients):
    """A counter that is read and written under the lock misses no increment."""
    clients[0].create("/kazoo-counter", b"0")
    failures = []

    def work(client):
        try:
            for _ in range(ROUNDS):
                with client.Lock("/kazoo-lock"):
                    value, _stat = client.get("/kazoo-counter")
                    client.set("/kazoo-counter", b"%d" % (int(value) + 1))
        except Exception as error:  # noqa: B902 - reported by the main thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(client,), daemon=True) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive(), "a worker waits for the lock for ever"
    assert not failures, failures
    clients[0].sync("/kazoo-counter")
    assert clients[0].get("/kazoo-counter")[0] == b"%d" % (ROUNDS * len(clients))


def election(clients):
    """Every candidate leads once, one at a time."""
    led, leading = [], threading.Semaphore(1)

    def lead(name):
        assert leading.acquire(blocking=False), "two leaders"
        led.append(name)
        leading.release()

    threads = []
    for n, client in enumerate(clients):
        threads.append(threading.Thread(target=client.Election("/kazoo-election", str(n)).run, args=(lead, n), daemon=True))
        threads[-1].start()
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive(), "a candidate never led"
    assert sorted(led) == list(range(len(clients))), led


def sessions(clients, server):
    """An ephemeral node lives as long as its session."""
    owner = KazooClient(hosts=server, timeout=15)
    owner.start(timeout=LIMIT)
    owner.create("/kazoo-ephemeral", ephemeral=True)
    gone = threading.Event()
    clients[0].sync("/kazoo-ephemeral")
    assert clients[0].exists("/kazoo-ephemeral", watch=lambda event: gone.set())
    owner.stop()
    owner.close()
    assert gone.wait(LIMIT), "an ephemeral node outlived its session"
    assert clients[0].exists("/kazoo-ephemeral") is None


def main(servers):
    if not servers:
        print(__doc__, file=sys.stderr)
        return 254
    with Clients(servers) as clients:
        for name, check in [
            ("data", lambda: data(clients)),
            ("watches", lambda: watches(clients)),
            ("lock", lambda: lock(clients)),
            ("election", lambda: election(clients)),
            ("sessions", lambda: sessions(clients, servers[-1])),
        ]:
            try:
                check()
            except Exception as error:  # noqa: B902 - any failure is a finding, the name says of what
                print(f"kazoo {name}: {type(error).__name__}: {error}")
                return 1
            print(f"kazoo {name}: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

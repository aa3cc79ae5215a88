# SPDX-License-Identifier: Apache-2.0
"""Unpacked distributions, installations of the stock release, and servers run from them."""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import time
import unittest

PACKAGING = pathlib.Path(__file__).resolve().parent.parent
MODULE = PACKAGING.parent
DIST = MODULE.parent / "out" / "dist"
STOCK_JAR = MODULE / "build" / "download" / "zookeeper-3.9.5.jar"
JAR = "lib/zookeeper-3.9.5.jar"
SERVING_WITHIN_S = 60
# A planned stop drains for at most cad.drain, 10 s.
STOPPED_WITHIN_S = 60


class HomeCase(unittest.TestCase):
    """A scratch directory a test, with helpers to fill and to run it."""

    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="zk-dist-"))
        self.addCleanup(shutil.rmtree, self.scratch)

    def unpack(self, kind):
        archive = next(DIST.glob(f"zookeeper-cad-*-{kind}.tar.gz"))
        with tarfile.open(archive) as tar:
            tar.extractall(self.scratch, filter="fully_trusted") if hasattr(tarfile, "fully_trusted_filter") \
                else tar.extractall(self.scratch)
        return self.scratch / archive.name[:-len(".tar.gz")]

    def stock_home(self):
        """What somebody has who unpacked Apache's own release: same files, stock jar, no plugin."""
        home = self.unpack("bin").rename(self.scratch / "apache-zookeeper-3.9.5-bin")
        shutil.copyfile(STOCK_JAR, home / JAR)
        next(home.glob("lib/zookeeper-cad-*.jar")).unlink()
        return home

    def run_script(self, script, *arguments, env=None):
        """(exit code, output) of a script of the drop-in."""
        done = subprocess.run([script, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, env=env)
        return done.returncode, done.stdout


def contents(home):
    """Every file below `home` with its bytes, to compare before and after."""
    return {str(p.relative_to(home)): p.read_bytes() for p in home.rglob("*") if p.is_file()}


def free_ports(count):
    """Ports of the loopback interface that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Server:
    """One server run with the scripts of `home`, as an operator would."""

    def __init__(self, home, ensemble, settings=()):
        self.home, self.data = home, home / "data"
        self.data.mkdir(exist_ok=True)
        self.port, quorum, election = free_ports(3)
        lines = [f"dataDir={self.data}", f"clientPort={self.port}", "clientPortAddress=127.0.0.1", "tickTime=2000",
                 "initLimit=10", "syncLimit=5", "admin.enableServer=false", *settings]
        if ensemble:
            (self.data / "myid").write_text("1\n")
            lines += ["standaloneEnabled=false", f"server.1=127.0.0.1:{quorum}:{election}"]
        (home / "conf" / "zoo.cfg").write_text("\n".join(lines) + "\n")

    def script(self, name, *arguments, timeout=60):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("ZOO", "ZK_", "CLASSPATH"))}
        done = subprocess.run(["bash", self.home / "bin" / name, *arguments], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, env=environment)
        return done.returncode, done.stdout

    def start(self):
        code, said = self.script("zkServer.sh", "start")
        if code or "STARTED" not in said:
            raise AssertionError(f"zkServer.sh start: {code}: {said}\n{self.log()}")
        deadline = time.monotonic() + SERVING_WITHIN_S
        while time.monotonic() < deadline:
            code, said = self.script("zkServer.sh", "status")
            if code == 0:
                return said
            time.sleep(0.2)
        raise AssertionError(f"no answer after {SERVING_WITHIN_S} s: {said}\n{self.log()}")

    def stop(self):
        """zkServer.sh stop, and the end of the process, for which that script does not wait."""
        pid_file = self.data / "zookeeper_server.pid"
        pid = int(pid_file.read_text()) if pid_file.exists() else None
        result = self.script("zkServer.sh", "stop")
        deadline = time.monotonic() + STOPPED_WITHIN_S
        while pid and pathlib.Path(f"/proc/{pid}").exists():
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
                raise AssertionError(f"still there {STOPPED_WITHIN_S} s after zkServer.sh stop\n{self.log()}")
            time.sleep(0.05)
        return result

    def cli(self, *command):
        return self.script("zkCli.sh", "-server", f"127.0.0.1:{self.port}", *command)

    def log(self):
        return "\n".join(p.read_text(errors="replace")[-6000:] for p in (self.home / "logs").glob("*.out"))

    def mode(self):
        """What `zkServer.sh status` calls the role: standalone, leader or follower."""
        found = re.search(r"^Mode: (\w+)", self.script("zkServer.sh", "status")[1], re.M)
        return found.group(1) if found else None

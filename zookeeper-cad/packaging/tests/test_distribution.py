# SPDX-License-Identifier: Apache-2.0
"""zkServer.sh and zkCli.sh of the distribution, as an operator uses them."""
import re
import unittest

from homes import HomeCase, Server, contents, free_ports


class DistributionTest(HomeCase):
    def session(self, ensemble, role, settings=()):
        """start, status, write and read, stop, status, start again: the data are there."""
        server = Server(self.unpack("bin"), ensemble, settings)
        self.assertNotEqual(0, server.script("zkServer.sh", "status")[0])
        server.start()
        self.addCleanup(server.stop)
        self.assertEqual(role, server.mode())
        code, said = server.cli("create", "/kept", "value-1")
        self.assertEqual(0, code, said)
        self.assertIn("value-1", server.cli("get", "/kept")[1])
        code, said = server.stop()
        self.assertEqual(0, code, said)
        self.assertIn("STOPPED", said)
        self.assertNotEqual(0, server.script("zkServer.sh", "status")[0])
        server.start()
        self.assertIn("value-1", server.cli("get", "/kept")[1])
        return server

    def test_standalone(self):
        self.session(ensemble=False, role="standalone")

    def test_one_server_ensemble(self):
        self.session(ensemble=True, role="leader")

    def durability(self, mode):
        server = self.session(ensemble=True, role="leader", settings=[f"cad.durability={mode}"])
        self.assertRegex(server.log(), rf"Leading epoch \d+ with {mode}\b")
        server.stop()
        self.assertNotIn("Not drained", server.log())

    def test_immediate(self):
        self.durability("immediate")

    def test_eventual(self):
        self.durability("eventual")

    def test_cad(self):
        self.durability("cad")

    def test_zk_cad_reads_the_log(self):
        server = self.session(ensemble=True, role="leader", settings=["cad.durability=cad"])
        server.stop()
        code, said = server.script("zk-cad", "log", "check", "--config", str(server.home / "conf" / "zoo.cfg"))
        self.assertEqual(0, code, said)
        self.assertIn("sound", said)
        code, said = server.script("zk-cad", "log", "show", "--config", str(server.home / "conf" / "zoo.cfg"))
        self.assertEqual(0, code, said)
        self.assertIn("create /kept (7 bytes)", said)

    def test_nobody_else_writes_where_a_server_runs(self):
        """Neither zk-cad nor a second server, to both of which a record being written looks torn."""
        server = Server(self.unpack("bin"), ensemble=True, settings=["cad.durability=cad"])
        server.start()
        self.addCleanup(server.stop)
        server.cli("create", "/kept", "value-1")
        config = server.home / "conf" / "zoo.cfg"
        second = config.with_name("second.cfg")
        ports = iter(map(str, free_ports(3)))
        second.write_text(re.sub(r"(?<=clientPort=)\d+|(?<=127\.0\.0\.1:)\d+|(?<=:)\d+$", lambda _: next(ports),
                                 config.read_text(), flags=re.M))
        before = contents(server.data / "version-2")
        for command in (("zk-cad", "log", "check", "--config", config), ("zk-cad", "log", "repair", "--config", config),
                        ("zkServer.sh", "start-foreground", second)):
            with self.subTest(command[:3]):
                code, said = server.script(*map(str, command))
                self.assertEqual(255 if command[0] == "zk-cad" else 1, code, said)
                self.assertIn("stop it first", said)
        self.assertEqual(before, contents(server.data / "version-2"))
        self.assertEqual(0, server.script("zk-cad", "log", "show", "--config", str(config))[0])
        server.stop()
        code, said = server.script("zk-cad", "log", "check", "--config", str(config))
        self.assertEqual(0, code, said)
        server.start()
        self.assertIn("value-1", server.cli("get", "/kept")[1])

    def test_cad_on_a_standalone_server_is_refused_with_the_remedy(self):
        server = Server(self.unpack("bin"), ensemble=False, settings=["cad.durability=cad"])
        code, said = server.script("zkServer.sh", "start-foreground")
        self.assertNotEqual(0, code)
        self.assertIn("cad.durability", said)
        self.assertIn("standaloneEnabled=false", said)

    def test_a_wrong_setting_is_refused(self):
        server = Server(self.unpack("bin"), ensemble=True, settings=["cad.durability=sometimes"])
        code, said = server.script("zkServer.sh", "start-foreground")
        self.assertNotEqual(0, code)
        self.assertIn("cad.durability", said)

    def test_version(self):
        code, said = Server(self.unpack("bin"), ensemble=False).script("zkServer.sh", "version")
        self.assertEqual(0, code, said)
        self.assertIn("Apache ZooKeeper, version 3.9.5 ", said)


if __name__ == "__main__":
    unittest.main()

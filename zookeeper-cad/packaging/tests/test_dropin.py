# SPDX-License-Identifier: Apache-2.0
"""install and uninstall on a real 3.9.5, and everything that they must refuse."""
import os
import shutil
import unittest

from homes import JAR, STOCK_JAR, HomeCase, Server, contents

OK, REFUSED, UNDECIDED, ARGUMENTS = 0, 1, 2, 254


class DropInTest(HomeCase):
    def setUp(self):
        super().setUp()
        self.dropin = self.unpack("dropin")
        self.home = self.stock_home()
        self.config = self.home / "conf" / "zoo.cfg"
        self.config.write_text("dataDir=/somewhere\nclientPort=2181")  # no newline at the end
        self.before = contents(self.home)
        self.our_jar = (self.dropin / JAR).read_bytes()
        self.plugin = next(self.dropin.glob("lib/zookeeper-cad-*.jar")).name

    def install(self, *arguments, env=None):
        return self.run_script(self.dropin / "install", *arguments, env=env)

    def uninstall(self, *arguments):
        return self.run_script(self.dropin / "uninstall", *arguments)

    def assert_installed(self):
        self.assertEqual(self.our_jar, (self.home / JAR).read_bytes())
        self.assertTrue((self.home / "lib" / self.plugin).is_file())
        self.assertEqual(STOCK_JAR.read_bytes(), (self.home / "cad-dropin" / "zookeeper-3.9.5.jar").read_bytes())

    def assert_refused(self, words, code=REFUSED, *arguments, env=None):
        state = contents(self.home)
        got, said = self.install(*(arguments or (self.home,)), env=env)
        self.assertEqual(code, got, said)
        self.assertIn(words, said)
        self.assertEqual(state, contents(self.home))

    def test_install_twice_and_uninstall_twice(self):
        for _ in range(2):
            self.assertEqual(OK, self.install(self.home)[0])
            self.assert_installed()
        for _ in range(2):
            code, said = self.uninstall(self.home)
            self.assertEqual(OK, code, said)
            self.assertEqual(self.before, contents(self.home))
        self.assertIn("nothing to do", said)

    def test_configuration_block(self):
        for mode in ("immediate", "cad"):
            code, said = self.install("--config", self.config, "--durability", mode, self.home)
            self.assertEqual(OK, code, said)
            lines = self.config.read_text().splitlines()
            self.assertEqual(["dataDir=/somewhere", "clientPort=2181"], lines[:2])
            self.assertEqual([f"cad.durability={mode}"], [line for line in lines if line.startswith("cad.")])
        self.assertEqual(OK, self.uninstall(self.home)[0])
        self.assertEqual(self.before[str(self.config.relative_to(self.home))].rstrip(), self.config.read_bytes().rstrip())

    def test_own_cad_lines_stay(self):
        self.config.write_text("clientPort=2181\ncad.durability=cad\n")
        code, said = self.install("--config", self.config, self.home)
        self.assertEqual(OK, code)
        self.assertIn("left as it is", said)
        self.assertEqual(OK, self.uninstall(self.home)[0])
        self.assertEqual("clientPort=2181\ncad.durability=cad\n", self.config.read_text())

    def test_goes_on_after_an_interruption(self):
        # Every prefix of what install does, by taking its later effects back.
        self.assertEqual(OK, self.install(self.home)[0])
        shutil.copyfile(STOCK_JAR, self.home / JAR)
        self.assertEqual(OK, self.install(self.home)[0])
        self.assert_installed()
        shutil.copyfile(STOCK_JAR, self.home / JAR)
        (self.home / "lib" / self.plugin).unlink()
        (self.home / "cad-dropin" / "state").unlink()
        self.assertEqual(OK, self.install(self.home)[0])
        self.assert_installed()
        # uninstall was stopped after it put the stock jar back.
        shutil.copyfile(STOCK_JAR, self.home / JAR)
        self.assertEqual(OK, self.uninstall(self.home)[0])
        self.assertEqual(self.before, contents(self.home))

    def test_replaces_an_earlier_version_of_ours(self):
        self.assertEqual(OK, self.install(self.home)[0])
        newer = self.scratch / "newer"
        shutil.copytree(self.dropin, newer)
        with open(newer / JAR, "ab") as jar:
            jar.write(b"later")
        (newer / "lib" / self.plugin).rename(newer / "lib" / "zookeeper-cad-9.9.9.jar")
        self.write_sums(newer)
        self.dropin = newer
        self.assertEqual(OK, self.install(self.home)[0])
        self.assertTrue((self.home / JAR).read_bytes().endswith(b"later"))
        self.assertEqual(["zookeeper-cad-9.9.9.jar"], [p.name for p in self.home.glob("lib/zookeeper-cad-*.jar")])
        self.assertEqual(OK, self.uninstall(self.home)[0])
        self.assertEqual(self.before, contents(self.home))

    def write_sums(self, directory):
        import hashlib
        lines = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(contents(directory).items())
                 if name != "SHA256SUMS"]
        (directory / "SHA256SUMS").write_text("".join(lines))

    def test_refuses_what_is_not_a_stock_3_9_5(self):
        other = next(self.home.glob("lib/commons-cli-*.jar"))
        shutil.copyfile(other, self.home / JAR)
        self.assert_refused("is not the ZooKeeper 3.9.5 that the Apache project published")
        self.assert_refused("does not contain ZooKeeper 3.9.5", REFUSED, "--any-build", self.home)

    def test_accepts_a_vendors_build_only_when_told(self):
        with open(self.home / JAR, "ab") as jar:
            jar.write(b"vendor")
        self.before = contents(self.home)
        self.assert_refused("--any-build")
        self.assertEqual(OK, self.install("--any-build", self.home)[0])
        self.assertEqual(self.our_jar, (self.home / JAR).read_bytes())
        self.assertEqual(OK, self.uninstall(self.home)[0])
        self.assertEqual(self.before, contents(self.home))

    def test_refuses_another_version(self):
        (self.home / JAR).rename(self.home / "lib" / "zookeeper-3.8.4.jar")
        self.assert_refused("fits ZooKeeper 3.9.5 only")
        shutil.copyfile(STOCK_JAR, self.home / JAR)
        self.assert_refused("zookeeper-3.8.4.jar")

    def test_refuses_a_damaged_archive(self):
        with open(self.dropin / "lib" / self.plugin, "ab") as jar:
            jar.write(b"x")
        self.assert_refused("this archive is damaged")

    def test_refuses_ours_without_a_backup(self):
        shutil.copyfile(self.dropin / JAR, self.home / JAR)
        self.assert_refused("nothing was changed")

    def test_undecided_without_java(self):
        tools = self.scratch / "tools"
        tools.mkdir()
        for name in ("sh", "sha256sum", "cut", "sed", "grep", "ls", "dirname", "basename", "awk", "head", "tail"):
            (tools / name).symlink_to(shutil.which(name))
        self.assert_refused("found no java", UNDECIDED, self.home, env={"PATH": str(tools)})

    def test_wrong_arguments(self):
        for arguments in ((), ("a", "b"), ("--nonsense", self.home), ("--durability", "cad", self.home),
                          ("--config", self.config, "--durability", "fast", self.home)):
            self.assertEqual(ARGUMENTS, self.install(*arguments)[0], arguments)
        for arguments in ((), ("a", "b"), ("--help",)):
            self.assertEqual(ARGUMENTS, self.uninstall(*arguments)[0], arguments)
        self.assert_refused("holds no lib/ directory", REFUSED, self.home / "conf")
        self.assert_refused("no such file", REFUSED, "--config", self.home / "none.cfg", self.home)

    @unittest.skipIf(os.geteuid() == 0 and not shutil.which("setpriv"), "root needs setpriv to try as somebody else")
    def test_refuses_without_permission(self):
        if os.geteuid() == 0:
            os.chmod(self.scratch, 0o755)
            command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        else:
            command = []
            os.chmod(self.home / "lib", 0o555)
            self.addCleanup(os.chmod, self.home / "lib", 0o755)
        got, said = self.run_script(*(command + [self.dropin / "install", self.home]))
        self.assertEqual(REFUSED, got, said)
        self.assertIn("must be writable", said)
        self.assertEqual(self.before, contents(self.home))

    def test_uninstall_refuses_a_jar_that_somebody_else_changed(self):
        self.assertEqual(OK, self.install(self.home)[0])
        with open(self.home / JAR, "ab") as jar:
            jar.write(b"x")
        state = contents(self.home)
        code, said = self.uninstall(self.home)
        self.assertEqual(REFUSED, code)
        self.assertIn("somebody else changed it", said)
        self.assertEqual(state, contents(self.home))

    def test_uninstall_without_the_replaced_jar(self):
        self.assertEqual(OK, self.install(self.home)[0])
        (self.home / "cad-dropin" / "zookeeper-3.9.5.jar").unlink()
        code, said = self.uninstall(self.home)
        self.assertEqual(REFUSED, code)
        self.assertIn("is gone", said)

    def test_data_written_before_is_served_after(self):
        server = Server(self.home, ensemble=False)
        server.start()
        self.addCleanup(server.stop)
        self.assertEqual(0, server.cli("create", "/before", "stock")[0])
        self.assertEqual(OK, self.install(self.home)[0])  # while it runs
        self.assertIn("stock", server.cli("get", "/before")[1])
        server.stop()
        server.start()
        self.assertIn("stock", server.cli("get", "/before")[1])
        self.assertEqual(0, server.cli("create", "/after", "ours")[0])
        server.stop()
        self.assertEqual(OK, self.uninstall(self.home)[0])
        server.start()
        self.assertIn("ours", server.cli("get", "/after")[1])


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The archives: reproducible, complete, in upstream's layout, and free of test code."""
import hashlib
import importlib.machinery
import importlib.util
import io
import pathlib
import subprocess
import tarfile
import tempfile
import unittest
import zipfile

PACKAGING = pathlib.Path(__file__).resolve().parent.parent
loader = importlib.machinery.SourceFileLoader("assemble", str(PACKAGING / "assemble"))
assemble = importlib.util.module_from_spec(importlib.util.spec_from_loader("assemble", loader))
loader.exec_module(assemble)


def build(directory):
    subprocess.run([PACKAGING / "assemble", directory], check=True, stdout=subprocess.DEVNULL)
    return {p.name: p.read_bytes() for p in pathlib.Path(directory).iterdir()}


class ArchiveTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.first = build(f"{cls.scratch.name}/1")
        cls.second = build(f"{cls.scratch.name}/2")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def members(self, kind):
        name = next(n for n in self.first if n.endswith(f"-{kind}.tar.gz"))
        top = name[:-len(".tar.gz")]
        with tarfile.open(fileobj=io.BytesIO(self.first[name])) as tar:
            return {m.name[len(top) + 1:]: (m, tar.extractfile(m).read()) for m in tar if m.isfile()}

    def test_two_builds_are_byte_equal(self):
        self.assertEqual(6, len(self.first))
        self.assertEqual({n: hashlib.sha256(d).hexdigest() for n, d in self.first.items()},
                         {n: hashlib.sha256(d).hexdigest() for n, d in self.second.items()})

    def test_sums_are_right(self):
        for name, data in self.first.items():
            if not name.endswith(".sha256"):
                self.assertEqual(f"{hashlib.sha256(data).hexdigest()}  {name}\n", self.first[name + ".sha256"].decode())
        for kind in ("bin", "dropin"):
            members = self.members(kind)
            listed = dict(reversed(line.split("  ")) for line in members["SHA256SUMS"][1].decode().splitlines())
            self.assertEqual({n: hashlib.sha256(d).hexdigest() for n, (_, d) in members.items() if n != "SHA256SUMS"}, listed)

    def test_layout_of_the_distribution(self):
        members = self.members("bin")
        self.assertEqual({"bin", "conf", "lib", "docs"}, {n.split("/")[0] for n in members if "/" in n})
        for name in ("bin/zkServer.sh", "bin/zkCli.sh", "conf/zoo_sample.cfg", "conf/logback.xml", "LICENSE.txt",
                     "NOTICE.txt", "docs/zookeeper/zookeeperAdmin.md", "lib/zookeeper-jute-3.9.5.jar",
                     "lib/zookeeper-prometheus-metrics-3.9.5.jar"):
            self.assertIn(name, members)
        self.assertTrue(members["bin/zkServer.sh"][0].mode & 0o111)
        self.assertEqual(1, sum(n.startswith("lib/zookeeper-cad-") for n in members))

    def test_each_library_with_a_licence_text_is_there(self):
        members = self.members("bin")
        jars = [n for n in members if n.endswith(".jar")]
        for text in (n for n in members if n.startswith("lib/") and n.endswith("LICENSE.txt")):
            stem = text.replace(".jar_", "_").replace("_LICENSE.txt", "").replace(".LICENSE.txt", "")
            stem = stem.replace("lib/slf4j-", "lib/slf4j-api-")
            self.assertTrue(any(j.startswith(stem) for j in jars), f"no jar for {text}")

    def test_the_jars_in_both_archives_are_the_same(self):
        full, dropin = self.members("bin"), self.members("dropin")
        jars = [n for n in dropin if n.endswith(".jar")]
        self.assertEqual(2, len(jars))
        for jar in jars:
            self.assertEqual(full[jar][1], dropin[jar][1])


class TestArtefactTest(unittest.TestCase):
    """Each way in which test code could get into an archive is refused."""

    def archive(self, path="lib/zookeeper-3.9.5.jar", *entries):
        archive = assemble.Archive("x")
        archive.add("lib/server.jar", jar("org/apache/zookeeper/server/ZooKeeperServer.class"))
        if entries:
            archive.add(path, jar(*entries))
        return archive

    def test_a_clean_archive_passes(self):
        assemble.refuse_test_artefacts(self.archive("lib/a.jar", "io/cad/zookeeper/core/Gate.class"))

    def test_refused(self):
        for path, entry in (
                ("lib/zookeeper-cad-0.1.0-tests.jar", "a/A.class"),
                ("lib/zookeeper-cad-testkit-0.1.0.jar", "a/A.class"),
                ("lib/junit-jupiter-api-5.11.4.jar", "a/A.class"),
                ("lib/a.jar", "io/cad/zookeeper/core/GateTest.class"),
                ("lib/a.jar", "io/cad/zookeeper/testkit/Ensemble.class"),
                ("lib/a.jar", "META-INF/cad-test-only"),
                ("lib/a.jar", "org/junit/Assert.class")):
            with self.subTest(path=path, entry=entry), self.assertRaisesRegex(assemble.Refused, "tests only"):
                assemble.refuse_test_artefacts(self.archive(path, entry))

    def test_a_second_server_is_refused(self):
        archive = self.archive("lib/zookeeper-3.9.4.jar", "org/apache/zookeeper/server/ZooKeeperServer.class")
        with self.assertRaisesRegex(assemble.Refused, "exactly one jar"):
            assemble.refuse_test_artefacts(archive)

    def test_a_loose_test_class_is_refused(self):
        archive = self.archive()
        archive.add("lib/io/cad/XTest.class", b"")
        with self.assertRaisesRegex(assemble.Refused, "tests only"):
            assemble.refuse_test_artefacts(archive)


def jar(*entries):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as z:
        for entry in entries:
            z.writestr(entry, b"")
    return data.getvalue()


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The rebuilt core jar is the published one, apart from what the patches name."""
import pathlib
import struct
import subprocess
import sys
import unittest
import zipfile

MODULE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(MODULE.parent / "tools"))
from patchset.component import Component  # noqa: E402

STOCK = MODULE / "build" / "download" / "zookeeper-3.9.5.jar"
OURS = MODULE / "core" / "target" / "zookeeper-3.9.5.jar"
JAVA_8 = 52


def classes(jar):
    with zipfile.ZipFile(jar) as z:
        return {name for name in z.namelist() if name.endswith(".class")}


def manifest(jar):
    with zipfile.ZipFile(jar) as z:
        text = z.read("META-INF/MANIFEST.MF").decode().replace("\r\n ", "")
    return dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)


class CoreJarTest(unittest.TestCase):
    def test_same_classes_plus_those_of_new_files_in_the_series(self):
        stock, ours = classes(STOCK), classes(OURS)
        self.assertGreater(len(stock), 700)
        self.assertEqual(set(), stock - ours)
        new_files = {f.path.split("src/main/java/")[-1] for p in Component(MODULE).patches() for f in p.files if f.is_new}
        unexplained = {c for c in ours - stock if c[:-len(".class")].split("$")[0] + ".java" not in new_files
                       and c.split("$")[0] + ".class" not in stock}
        self.assertEqual(set(), unexplained)

    def test_class_version_is_that_of_java_8(self):
        with zipfile.ZipFile(OURS) as z:
            for name in classes(OURS):
                self.assertEqual(JAVA_8, struct.unpack(">H", z.read(name)[6:8])[0], name)

    def test_version_says_what_the_published_jar_says(self):
        slf4j = next((MODULE / "packaging" / "target" / "lib").glob("slf4j-api-*.jar"))

        def said(jar, main):
            return subprocess.run(["java", "-cp", f"{jar}:{slf4j}", main], check=True, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        for main in ("org.apache.zookeeper.Version", "org.apache.zookeeper.version.VersionInfoMain"):
            text = said(STOCK, main)
            self.assertIn("3.9.5", text)
            self.assertEqual(text, said(OURS, main))

    def test_manifest_has_our_version_beside_upstreams(self):
        stock, ours = manifest(STOCK), manifest(OURS)
        self.assertNotIn("Cad-Version", stock)
        self.assertRegex(ours["Cad-Version"], r"^\d+\.\d+\.\d+$")
        for key in ("Implementation-Version", "Implementation-Title", "Specification-Version"):
            self.assertEqual(stock[key], ours[key])

    def test_licence_and_notice_say_that_it_is_modified(self):
        with zipfile.ZipFile(OURS) as z:
            self.assertIn(b"Apache License", z.read("META-INF/LICENSE"))
            self.assertIn(b"modified build of Apache ZooKeeper", z.read("META-INF/NOTICE"))


if __name__ == "__main__":
    unittest.main()

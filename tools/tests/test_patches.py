# SPDX-License-Identifier: Apache-2.0
"""The patch tools on a small component with a good series, and with each rule broken."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOOLS))

from patchset import Refused, changes, history, lint  # noqa: E402
from patchset.component import Component  # noqa: E402
from patchset.patchfile import Patch  # noqa: E402

HEADER = """\
Description: a hook in A
 that continues
Origin: vendor
Author: the CAD maintainers
Forwarded: no
Last-Update: 2026-11-21
Why: it is needed
How to get rid of it: upstream takes it
Proved by: io.cad.SeamTest#hooks

"""
DIFF_START = """\
diff --git a/src/A.java b/src/A.java
--- a/src/A.java
+++ b/src/A.java
"""
UPSTREAM_A = "package a;\nclass A {\n    int one = 1;\n    int two = 2;\n    int three = 3;\n}\n"
SEAM = HEADER + DIFF_START + """\
@@ -1,6 +1,8 @@
 package a;
 class A {
-    int one = 1;
+    // CAD start - the extension decides
+    int one = io.cad.Seam.one();
+    // CAD end
     int two = 2;
     int three = 3;
 }
"""
NEW_FILE = HEADER + """\
diff --git a/src/B.java b/src/B.java
new file mode 100644
--- /dev/null
+++ b/src/B.java
@@ -0,0 +1,2 @@
+// SPDX-License-Identifier: Apache-2.0
+class B { }
"""


class ComponentCase(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="patches-test-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.dir = self.root / "demo"
        self.write("demo/scripts/fetch", "#!/bin/sh\nmkdir -p \"$1\"\n")
        self.write("demo/scripts/unpack", f"#!/bin/sh\nmkdir -p \"$2/src\"\ncp '{self.root}/A.java' \"$2/src/A.java\"\n")
        for script in ("fetch", "unpack"):
            (self.dir / "scripts" / script).chmod(0o755)
        self.write("A.java", UPSTREAM_A)
        self.write("demo/src/test/java/io/cad/SeamTest.java", "class SeamTest { void hooks() { } }\n")
        self.series({"seam/0001-a.patch": SEAM, "seam/0002-b.patch": NEW_FILE})
        changes.write(self.component())

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def series(self, patches):
        shutil.rmtree(self.dir / "patches", ignore_errors=True)
        for name, text in patches.items():
            self.write(f"demo/patches/{name}", text)
        self.write("demo/patches/series", "# order\n" + "".join(f"{name}\n" for name in patches))

    def component(self):
        return Component(self.dir)

    def findings(self, patches=None):
        """Lint findings; CORE_CHANGES.md is made to fit unless the series is the original one."""
        if patches is not None:
            self.series(patches)
            changes.write(self.component())
        return lint.lint(self.component())

    def assert_finding(self, part, patches):
        found = self.findings(patches)
        self.assertTrue(any(part in f for f in found), f"{part!r} not in {found}")


class LintTest(ComponentCase):
    def test_good_series_has_no_finding(self):
        self.assertEqual([], self.findings())

    def test_each_header_field_is_required(self):
        for field in lint.FIELDS:
            text = "\n".join(line for line in SEAM.splitlines() if not line.startswith(field + ":")) + "\n"
            self.assert_finding(f"lacks `{field}:`", {"seam/0001-a.patch": text})

    def test_date_must_be_one(self):
        self.assert_finding("is no date", {"seam/0001-a.patch": SEAM.replace("2026-11-21", "yesterday")})

    def test_proof_must_exist(self):
        for bad in ("io.cad.NoTest", "io.cad.SeamTest#nothing", "tests/none.tcl"):
            self.assert_finding("names no test", {"seam/0001-a.patch": SEAM.replace("io.cad.SeamTest#hooks", bad)})

    def test_proof_may_be_a_simple_class_name(self):
        self.assertEqual([], self.findings({"seam/0001-a.patch": SEAM.replace("io.cad.SeamTest#hooks", "SeamTest#hooks")}))

    def test_every_named_proof_must_exist(self):
        text = SEAM.replace("io.cad.SeamTest#hooks", "io.cad.SeamTest#hooks, io.cad.Gone")
        self.assert_finding("io.cad.Gone", {"seam/0001-a.patch": text})

    def test_backport_states_its_licence(self):
        self.assert_finding("`Licence:`", {"backport/0001-a.patch": SEAM})

    def test_order_of_kinds(self):
        self.assert_finding("the order is", {"feature/0001-a.patch": SEAM, "seam/0002-b.patch": NEW_FILE})

    def test_kind_is_known(self):
        self.assert_finding("lies in none of", {"misc/0001-a.patch": SEAM})

    def test_unlisted_patch(self):
        self.write("demo/patches/seam/0009-x.patch", SEAM)
        self.assertTrue(any("not listed" in f for f in self.findings()))

    def test_new_import(self):
        text = SEAM.replace("io.cad.Seam.one()", "1").replace("+    // CAD start", "+import a.b;\n+    // CAD start")
        self.assert_finding("new import", {"seam/0001-a.patch": text.replace("+1,8", "+1,9")})

    def test_reindented_line(self):
        text = SEAM.replace("int one = io.cad.Seam.one()", "    int one = 1")
        self.assert_finding("re-indented", {"seam/0001-a.patch": text})

    def test_trailing_blank(self):
        self.assert_finding("blanks at the end", {"seam/0001-a.patch": SEAM.replace("one();", "one(); ")})

    def test_unmarked_line(self):
        text = SEAM.replace("+    // CAD end\n", "").replace("+    // CAD start - the extension decides\n", "")
        self.assert_finding("outside `CAD start", {"seam/0001-a.patch": text.replace("+1,8", "+1,6")})

    def test_marker_without_reason(self):
        self.assert_finding("write `CAD start - <reason>`",
                            {"seam/0001-a.patch": SEAM.replace("start - the extension decides", "start")})

    def test_marker_never_closed(self):
        text = SEAM.replace("+    // CAD end\n", "").replace("+1,8", "+1,7")
        self.assert_finding("without an end", {"seam/0001-a.patch": text})

    def test_line_removed_without_a_marker(self):
        text = HEADER + DIFF_START + ("@@ -1,6 +1,5 @@\n package a;\n class A {\n-    int one = 1;\n"
                                      "     int two = 2;\n     int three = 3;\n }\n")
        self.assert_finding("removes lines", {"seam/0001-a.patch": text})

    def test_new_file_without_licence(self):
        text = NEW_FILE.replace("// SPDX-License-Identifier: Apache-2.0", "// hello")
        self.assert_finding("starts with its licence", {"seam/0001-b.patch": text})

    def test_stale_line_numbers(self):
        self.assert_finding("stale", {"seam/0001-a.patch": SEAM.replace("@@ -1,6 +1,8 @@", "@@ -3,6 +3,8 @@")})

    def test_feature_patch_is_small(self):
        body = "".join(f"+    int x{i};\n" for i in range(150))
        text = SEAM.replace("+    // CAD end\n", body + "+    // CAD end\n").replace("+1,8", "+1,158")
        self.assert_finding("at most 150", {"feature/0001-a.patch": text})
        self.assertEqual([], self.findings({"seam/0001-a.patch": text}))

    def test_changes_file_must_be_current(self):
        self.write("demo/CORE_CHANGES.md", "old\n")
        self.assertTrue(any("CORE_CHANGES.md" in f for f in self.findings()))


class ApplyTest(ComponentCase):
    def test_fuzz_is_refused(self):
        self.series({"seam/0001-a.patch": SEAM.replace(" class A {", " class AA {")})
        with self.assertRaisesRegex(Refused, "fuzz 0"):
            lint.lint(self.component())

    def test_short_hunk_is_refused(self):
        with self.assertRaisesRegex(Refused, "shorter"):
            Patch("seam/x.patch", SEAM.replace("+1,8", "+1,12"))

    def test_missing_file_is_refused(self):
        self.write("demo/patches/series", "seam/none.patch\n")
        with self.assertRaisesRegex(Refused, "does not exist"):
            self.component().patches()

    def test_try_reports_each_patch(self):
        other = self.root / "other"
        (other / "src").mkdir(parents=True)
        (other / "src" / "A.java").write_text("package a;\n")
        done = subprocess.run([TOOLS / "patches", "try", self.dir, other], stdout=subprocess.PIPE, text=True)
        self.assertEqual(1, done.returncode)
        self.assertIn("conflict  seam/0001-a.patch", done.stdout)
        self.assertIn("fits      seam/0002-b.patch", done.stdout)
        self.assertTrue(done.stdout.endswith("1 passed, 1 failed, 0 skipped\n"))
        self.assertFalse((other / "src" / "B.java").exists())

    def test_command_line(self):
        def run(*arguments):
            return subprocess.run([TOOLS / "patches", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
        self.assertEqual(254, run("polish", self.dir).returncode)
        self.assertEqual(1, run("apply", self.root).returncode)
        self.assertEqual(0, run("apply", self.dir).returncode)
        patched = self.dir / "build" / "patched" / "src"
        self.assertIn("Seam.one", (patched / "A.java").read_text())
        self.assertEqual(UPSTREAM_A, (self.dir / "build" / "stock" / "src" / "A.java").read_text())
        before = (patched / "A.java").stat().st_mtime_ns
        (patched / "stray").touch()
        self.assertEqual(0, run("apply", self.dir).returncode)
        self.assertEqual(before, (patched / "A.java").stat().st_mtime_ns)
        self.assertFalse((patched / "stray").exists())
        self.series({})
        self.assertEqual(0, run("apply", self.dir).returncode)
        self.assertEqual(UPSTREAM_A, (patched / "A.java").read_text())
        self.assertFalse((patched / "B.java").exists())


class HistoryTest(ComponentCase):
    def test_round_trip_is_empty(self):
        self.assertEqual([], history.roundtrip(self.component()))

    def test_round_trip_sees_a_stale_line_number(self):
        self.series({"seam/0001-a.patch": SEAM.replace("@@ -1,6 +1,8 @@", "@@ -3,6 +3,8 @@")})
        self.assertIn("0001-a.patch", history.roundtrip(self.component())[0])

    def test_round_trip_forgives_what_only_tells_the_tool(self):
        plain = SEAM.replace("diff --git a/src/A.java b/src/A.java\n", "").replace("@@\n", "@@ class A {\n")
        self.series({"seam/0001-a.patch": plain.replace("--- a/src/A.java", "--- a/src/A.java\t2026-01-01 00:00:00")})
        self.assertEqual([], history.roundtrip(self.component()))

    def test_round_trip_sees_a_missing_line_of_context(self):
        self.series({"seam/0001-a.patch": SEAM.replace(" package a;\n", "").replace("@@ -1,6 +1,8 @@", "@@ -2,5 +2,7 @@")})
        self.assertEqual(1, len(history.roundtrip(self.component())))

    def test_edit_and_export(self):
        component, tree = self.component(), self.root / "edit"
        history.create(component, tree)
        path = tree / "src" / "A.java"
        path.write_text(path.read_text().replace(
            "    int three", "    // CAD start - also here\n    int four = 4;\n    // CAD end\n    int three"))
        history.commit(tree, "feature/0003-c.patch\n\n" + HEADER)
        names = history.write_back(component, tree)
        self.assertEqual(["seam/0001-a.patch", "seam/0002-b.patch", "feature/0003-c.patch"], names)
        self.assertTrue(component.series_file.read_text().startswith("# order\n"))
        changes.write(component)
        self.assertEqual([], lint.lint(component))
        self.assertEqual([], history.roundtrip(component))

    def test_export_refuses_what_it_would_lose(self):
        component, tree = self.component(), self.root / "edit"
        history.create(component, tree)
        (tree / "src" / "A.java").write_text("x")
        with self.assertRaisesRegex(Refused, "not committed"):
            history.write_back(component, tree)
        history.commit(tree, "fixup! seam/0001-a.patch\n")
        with self.assertRaisesRegex(Refused, "no patch name"):
            history.write_back(component, tree)


if __name__ == "__main__":
    unittest.main()

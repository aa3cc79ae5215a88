# SPDX-License-Identifier: Apache-2.0
"""What the stock-suite runner counts, leaves out and takes over from an earlier run."""
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import tempfile
import types
import unittest
from contextlib import redirect_stderr, redirect_stdout

SUITE = pathlib.Path(__file__).resolve().parent.parent
loader = importlib.machinery.SourceFileLoader("suite_run", str(SUITE / "run"))
suite = importlib.util.module_from_spec(importlib.util.spec_from_loader("suite_run", loader))
loader.exec_module(suite)

PROOF = "stock-suite/tests/test_run.py"


def test(status, cad=0, name="a"):
    return {"test": name, "status": status, "cad": cad, "ms": 1}


class ListsTest(unittest.TestCase):
    def lists(self, skip="", flaky="", standalone=""):
        with tempfile.TemporaryDirectory() as directory:
            for name, text in (("skip", skip), ("flaky", flaky), ("standalone", standalone)):
                (pathlib.Path(directory) / f"{name}.txt").write_text("# comment\n" + text)
            return suite.Lists(pathlib.Path(directory))

    def test_the_committed_lists_are_well_formed(self):
        suite.Lists(SUITE)
        self.assertEqual(21, len(suite.rows(SUITE / "core.txt")))

    def test_skip_by_mode_and_method(self):
        lists = self.lists(f"cad | ATest#one | rule | {PROOF}\n* | BTest | rule | {PROOF}\n")
        self.assertEqual({"one": "rule"}, lists.skipped("cad", "x.ATest"))
        self.assertEqual({}, lists.skipped("immediate", "x.ATest"))
        self.assertEqual({None: "rule"}, lists.skipped("stock", "x.BTest"))

    def test_each_skip_needs_mode_reason_and_proof(self):
        for line in ("cad | ATest | rule", f"cad | ATest | | {PROOF}", f"fast | ATest | rule | {PROOF}",
                     "cad | ATest | rule | tests/none.py"):
            with self.subTest(line), self.assertRaises(SystemExit):
                self.lists(line + "\n")

    def test_standalone_by_method_or_whole_class(self):
        lists = self.lists(standalone="ATest#one | how\nATest#two | how\nBTest | how\n")
        self.assertEqual(["one", "two"], lists.standalone_methods("x.ATest"))
        self.assertEqual(["*"], lists.standalone_methods("x.BTest"))
        self.assertEqual([], lists.standalone_methods("x.CTest"))

    def test_flaky_needs_a_measurement(self):
        self.assertEqual({"ATest#one"}, self.lists(flaky="ATest#one | 1/20\n").flaky)
        with self.assertRaises(SystemExit):
            self.lists(flaky="ATest#one | sometimes\n")


class ShareTest(unittest.TestCase):
    TESTS = {"ATest": [f"m{i}" for i in range(38)], "BTest": ["one", "two"]}

    def lists(self, *lines):
        return types.SimpleNamespace(skips=[[f.strip() for f in line.split("|")] for line in lines])

    def test_no_mode_leaves_out_too_much_of_upstream(self):
        lists, tests = suite.Lists(SUITE), suite.declared()
        for mode in suite.MODES:
            with self.subTest(mode), redirect_stdout(io.StringIO()):
                suite.share(mode, suite.left_out(lists, mode, tests), suite.left_out(lists, "*", tests), tests)

    def test_methods_classes_and_modes_are_counted(self):
        lists = self.lists("cad | ATest#m1 | r | t", "immediate,cad | BTest | r | t", "* | BTest#one | r | t")
        self.assertEqual({"ATest#m1", "BTest#one", "BTest#two"}, suite.left_out(lists, "cad", self.TESTS))
        self.assertEqual({"BTest#one", "BTest#two"}, suite.left_out(lists, "immediate", self.TESTS))
        self.assertEqual(set(), suite.left_out(lists, "stock", self.TESTS))
        self.assertEqual({"BTest#one"}, suite.left_out(lists, "*", self.TESTS))

    def test_what_fails_on_the_unpatched_build_counts_on_neither_side(self):
        with redirect_stdout(io.StringIO()) as out:
            suite.share("cad", {"ATest#m1", "BTest#one"}, {"BTest#one", "BTest#two"}, self.TESTS)
        self.assertIn("1 of 38 declared tests (2.6%), beside 2 that fail", out.getvalue())

    def test_the_bar_is_five_percent_of_what_is_declared(self):
        for names, fails in ((["m1", "m2"], False), (["m1", "m2", "m3"], True)):
            lists = self.lists(*(f"cad | ATest#{m} | r | t" for m in names))
            with self.subTest(names), redirect_stdout(io.StringIO()) as out:
                try:
                    suite.share("cad", suite.left_out(lists, "cad", self.TESTS), set(), self.TESTS)
                    self.assertFalse(fails)
                    self.assertIn("2 of 40 declared tests (5.0%)", out.getvalue())
                except SystemExit as refused:
                    self.assertTrue(fails)
                    self.assertIn("3 of 40", str(refused))

    def test_a_line_for_a_test_that_is_not_there_is_refused(self):
        for name in ("CTest", "ATest#one"):
            with self.subTest(name), self.assertRaises(SystemExit):
                suite.left_out(self.lists(f"cad | {name} | r | t"), "cad", self.TESTS)

    def test_declared_are_the_methods_of_classes_that_run(self):
        with tempfile.TemporaryDirectory() as directory:
            tree = pathlib.Path(directory)
            (tree / "ATest.java").write_text("public class ATest {\n  @Test(timeout = 5)\n  public void one() {}\n"
                                             "  void help() {}\n  @ParameterizedTest\n  @ValueSource(ints = {1})\n"
                                             "  public void two(int n) {}\n  // @Test\n  void three() {}\n}\n")
            (tree / "BTest.java").write_text("public abstract class BTest {\n  @Test\n  public void one() {}\n}\n")
            (tree / "Helper.java").write_text("public class Helper {\n  @Test\n  public void one() {}\n}\n")
            self.assertEqual({"ATest": ["one", "two"]}, suite.declared(tree))
            (tree / "ATest.java").unlink()
            with self.assertRaises(SystemExit):
                suite.declared(tree)


class RunnerTest(unittest.TestCase):
    def runner(self, outcomes, flaky=(), skips=None):
        """A runner whose JVMs end as `outcomes` say, one after another."""
        lists = types.SimpleNamespace(flaky=set(flaky), skipped=lambda mode, name: skips or {},
                                      standalone_methods=lambda name: [])
        runner = suite.Runner(types.SimpleNamespace(jobs=1, timeout=1), lists)
        runner.jvm = lambda *_: outcomes.pop(0)
        runner.put_aside = lambda *_: None
        return runner

    def alone(self, *outcomes):
        """What a class that failed once counts as when its further attempts end as `outcomes` say."""
        fail = ("ran", [test("failed")])
        runner = self.runner([fail, *outcomes])
        first = runner.run_class("cad", "x.ATest", [], "b")
        return suite.alone(runner, "cad", first, [], "b")

    def test_a_pass_without_cad_objects_is_no_pass_in_a_cad_mode(self):
        outcome = ("ran", [test("passed", cad=2), test("passed"), test("skipped")])
        line = self.runner([outcome]).run_class("cad", "x.ATest", [], "b")
        self.assertEqual((1, 0, 1, 1), (line["passed"], line["failed"], line["skipped"], line["no_cad"]))
        plain = ("ran", [test("passed"), test("skipped")])
        line = self.runner([plain]).run_class("nokeys", "x.ATest", [], "b")
        self.assertEqual((1, 0, 1, 0), (line["passed"], line["failed"], line["skipped"], line["no_cad"]))

    def test_cad_objects_without_keys_are_a_failure(self):
        line = self.runner([("ran", [test("passed", cad=1)])]).run_class("nokeys", "x.ATest", [], "b")
        self.assertEqual((0, 1), (line["passed"], line["failed"]))
        self.assertIn("without a cad.* key", line["remarks"][0]["why"])

    def test_a_failure_is_one_even_without_cad_objects(self):
        line = self.runner([("ran", [test("failed")])]).run_class("cad", "x.ATest", [], "b")
        self.assertEqual(1, line["failed"])
        self.assertTrue(suite.is_failure(line))

    def test_crash_and_timeout_are_failures(self):
        for outcome in ("crashed", "timeout"):
            self.assertTrue(suite.is_failure(self.runner([(outcome, [])]).run_class("cad", "x.ATest", [], "b")))

    def test_a_class_without_tests_is_a_failure(self):
        line = self.runner([("ran", [])]).run_class("stock", "x.ATest", [], "b")
        self.assertEqual("no tests", line["outcome"])
        self.assertTrue(suite.is_failure(line))

    def test_only_listed_tests_are_repeated(self):
        fail, ok = ("ran", [test("failed")]), ("ran", [test("passed")])
        line = self.runner([fail, ok], flaky={"ATest#a"}).run_class("stock", "x.ATest", [], "b")
        self.assertEqual((1, 0, 2), (line["passed"], line["failed"], line["attempts"]))
        self.assertEqual(1, self.runner([fail, ok]).run_class("stock", "x.ATest", [], "b")["failed"])
        line = self.runner([fail] * 3 + [ok], flaky={"ATest#a"}).run_class("stock", "x.ATest", [], "b")
        self.assertEqual((1, 3), (line["failed"], line["attempts"]))

    def test_a_failure_beside_others_is_unsteady_only_after_two_passes_alone(self):
        fail, ok = ("ran", [test("failed")]), ("ran", [test("passed", cad=1)])
        line = self.alone(ok, ok)
        self.assertFalse(suite.is_failure(line))
        self.assertEqual(["a"], [t["test"] for t in line["unsteady"]])
        for further in ([fail], [ok, fail], [ok, ("crashed", [])]):
            with self.subTest(further):
                self.assertTrue(suite.is_failure(self.alone(*further)))

    def test_classes_of_the_same_simple_name_are_told_apart(self):
        known = ["a.XTest", "b.XTest", "b.YTest"]
        upstream = types.SimpleNamespace(classes=lambda mode: known)
        self.assertEqual(["b.YTest", "a.XTest", "b.XTest"], suite.chosen("YTest,XTest", upstream, None))
        self.assertEqual(["b.XTest"], suite.chosen("b.XTest", upstream, None))
        runner = self.runner([])
        self.assertNotEqual(runner.work("cad", "a.XTest"), runner.work("cad", "b.XTest"))

    def test_the_summary_names_what_is_unsteady(self):
        ok = ("ran", [test("passed", cad=1)])
        line, out = self.alone(ok, ok), io.StringIO()
        with redirect_stdout(out):
            self.assertEqual(0, suite.summary("cad", [line])["failed"])
        self.assertIn("unsteady: ATest", out.getvalue())

    def test_a_class_that_is_left_out_is_not_run(self):
        line = self.runner([], skips={None: "rule"}).run_class("cad", "x.ATest", [], "b")
        self.assertEqual(("skipped", "rule"), (line["outcome"], line["reason"]))


class ResultsTest(unittest.TestCase):
    def test_only_lines_of_the_same_build_are_taken_over(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "cad.jsonl"
            path.write_text("".join(json.dumps({"class": c, "build": b}) + "\n" for c, b in
                                    (("A", "1"), ("B", "2"), ("C", "1"))))
            self.assertEqual({"A", "C"}, set(suite.known_results(path, "1")))
            self.assertEqual({}, suite.known_results(path / "none", "1"))

    def test_a_new_line_replaces_that_of_an_older_build_and_no_other(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "cad.jsonl"
            for name, build in (("B", "1"), ("A", "1"), ("B", "2")):
                suite.keep(path, {"class": name, "build": build})
            self.assertEqual([("A", "1"), ("B", "2")],
                             [(line["class"], line["build"]) for line in map(json.loads, path.read_text().splitlines())])


class KazooTest(unittest.TestCase):
    def outcome(self, mode, started):
        with tempfile.TemporaryDirectory() as directory:
            work = pathlib.Path(directory)
            (work / "result").write_text(
                '<testsuites><testsuite><testcase name="a" time="0.5"/><testcase name="b"><failure message="no"/></testcase>'
                '<testcase name="c"><skipped message="later"/></testcase></testsuite></testsuites>')
            if started:
                (work / "started").write_text("1\n")
            run = suite.Run("kazoo.tests.test_x", suite.MODES[mode], [], {}, [], 1, 1, work)
            return suite.SUITES["kazoo"].tests(run)

    def test_reads_what_each_test_did(self):
        self.assertEqual(["passed", "failed", "skipped"], [t["status"] for t in self.outcome("stock", True)])

    def test_a_module_without_servers_has_not_tested_cad(self):
        self.assertEqual([0, 0, 0], [t["cad"] for t in self.outcome("cad", False)])
        self.assertEqual([1, 1, 1], [t["cad"] for t in self.outcome("cad", True)])
        self.assertEqual([0, 0, 0], [t["cad"] for t in self.outcome("nokeys", True)])


class ArgumentsTest(unittest.TestCase):
    def test_wrong_ones(self):
        for arguments in ([], ["--mode", "fast"], ["--mode", "cad", "--jobs", "0"], ["--nonsense"]):
            with self.subTest(arguments), redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()), \
                    self.assertRaises(SystemExit) as stopped:
                suite.main(arguments)
            self.assertEqual(254, stopped.exception.code)

    def test_help(self):
        with redirect_stdout(io.StringIO()) as out, self.assertRaises(SystemExit) as stopped:
            suite.main(["--help"])
        self.assertEqual(0, stopped.exception.code)
        self.assertIn("5 % of the tests", out.getvalue())


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""tools/budget adds up what the parts counted, and believes nothing that was not counted."""
import importlib.machinery
import importlib.util
import io
import pathlib
import tempfile
import unittest
from contextlib import redirect_stdout

TOOLS = pathlib.Path(__file__).resolve().parent.parent
loader = importlib.machinery.SourceFileLoader("budget", str(TOOLS / "budget"))
budget = importlib.util.module_from_spec(importlib.util.spec_from_loader("budget", loader))
loader.exec_module(budget)


class BudgetTest(unittest.TestCase):
    def run_parts(self, *lines):
        """(exit code, last line, everything printed) of a `check` run over these parts."""
        with tempfile.TemporaryDirectory() as root:
            root = pathlib.Path(root)
            (root / "tools").mkdir()
            (root / "tools" / "parts").write_text("# comment\n" + "".join(f"check | {line}\n" for line in lines))
            real, budget.ROOT = budget.ROOT, root
            out = io.StringIO()
            try:
                with redirect_stdout(out):
                    code = budget.main(["check"])
            finally:
                budget.ROOT = real
        return code, out.getvalue().splitlines()[-1], out.getvalue()

    def test_sum(self):
        code, last, _ = self.run_parts("1 | a | tools | echo 3 passed, 0 failed, 1 skipped",
                                       "1 | b | tools | echo 4 passed, 0 failed")
        self.assertEqual((0, "7 passed, 0 failed, 1 skipped"), (code, last))

    def test_all_parts_run_after_a_failure(self):
        code, last, _ = self.run_parts("1 | a | tools | echo 3 passed, 2 failed, 0 skipped; exit 1",
                                       "1 | b | tools | echo 4 passed, 0 failed")
        self.assertEqual((1, "7 passed, 2 failed, 0 skipped"), (code, last))

    def test_names_of_failures_are_repeated_at_the_end(self):
        for said in ("--- FAIL: TestDisk (1.9s)", "    FAILED testRoll : expected 1", "[ERROR]   GateTest.holds:12 no", "[err]: CAD: WAITAOF"):
            with self.subTest(said):
                code, _, out = self.run_parts(f"1 | a | tools | echo '{said}'; echo '1 passed, 1 failed'",
                                              "1 | b | tools | echo '--- FAIL: never mind'; echo '1 passed, 0 failed'")
                self.assertEqual(1, code)
                self.assertIn("a: " + said.strip(), out[out.index("as the parts say"):])
                self.assertNotIn("never mind", out[out.index("as the parts say"):])

    def test_exit_code_counts_even_when_the_line_is_green(self):
        code, last, _ = self.run_parts("1 | a | tools | echo 3 passed, 0 failed, 0 skipped; exit 3")
        self.assertEqual((1, "3 passed, 1 failed, 0 skipped"), (code, last))

    def test_no_counts_line_is_a_failure(self):
        code, last, out = self.run_parts("1 | a | tools | true")
        self.assertEqual((1, "0 passed, 1 failed, 0 skipped"), (code, last))
        self.assertIn("no counts line", out)

    def test_colours_before_the_counts_line_do_not_hide_it(self):
        code, last, _ = self.run_parts(r"1 | a | tools | printf '\033[0m\033[0m5 passed, 0 failed, 0 skipped\n'")
        self.assertEqual((0, "5 passed, 0 failed, 0 skipped"), (code, last))

    def test_nothing_counted_is_a_failure(self):
        code, _, out = self.run_parts("1 | a | tools | echo 0 passed, 0 failed, 0 skipped")
        self.assertEqual(1, code)
        self.assertIn("ran no test", out)

    def test_only_the_last_counts_line_of_a_part_counts(self):
        _, last, _ = self.run_parts("1 | a | tools | echo 1 passed, 0 failed; echo 5 passed, 0 failed")
        self.assertEqual("5 passed, 0 failed, 0 skipped", last)

    def test_build_part_needs_no_counts_but_must_succeed(self):
        ok = "1 | b | tools | echo 1 passed, 0 failed"
        self.assertEqual(0, self.run_parts("1 | a | tools | ! true", ok)[0])
        self.assertEqual(1, self.run_parts("1 | a | tools | ! false", ok)[0])

    def test_absent_part_is_named_and_not_counted(self):
        code, last, out = self.run_parts("1 | a | absent | echo 9 passed, 0 failed",
                                         "1 | b | tools | echo 1 passed, 0 failed")
        self.assertEqual((0, "1 passed, 0 failed, 0 skipped"), (code, last))
        self.assertIn("waits for absent/", out)

    def test_only_absent_parts_prove_nothing(self):
        self.assertEqual(1, self.run_parts("1 | a | absent | true")[0])

    def test_unknown_tier_is_refused(self):
        with self.assertRaisesRegex(ValueError, "unknown tier"):
            budget.read_parts("often | 1 | a | tools | true")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""tools/maven-test counts what this run reported, however fresh an older report is."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent
loader = importlib.machinery.SourceFileLoader("maven_test", str(TOOLS / "maven-test"))
maven_test = importlib.util.module_from_spec(importlib.util.spec_from_loader("maven_test", loader))
loader.exec_module(maven_test)


class MavenTestTest(unittest.TestCase):
    def run_with(self, mvn):
        """(exit code, last line) of a run with this shell script as Maven, beside a report that was written just before."""
        with tempfile.TemporaryDirectory() as root:
            root = pathlib.Path(root)
            reports = root / "module" / "target" / "surefire-reports"
            reports.mkdir(parents=True)
            (reports / "TEST-old.xml").write_text('<testsuite tests="5" failures="1" errors="0" skipped="0"/>')
            (root / "mvn").write_text("#!/bin/sh\n" + mvn)
            (root / "mvn").chmod(0o755)
            path, ours = os.environ["PATH"], maven_test.ROOT
            os.environ["PATH"], maven_test.ROOT = f"{root}:{path}", root
            out = io.StringIO()
            try:
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                    code = maven_test.main([])
            finally:
                os.environ["PATH"], maven_test.ROOT = path, ours
        return code, out.getvalue().splitlines()[-1]

    def test_a_report_of_the_run_before_does_not_count(self):
        new = '<testsuite tests="4" failures="0" errors="0" skipped="1"/>'
        self.assertEqual((0, "3 passed, 0 failed, 1 skipped"),
                         self.run_with(f"echo '{new}' > module/target/surefire-reports/TEST-new.xml\n"))

    def test_a_build_that_fails_is_a_failure(self):
        self.assertEqual((1, "0 passed, 1 failed, 0 skipped"), self.run_with("exit 1\n"))


if __name__ == "__main__":
    unittest.main()

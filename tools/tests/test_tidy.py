# SPDX-License-Identifier: Apache-2.0
"""Each house rule has a file that breaks it."""
import importlib.machinery
import importlib.util
import pathlib
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent
loader = importlib.machinery.SourceFileLoader("tidy", str(TOOLS / "tidy"))
tidy = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy", loader))
loader.exec_module(tidy)

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"


class TidyTest(unittest.TestCase):
    def test_clean(self):
        self.assertEqual([], tidy.check("a/A.java", LICENCE + "class A { }\n"))
        self.assertEqual([], tidy.check("README.md", "See https://zookeeper.apache.org/doc, http://host/ and /var/lib/zookeeper/.\n"))

    def test_each_rule(self):
        for name, text, part in (
                ("a/A.java", "class A { }\n", "SPDX"),
                ("bin/run", "#!/bin/sh\necho\n", "SPDX"),
                ("Makefile", "all:\n", "SPDX"),
                ("a.md", "text", "newline"),
                ("a.md", "text \n", "blanks"),
                ("A.java", LICENCE + "\tint a;\n", "tab"),
                ("a.md", "TO" "DO later\n", "unfinished"),
                ("a.md", "see /ro" "ot/.m2\n", "one machine"),
                ("a.md", "see /ho" "me/somebody/x\n", "one machine"),
                ("a.md", "from https:" "//registry.invalid/x\n", "registry.invalid")):
            with self.subTest(name=name, text=text):
                found = tidy.check(name, text)
                self.assertEqual(1, len(found), found)
                self.assertIn(part, found[0])

    def test_quoted_text_is_left_alone(self):
        self.assertEqual([], tidy.check("x/patches/seam/0001-a.patch", "+\tTO" "DO \n"))


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""One patch file: a DEP-3 header (https://dep-team.pages.debian.net/deps/dep3/), then diffs."""
import re

from . import Refused

HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
FIELD = re.compile(r"^([A-Z][A-Za-z -]*):[ \t]*(.*)$")


class FileChange:
    """What a patch does to one file.

    `added`: (line number in the new file, text); `removed`: (line number in the old one, text).
    `hunks`: for each hunk a pair of lists, texts removed and texts added.
    """

    def __init__(self, old, new):
        self.is_new = old == "/dev/null"
        self.is_deleted = new == "/dev/null"
        self.path = re.sub(r"^[^/]*/", "", old if self.is_deleted else new)
        self.added, self.removed, self.hunks = [], [], []

    @property
    def changed_lines(self):
        """Lines of the diff, removed and added; a replaced line counts twice."""
        return len(self.added) + len(self.removed)


class Patch:
    def __init__(self, name, text):
        self.name, self.text = name, text
        self.kind = name.split("/")[0]
        header, self.diff = split(text)
        self.header_text = header
        self.header = parse_header(header)
        self.files = parse_diff(name, self.diff)

    @classmethod
    def read(cls, directory, name):
        path = directory / name
        if not path.is_file():
            raise Refused(f"patches/series names {name}, which does not exist")
        return cls(name, path.read_text())

    @property
    def upstream_lines(self):
        """Lines changed in files that upstream has; our own new files do not count."""
        return sum(f.changed_lines for f in self.files if not f.is_new)


def split(text):
    """(header, diff): the diff starts at the first `diff --git` or `--- ` line."""
    lines = text.splitlines(keepends=True)
    for i, line in enumerate(lines):
        if line.startswith("diff --git ") or (
                line.startswith("--- ") and i + 1 < len(lines) and lines[i + 1].startswith("+++ ")):
            return "".join(lines[:i]), "".join(lines[i:])
    return text, ""


def parse_header(text):
    """Fields in order; a line that starts with a blank continues the field before it."""
    fields, last = {}, None
    for line in text.splitlines():
        found = FIELD.match(line)
        if found:
            last = found.group(1)
            fields[last] = found.group(2).strip()
        elif line[:1] in (" ", "\t") and last:
            fields[last] = f"{fields[last]} {line.strip()}".strip()
        elif line.strip():
            last = None
    return fields


def parse_diff(name, diff):
    files, current, old_path = [], None, None
    old_left = new_left = 0
    for line in diff.splitlines():
        if old_left or new_left:
            mark, text = line[:1] or " ", line[1:]
            if mark == "-":
                current.removed.append((old_at, text))
                current.hunks[-1][0].append(text)
            elif mark == "+":
                current.added.append((new_at, text))
                current.hunks[-1][1].append(text)
            elif mark not in (" ", "\\"):
                raise Refused(f"{name}: broken hunk near {line!r}")
            if mark in "- ":
                old_at, old_left = old_at + 1, old_left - 1
            if mark in "+ ":
                new_at, new_left = new_at + 1, new_left - 1
        elif line.startswith("--- "):
            old_path = line[4:].split("\t")[0]
        elif line.startswith("+++ "):
            current = FileChange(old_path, line[4:].split("\t")[0])
            files.append(current)
        elif HUNK.match(line):
            if current is None:
                raise Refused(f"{name}: a hunk without a file")
            a, b, c, d = HUNK.match(line).groups()
            old_at, old_left = int(a), int(b or 1)
            new_at, new_left = int(c), int(d or 1)
            current.hunks.append(([], []))
    if old_left or new_left:
        raise Refused(f"{name}: the last hunk is shorter than its first line says")
    return files

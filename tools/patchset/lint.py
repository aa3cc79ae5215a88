# SPDX-License-Identifier: Apache-2.0
"""The rules for a patch set: small, marked, documented, and each with a way out."""
import datetime
import pathlib
import re
import tempfile

from . import changes

KINDS = ("backport", "seam", "feature")
FIELDS = ("Description", "Origin", "Author", "Forwarded", "Last-Update",
          "Why", "How to get rid of it", "Proved by")
FEATURE_LIMIT = 150
START = re.compile(r"CAD start - \S")
END = re.compile(r"CAD end\b")
TEST_ROOTS = ("src/test/java", "tests", "*/src/test/java")


def lint(component):
    """All findings, as text lines; an empty list means that the series is in order.

    Applies the series to a scratch tree; raises Refused when that fails."""
    patches = component.patches()
    findings = series_findings(component, patches)
    for patch in patches:
        findings += header_findings(component, patch)
        findings += diff_findings(patch)
    with tempfile.TemporaryDirectory(prefix="patches-lint-") as scratch:
        tree = pathlib.Path(scratch) / "tree"
        component.patched_tree(tree, lambda patch: findings.extend(marker_findings(tree, patch)))
    findings += changes.check(component, patches)
    return findings


def series_findings(component, patches):
    names = [p.name for p in patches]
    found = []
    for name in sorted({n for n in names if names.count(n) > 1}):
        found.append(f"series: {name} is listed twice")
    on_disk = {str(p.relative_to(component.patches_dir)) for p in component.patches_dir.rglob("*.patch")}
    for name in sorted(on_disk - set(names)):
        found.append(f"series: {name} exists but is not listed")
    for patch in patches:
        if patch.kind not in KINDS:
            found.append(f"{patch.name}: lies in none of {', '.join(k + '/' for k in KINDS)}")
    ranks = [KINDS.index(p.kind) for p in patches if p.kind in KINDS]
    if ranks != sorted(ranks):
        found.append("series: the order is backport/, then seam/, then feature/")
    return found


def header_findings(component, patch):
    found = [f"{patch.name}: header lacks `{field}:`" for field in FIELDS if not patch.header.get(field)]
    date = patch.header.get("Last-Update", "")
    try:
        if date and str(datetime.date.fromisoformat(date)) != date:
            raise ValueError
    except ValueError:
        found.append(f"{patch.name}: `Last-Update: {date}` is no date like 2026-01-31")
    if patch.kind == "backport" and not patch.header.get("Licence"):
        found.append(f"{patch.name}: a backport states the `Licence:` of what it takes over")
    for test in re.split(r"[,\s]+", patch.header.get("Proved by", "")):
        if test and not test_exists(component, test):
            found.append(f"{patch.name}: `Proved by: {test}` names no test in this tree")
    return found


def test_exists(component, test):
    """`path/of/a/test` (from the component or the repository root) or `[package.]Class[#method]`."""
    if "/" in test:
        return any((base / test).is_file() for base in (component.dir, component.root))
    name, _, method = test.partition("#")
    path = name.replace(".", "/") + ".java"
    for root in TEST_ROOTS:
        for base in component.dir.glob(root):
            for file in [base / path] if "/" in path else sorted(base.rglob(path)):
                if file.is_file():
                    return not method or re.search(rf"\b{re.escape(method)}\s*\(", file.read_text()) is not None
    return False


def diff_findings(patch):
    found = []
    if not patch.files:
        found.append(f"{patch.name}: changes nothing")
    if patch.kind == "feature" and patch.upstream_lines > FEATURE_LIMIT:
        found.append(f"{patch.name}: changes {patch.upstream_lines} upstream lines, at most {FEATURE_LIMIT}: "
                     "move logic into a file of our own")
    if patch.kind == "backport":
        return found
    for change in patch.files:
        where = f"{patch.name}: {change.path}"
        if change.is_new:
            if not any("SPDX-License-Identifier" in t or "Licensed to the Apache" in t for _, t in change.added[:20]):
                found.append(f"{where}: a new file starts with its licence")
            continue
        if change.path.endswith(".java"):
            for line, text in change.added:
                if re.match(r"\s*import\s", text):
                    found.append(f"{where}:{line}: new import; write the qualified name in the hook")
        for line, text in change.added:
            if text != text.rstrip():
                found.append(f"{where}:{line}: blanks at the end of the line")
        for removed, added in change.hunks:
            again = {squeeze(t) for t in removed if len(squeeze(t)) > 3} & {squeeze(t) for t in added}
            for text in sorted(again):
                found.append(f"{where}: only moved or re-indented: {text!r}")
    return found


def squeeze(text):
    return re.sub(r"\s+", "", text)


def marker_findings(tree, patch):
    """Every line added to an upstream file lies between `CAD start - <reason>` and `CAD end`."""
    if patch.kind == "backport":
        return []
    found = []
    for change in patch.files:
        if change.is_new or change.is_deleted:
            if change.is_deleted:
                found.append(f"{patch.name}: {change.path}: deletes an upstream file")
            continue
        lines = (tree / change.path).read_text(errors="replace").splitlines()
        inside, opened = set(), 0
        for number, text in enumerate(lines, 1):
            if "CAD start" in text:
                if opened:
                    found.append(f"{patch.name}: {change.path}:{number}: CAD start inside the one of line {opened}")
                if not START.search(text):
                    found.append(f"{patch.name}: {change.path}:{number}: write `CAD start - <reason>`")
                opened = number
            if opened:
                inside.add(number)
            if END.search(text):
                if not opened:
                    found.append(f"{patch.name}: {change.path}:{number}: CAD end without a start")
                opened = 0
        if opened:
            found.append(f"{patch.name}: {change.path}:{opened}: CAD start without an end")
        if any(number > len(lines) or lines[number - 1] != text for number, text in change.added):
            found.append(f"{patch.name}: {change.path}: line numbers are stale; run tools/patches export")
            continue
        bare = [number for number, _ in change.added if number not in inside]
        if bare:
            found.append(f"{patch.name}: {change.path}:{bare[0]}: {len(bare)} added line(s) "
                         "outside `CAD start - <reason>` ... `CAD end`")
        if change.removed and not change.added:
            found.append(f"{patch.name}: {change.path}: removes lines and leaves no marker that says why")
    return found

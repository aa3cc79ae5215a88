# SPDX-License-Identifier: Apache-2.0
"""The series as a git history, one commit a patch, for editing and for exact re-export.

The commit's subject is the patch's name (`seam/0001-roles.patch`), its body the header.
"""
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from . import Refused
from .component import apply_patch
from .patchfile import split

BASE = "upstream"
# What the user's own git configuration must not change in a diff or a commit.
ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "patches", "GIT_AUTHOR_EMAIL": "patches@localhost",
    "GIT_COMMITTER_NAME": "patches", "GIT_COMMITTER_EMAIL": "patches@localhost",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}


def git(tree, *arguments, text=None):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | ENVIRONMENT
    done = subprocess.run(["git", "-C", tree, *arguments], input=None if text is None else text.encode(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    if done.returncode:
        raise Refused(f"git {' '.join(arguments)}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode(errors="surrogateescape")


def create(component, tree):
    """Unpacks into `tree` and commits the series there, on top of the tag `upstream`."""
    shutil.rmtree(tree, ignore_errors=True)
    component.stock_tree(tree)
    git(tree, "init", "-q", "-b", "series")
    # Upstream's own attributes and ignore rules must not bend what is stored or shown.
    (pathlib.Path(tree) / ".git" / "info" / "attributes").write_text("* -text !diff !eol\n")
    git(tree, "config", "core.autocrlf", "false")
    git(tree, "config", "user.name", "patches")
    git(tree, "config", "user.email", "patches@localhost")
    commit(tree, "upstream\n")
    git(tree, "tag", BASE)
    for patch in component.patches():
        apply_patch(tree, patch)
        commit(tree, f"{patch.name}\n\n{patch.header_text}")


def commit(tree, message):
    git(tree, "add", "-A", "-f")
    git(tree, "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-F", "-", text=message)


def export(tree, directory):
    """Writes one patch file a commit into `directory`; returns the names in order."""
    tree, directory = pathlib.Path(tree), pathlib.Path(directory)
    if not (tree / ".git").is_dir():
        raise Refused(f"{tree} is no tree that `tools/patches edit` made")
    if git(tree, "status", "--porcelain").strip():
        raise Refused(f"{tree} has changes that are not committed")
    names = []
    for commit_id in git(tree, "rev-list", "--reverse", f"{BASE}..HEAD").split():
        message = git(tree, "show", "-s", "--format=%B", commit_id)
        name, _, header = message.partition("\n")
        if not re.fullmatch(r"(backport|seam|feature)/[A-Za-z0-9._-]+\.patch", name):
            raise Refused(f"commit subject {name!r} is no patch name such as seam/0001-roles.patch; "
                          "squash fixups with git rebase -i --autosquash")
        if name in names:
            raise Refused(f"two commits are named {name}; squash them")
        names.append(name)
        diff = git(tree, "-c", "core.quotePath=false", "diff", "--no-color", "--no-ext-diff", "--no-renames", "-U3",
                   "--diff-algorithm=myers", "--no-indent-heuristic", "--src-prefix=a/", "--dst-prefix=b/",
                   f"{commit_id}^", commit_id)
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(header.strip("\n") + "\n\n" + canonical(diff), errors="surrogateescape")
    return names


def canonical(diff):
    """Without blob ids and function names, which say nothing and differ between git versions."""
    diff = re.sub(r"^index [0-9a-f]+\.\.[0-9a-f]+.*\n", "", diff, flags=re.M)
    return re.sub(r"^(@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@).*$", r"\1", diff, flags=re.M)


def normal(text):
    """Lines of a patch without what only tells the tool that wrote it."""
    header, diff = split(text)
    diff = canonical(re.sub(r"^(diff --git |new file mode |--- [^\t\n]*\t|\+\+\+ [^\t\n]*\t).*\n",
                            lambda m: m.group(0).split("\t")[0] + "\n" if m.group(1)[0] in "-+" else "", diff, flags=re.M))
    return header.strip("\n").splitlines() + diff.splitlines()


def write_back(component, tree):
    """Makes patches/ what the history in `tree` says; the comments that head `series` stay."""
    with tempfile.TemporaryDirectory(prefix="patches-export-") as scratch:
        names = export(tree, scratch)
        for old in component.patches_dir.rglob("*.patch"):
            old.unlink()
        for name in names:
            target = component.patches_dir / name
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(pathlib.Path(scratch) / name, target)
    comments = [line for line in component.series_file.read_text().splitlines() if line.startswith("#")]
    component.series_file.write_text("\n".join(comments + names) + "\n")
    return names


def compare(component, tree):
    """Findings: every difference between what `tree` exports and what lies in patches/."""
    found = []
    with tempfile.TemporaryDirectory(prefix="patches-compare-") as scratch:
        out = pathlib.Path(scratch)
        names = export(tree, out)
        if names != component.series():
            found.append(f"the series is {component.series()}, the export has {names}")
        for name in names:
            ours = component.patches_dir / name
            before = normal(ours.read_text(errors="surrogateescape")) if ours.is_file() else []
            after = normal((out / name).read_text(errors="surrogateescape"))
            difference = list(difflib.unified_diff(before, after, f"patches/{name}", "exported", lineterm=""))
            if difference:
                found.append("\n".join([f"{name} is not what an export writes; run tools/patches edit, then export:",
                                        *difference[:40]]))
    return found


def roundtrip(component):
    """Unpack, apply, re-export; the findings of `compare`."""
    with tempfile.TemporaryDirectory(prefix="patches-roundtrip-") as scratch:
        tree = pathlib.Path(scratch) / "tree"
        create(component, tree)
        return compare(component, tree)

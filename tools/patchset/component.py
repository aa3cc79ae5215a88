# SPDX-License-Identifier: Apache-2.0
"""A component: the directory that holds one upstream's series and how to get its sources."""
import filecmp
import pathlib
import shutil
import subprocess

from . import Refused
from .patchfile import Patch


class Component:
    """`patches/series`, `scripts/fetch DOWNLOADS`, `scripts/unpack DOWNLOADS TREE stock`;
    build products go to `build/`.  `redis-cad` unpacks Debian's tree: stock means
    whatever our series stacks on."""

    def __init__(self, directory):
        self.dir = pathlib.Path(directory).resolve()
        self.root = self.dir.parent
        self.patches_dir = self.dir / "patches"
        self.series_file = self.patches_dir / "series"
        self.build = self.dir / "build"
        if not self.series_file.is_file():
            raise Refused(f"{self.series_file} is missing: name a component directory, such as zookeeper-cad")

    def series(self):
        """Patch names relative to patches/, in order; `#` starts a comment."""
        lines = (line.split("#")[0].strip() for line in self.series_file.read_text().splitlines())
        return [line for line in lines if line]

    def patches(self):
        """The series, parsed. Raises Refused when a file is missing or no patch."""
        return [Patch.read(self.patches_dir, name) for name in self.series()]

    def stock_tree(self, tree):
        """Unpacks the unpatched upstream into `tree`; fetches the archive when it is missing."""
        downloads = self.build / "download"
        for command in (["fetch", downloads], ["unpack", downloads, tree, "stock"]):
            if subprocess.run([self.dir / "scripts" / command[0], *command[1:]]).returncode:
                raise Refused(f"{self.dir.name}/scripts/{command[0]} failed")

    def patched_tree(self, tree, after_each=None):
        """Unpacks into `tree` and applies the series; `after_each(patch)` runs after each patch."""
        shutil.rmtree(tree, ignore_errors=True)
        self.stock_tree(tree)
        for patch in self.patches():
            apply_patch(tree, patch)
            if after_each:
                after_each(patch)


def apply_patch(tree, patch):
    """`patch -p1 -F0`; raises Refused with patch's own words when it does not fit exactly."""
    done = subprocess.run(
        ["patch", "-p1", "-F0", "-f", "-s", "--no-backup-if-mismatch", "-d", tree],
        input=patch.text.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise Refused(f"{patch.name} does not apply with fuzz 0:\n{done.stdout.decode().rstrip()}")


def mirror(source, target):
    """Makes `target` equal to `source`.  Files that do not change keep their time, so the
    next compilation sees only what a patch touched."""
    target.mkdir(parents=True, exist_ok=True)
    wanted = set()
    for path in sorted(source.rglob("*")):
        relative = path.relative_to(source)
        wanted.add(relative)
        to = target / relative
        if path.is_symlink():
            to.unlink(missing_ok=True)
            to.symlink_to(path.readlink())
        elif path.is_dir():
            to.mkdir(exist_ok=True)
        elif not to.is_file() or not filecmp.cmp(path, to, shallow=False):
            shutil.copyfile(path, to)
            shutil.copymode(path, to)
    for path in sorted(target.rglob("*"), reverse=True):
        if path.relative_to(target) not in wanted:
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()

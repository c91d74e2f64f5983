"""Forks: the files of one run, and beside them, out of the agent's reach, what git needs to see what changed."""

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from commands.ports.sandbox import Sandbox
from infra.claim import claimed
from infra.git.checkout import INDEX, write_files, write_index
from infra.git.durable import sync_folder, write_file
from infra.git.names import require_run_name
from infra.git.process import line
from infra.git.ref import Refs
from infra.git.repository import write_fork
from infra.git.room import needs_room
from infra.git.snapshot import Source, take_snapshot
from infra.sandbox.ownership import remove_tree

FOLDER: Final = "tree"
FORK: Final = "git"
BASE: Final = "base"

_RAW: Final = b"* -text -ident -filter -working-tree-encoding\n"
"""Attributes of the fork that win over the tree's own: files are stored bytes."""


class Workspaces:
    """The workspaces of one canonical repository, one folder a run.

    `<run>/tree` is the agent's; `<run>/git` a bare repository that borrows canonical's objects; `<run>/base` names the
    commit; `<run>/index` is written last, so that a workspace is complete exactly when it has one.
    """

    def __init__(self, canonical: Path, root: Path, sandbox: Sandbox) -> None:
        self._canonical, self._root, self._sandbox = canonical, root.absolute(), sandbox
        self._refs = Refs(canonical)

    def open(self, run: str, base: str, tree: str | None = None) -> "GitWorkspace":
        """The run's workspace, made if it isn't there or was never finished. tree: the files to start with, not base's.

        Raises:
            ValueError: it is there with another base: a run has one.
        """
        home = self._root / require_run_name(run)
        workspace = GitWorkspace(self._canonical, home, run, self._sandbox)
        if (home / INDEX).exists():
            if workspace.base != base:
                raise ValueError(f"the workspace of {run} is at {workspace.base}, not at {base}")
            return workspace
        self._discard(home)
        self._refs.put(f"refs/ws/{run}/base", base)
        self._write(home, base, tree or base, raw=False)
        if (
            tree is None
            and b".gitattributes\0" in (home / INDEX).read_bytes()
            and workspace.write_tree() != workspace.base_tree
        ):
            # What the tree's attributes make of its files doesn't come back as the same tree: then it's stored bytes.
            self._discard(home)
            self._write(home, base, base, raw=True)
        return workspace

    def close(self, run: str) -> None:
        """Remove the run's files and pins; fine if there are none."""
        self._discard(self._root / require_run_name(run))
        pins = self._canonical / "refs" / "ws" / run
        for lock in pins.glob("*.lock"):
            # These refs have one writer, and whoever closes the run knows it to be over.
            lock.unlink(missing_ok=True)
        for ref in self._refs.list(f"refs/ws/{run}/"):
            self._refs.delete(ref)
        remove_tree(pins)

    def runs(self) -> tuple[str, ...]:
        if not self._root.exists():
            return ()
        return tuple(sorted(home.name for home in self._root.iterdir() if not home.name.startswith(".")))

    def sweep(self) -> None:
        """Remove what killed processes were removing. Safe at any time."""
        for grave in self._root.glob(".run_*"):
            self._bury(grave)

    def _write(self, home: Path, base: str, files: str, raw: bool) -> None:
        home.mkdir(parents=True)
        folder, fork, scratch = home / FOLDER, home / FORK, home / "new"
        folder.mkdir()
        scratch.mkdir()
        write_fork(fork, self._canonical, attributes=_RAW if raw else b"")
        write_index(self._canonical, scratch / INDEX, files)
        write_files(self._canonical, self._sandbox, fork, scratch, folder)
        if files != base:
            (scratch / INDEX).unlink()
            write_index(self._canonical, scratch / INDEX, base)
        write_file(home / BASE, base.encode())
        (scratch / INDEX).rename(home / INDEX)
        remove_tree(scratch)
        sync_folder(home)

    def _discard(self, home: Path) -> None:
        """Gone at once for `runs`, and then bit by bit."""
        grave = self._root / f".{home.name}.{secrets.token_hex(4)}"
        try:
            home.rename(grave)
        except FileNotFoundError:
            return
        self._bury(grave)

    def _bury(self, grave: Path) -> None:
        """By one process at a time: another that is at it finishes it."""
        with claimed(grave) as ours:
            if ours:
                self._sandbox.remove(grave)


class GitWorkspace:
    """`Workspace` over the folder of one run."""

    def __init__(self, canonical: Path, home: Path, run: str, sandbox: Sandbox) -> None:
        self._canonical, self._home, self._run, self._sandbox = canonical, home, run, sandbox
        self._refs = Refs(canonical)

    @property
    def folder(self) -> Path:
        return self._home / FOLDER

    @property
    def base(self) -> str:
        """The commit that was checked out."""
        return (self._home / BASE).read_text()

    @property
    def base_tree(self) -> str:
        return line("rev-parse", "--verify", f"{self.base}^{{tree}}", git_dir=self._canonical)

    @property
    def path(self) -> Path:
        """Where the workspace and what belongs to it lies."""
        return self._home

    @needs_room
    def snapshot(self, secrets: Sequence[str] = ()) -> str:
        """See the protocol. From its return until `close` the tree is pinned, also over a crash."""
        name = self.write_tree(secrets)
        self._refs.put(self._pin, name)
        return name

    def write_tree(self, secrets: Sequence[str] = ()) -> str:
        """A snapshot that isn't pinned."""
        base_tree, last = self.base_tree, self._refs.read(self._pin)
        known = (base_tree,) if last is None else (base_tree, last)
        source = Source(self.folder, self._home / FORK, self._home / INDEX, base_tree, known)
        return take_snapshot(self._canonical, self._sandbox, source, secrets)

    def close(self) -> None:
        Workspaces(self._canonical, self._home.parent, self._sandbox).close(self._run)

    @property
    def _pin(self) -> str:
        return f"refs/ws/{self._run}/tree"

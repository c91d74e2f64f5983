"""How fast composing, forking, checking out and snapshots are, against git's own merging in the same minutes."""

import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from commands.ports.git import Signature
from commands.ports.sandbox import Execution, Sandbox
from infra.git.canonical import GitCanonical
from infra.git.process import git, line

FILES: Final = 5_000
CHANGESETS: Final = 12
RUNS: Final = 5

_FOLDERS: Final = 50
_LINES: Final = 12
_BENCH: Final = Signature("Bench", "bench@localhost", 1_700_000_000)


@dataclass(frozen=True, slots=True)
class GitMeasure:
    """Medians in seconds over `runs`, on a tree of `files` files.

    compose: `changesets` ChangeSets to a candidate, stored and synced; merge_tree: `git merge-tree` alone for the same.
    open_workspace: fork, pin and checkout; snapshot: of a workspace in which one file changed.
    """

    files: int
    changesets: int
    runs: int
    compose: float
    merge_tree: float
    open_workspace: float
    checkout: float
    snapshot: float
    close_workspace: float

    @property
    def compose_ratio(self) -> float:
        """Composing in multiples of git's own merging."""
        return self.compose / self.merge_tree


def measure(sandbox: Sandbox, files: int = FILES, changesets: int = CHANGESETS, runs: int = RUNS) -> GitMeasure:
    """On a made-up repository in a temporary folder; every ChangeSet changes one file and adds one.

    Raises:
        SandboxUnavailable: checkouts and snapshots run in the sandbox.
    """
    with tempfile.TemporaryDirectory(prefix="rhb-") as scratch:
        bench = _Bench(Path(scratch), sandbox, files, changesets)
        measured = [bench.once(number) for number in range(runs)]
    medians = {name: statistics.median(run[name] for run in measured) for name in measured[0]}
    return GitMeasure(files=files, changesets=changesets, runs=runs, **medians)


class _Bench:
    def __init__(self, scratch: Path, sandbox: Sandbox, files: int, changesets: int) -> None:
        self._scratch, self._sandbox = scratch, sandbox
        person = scratch / "person"
        git("init", "-q", "-b", "main", str(person))
        self._base = _import(person, files)
        self._canonical = GitCanonical(scratch / "canonical.git", scratch / "workspaces", sandbox, "bench")
        self._canonical.fetch(person, self._base, "refs/rhumb/base/1")
        self._changesets = [self._changeset(number) for number in range(changesets)]

    def once(self, number: int) -> dict[str, float]:
        run = f"run_bench_{number}"
        folder = self._scratch / f"checkout-{number}"
        folder.mkdir()
        workspace = self._canonical.open_workspace(f"{run}_first", self._base)
        workspace.close()
        took = {"open_workspace": _timed(lambda: self._canonical.open_workspace(run, self._base))}
        workspace = self._canonical.open_workspace(run, self._base)
        self._agent(workspace.folder, number)
        took["snapshot"] = _timed(workspace.snapshot)
        took["close_workspace"] = _timed(workspace.close)
        took["checkout"] = _timed(lambda: self._canonical.checkout(self._base, folder))
        # A message of its own for each run: what is there already would not be written again.
        took["compose"] = _timed(
            lambda: self._canonical.compose(self._base, self._changesets, lambda i: (_BENCH, f"{run} {i}"))
        )
        took["merge_tree"] = _timed(self._merge_alone)
        return took

    def _agent(self, folder: Path, number: int) -> None:
        script = 'echo "$1" >> "d0/f0.txt"'
        self._sandbox.run(Execution(argv=("/bin/sh", "-euc", script, "sh", str(number)), workspace=folder))

    def _changeset(self, number: int) -> str:
        """A commit by plumbing: only merging is measured with it."""
        env = {"GIT_INDEX_FILE": str(self._scratch / "index")}
        path = self._canonical.path
        blob = git("hash-object", "-w", "--stdin", git_dir=path, stdin=b"changed %d\n" % number).stdout.decode().strip()
        git("read-tree", self._base, git_dir=path, env=env)
        rows = "".join(f"100644 {blob}\t{name}\0" for name in (f"d{number}/f{number}.txt", f"new{number}.txt"))
        git("update-index", "--add", "-z", "--index-info", git_dir=path, env=env, stdin=rows.encode())
        tree = git("write-tree", git_dir=path, env=env).stdout.decode().strip()
        commit = self._canonical.commit_tree(tree, [self._base], _BENCH, _BENCH, f"changeset {number}")
        self._canonical.pin(f"refs/rhumb/cs/{number}", commit)
        return commit

    def _merge_alone(self) -> None:
        for changeset in self._changesets:
            git("merge-tree", "--write-tree", "-z", "--name-only", self._base, changeset, git_dir=self._canonical.path)


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _import(person: Path, files: int) -> str:
    """One commit with `files` small files, by fast-import."""
    stream = [b"commit refs/heads/main\ncommitter Bench <bench@localhost> 1700000000 +0000\ndata 4\nbase\n"]
    for number in range(files):
        content = b"".join(b"line %d of file %d\n" % (row, number) for row in range(_LINES))
        stream.append(
            b"M 100644 inline d%d/f%d.txt\ndata %d\n%s\n" % (number % _FOLDERS, number, len(content), content)
        )
    git("fast-import", "--quiet", git_dir=person / ".git", stdin=b"".join(stream))
    return line("rev-parse", "refs/heads/main", git_dir=person / ".git")

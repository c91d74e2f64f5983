"""The canonical repository of a project and everything that grows on it."""

from collections.abc import Sequence
from pathlib import Path

from commands.ports.git import ChangedFile, Merge, Relation, Signature
from commands.ports.sandbox import Sandbox
from infra.git import repository, transfer, tree
from infra.git.checkout import write_checkout
from infra.git.commit import build_commit
from infra.git.compose import Describe, compose
from infra.git.discovery import locate
from infra.git.export import BASE_REFS
from infra.git.process import git, line, require_object_name
from infra.git.ref import Refs
from infra.git.room import needs_room, telling_no_room
from infra.git.workspace import GitWorkspace, Workspaces

MAIN = "refs/heads/main"


class GitCanonical:
    """`Canonical` as one bare repository.

    Its refs: `refs/heads/main` (moved by the reconciler alone), `refs/ws/<run>/base` and `/tree` (of open workspaces),
    and whatever callers pin: `refs/rhumb/base/<generation>`, `refs/rhumb/cs/<run>`, `refs/rhumb/cand/<candidate>`,
    `refs/lost/…`. No object in it is ever removed while it is marked precious (see `repository`).
    """

    def __init__(self, path: Path, workspaces: Path, sandbox: Sandbox, installation_id: str) -> None:
        """Open the repository at `path`, made if it isn't there; workspaces lie in `workspaces`, one folder a run.

        Raises:
            InstallationMismatch: the repository belongs to another installation.
            GitMissing: no usable git on this machine.
            NoRoom: it can't be made.
        """
        self._path = path.absolute()
        with telling_no_room(self._path):
            repository.open_or_create(self._path, installation_id)
        self._path = self._path.resolve()
        self._refs = Refs(self._path)
        self._sandbox = sandbox
        self._workspaces = Workspaces(self._path, workspaces, sandbox)
        self._workspaces.sweep()

    @property
    def path(self) -> Path:
        return self._path

    @needs_room
    def fetch(self, source: Path, commit: str, pin: str) -> None:
        """See the protocol. `source` is any path of a person's repository, or its git directory."""
        place = locate(source).common_dir
        have = set(
            git("for-each-ref", "--format=%(objectname)", *BASE_REFS, git_dir=self._path).stdout.decode().split()
        )
        if require_object_name(commit) not in have:
            transfer.copy(place, self._path, [commit], transfer.existing(place, sorted(have)))
            transfer.require_complete(self._path, commit)
        self.pin(pin, commit)

    def relation(self, commit: str, canonical: str) -> Relation:
        """See the protocol; both commits lie in canonical."""
        if commit == canonical:
            return Relation.EQUAL
        if self._is_ancestor(commit, canonical):
            return Relation.BEHIND
        return Relation.AHEAD if self._is_ancestor(canonical, commit) else Relation.DIVERGED

    def head(self) -> str | None:
        return self._refs.read(MAIN)

    @needs_room
    def set_head(self, expected: str | None, commit: str) -> bool:
        self._require_commit(commit)
        return self._refs.create(MAIN, commit) if expected is None else self._refs.swap(MAIN, expected, commit)

    @needs_room
    def pin(self, ref: str, commit: str) -> None:
        self._require_commit(commit)
        if not self._refs.create(ref, commit) and (found := self._refs.read(ref)) != commit:
            raise RuntimeError(f"{ref} is at {found}, not at {commit}")

    def unpin(self, ref: str) -> None:
        self._refs.delete(ref)

    def tree_of(self, commit: str) -> str:
        return line("rev-parse", "--verify", f"{require_object_name(commit)}^{{tree}}", git_dir=self._path)

    def read_file(self, commit: str, path: str, limit: int) -> bytes | None:
        return tree.read_file(self._path, commit, path, limit)

    def paths(self, commit: str) -> tuple[str, ...]:
        return tree.paths(self._path, commit)

    def changed(self, old: str, new: str) -> tuple[ChangedFile, ...]:
        return tree.changed(self._path, old, new)

    def diff(self, old: str, new: str, limit: int) -> bytes:
        return tree.diff(self._path, old, new, limit)

    @needs_room
    def commit_tree(
        self, tree: str, parents: Sequence[str], author: Signature, committer: Signature, message: str
    ) -> str:
        names = [require_object_name(name) for name in (tree, *parents)]
        commit = build_commit(names[0], names[1:], author, committer, message)
        written = git("hash-object", "-t", "commit", "-w", "--stdin", git_dir=self._path, stdin=commit.as_raw_string())
        return written.stdout.decode().strip()

    @needs_room
    def compose(self, base: str, changesets: Sequence[str], describe: Describe) -> Merge:
        return compose(self._path, base, changesets, describe)

    @needs_room
    def open_workspace(self, run: str, base: str, tree: str | None = None) -> GitWorkspace:
        self._require_commit(base)
        return self._workspaces.open(run, base, tree)

    def close_workspace(self, run: str) -> None:
        self._workspaces.close(run)

    @needs_room
    def checkout(self, commit: str, folder: Path, overlay: str | None = None, paths: Sequence[str] = ()) -> None:
        write_checkout(self._path, self._sandbox, commit, folder, overlay, paths)

    def workspaces(self) -> tuple[str, ...]:
        return self._workspaces.runs()

    def _is_ancestor(self, commit: str, of: str) -> bool:
        names = require_object_name(commit), require_object_name(of)
        return git("merge-base", "--is-ancestor", *names, git_dir=self._path, expect=(0, 1)).exit_code == 0

    def _require_commit(self, commit: str) -> None:
        """A ref to an object that isn't there would make every later command fail."""
        git("cat-file", "-e", f"{require_object_name(commit)}^{{commit}}", git_dir=self._path)

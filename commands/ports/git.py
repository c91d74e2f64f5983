"""Git, as the handlers need it. One bare canonical repository per project; forks with alternates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol


class RepositoryError(Exception):
    """A person's repository that can't be used as it is; the text names it, says why and what helps."""


class NoRoom(Exception):
    """The disk is full that holds canonical or a workspace; nothing of what was asked is recorded."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"there is no room left for git's objects and work trees in {path}: free some space there")


class SnapshotRefused(Exception):
    """What an agent left can't become a ChangeSet; `reason` is a code, `paths` the percent-encoded culprits.

    Codes: `nested_git`, `gitlink`, `symlink_outside`, `special_file`, `secret_in_changeset`, `too_large`,
    `unreadable` (git itself gave up on what is there).
    """

    def __init__(self, reason: str, paths: tuple[str, ...]) -> None:
        super().__init__(f"{reason}: {', '.join(paths[:10])}")
        self.reason, self.paths = reason, paths


class Relation(StrEnum):
    """How a person's commit stands to canonical's."""

    EQUAL = "equal"
    BEHIND = "behind"
    AHEAD = "ahead"
    DIVERGED = "diverged"


@dataclass(frozen=True, slots=True)
class PersonRepository:
    """A person's repository, checked: its real path, the branch (short name) and commit of the base, and warnings.

    git_dir is the repository's common git directory.
    """

    path: Path
    git_dir: Path
    branch: str
    commit: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file of a diff: percent-encoded path, kind A, M, D or T, lines added and removed (None for binary)."""

    path: str
    kind: str
    added: int | None
    removed: int | None


@dataclass(frozen=True, slots=True)
class Signature:
    """Author or committer of a commit that Rhumbline writes; all of it comes from events, so hashes repeat."""

    name: str
    email: str
    timestamp: int


@dataclass(frozen=True, slots=True)
class Merge:
    """A composition: the commit and its tree, or the percent-encoded paths that conflict, per ChangeSet index."""

    commit: str | None
    tree: str | None
    conflicts: tuple[tuple[int, tuple[str, ...]], ...]


class PersonRepositories(Protocol):
    """What is read from and written to a person's repository. Its branch, index and work tree are never touched."""

    def inspect(self, path: Path, base: str | None = None) -> PersonRepository:
        """Check that `path` is a repository that Rhumbline can work on, and resolve its base.

        Raises:
            RepositoryError: missing, not git, bare is fine, empty, shallow, partial, with submodules, SHA-256, another
                user's, unborn or detached HEAD without `base`, unknown `base`.
        """
        ...

    def export_branch(self, repository: Path, canonical: Path, branch: str, commit: str) -> bool:
        """Bring `commit` from canonical to `repository` as `refs/heads/<branch>`, by compare-and-swap.

        Already there: False. The branch on another commit is left alone and refused.

        Raises:
            RepositoryError: the repository is gone, can't be written, or has another branch of that name.
        """
        ...


class Canonical(Protocol):
    """The bare repository of a project and everything that grows on it. Commits and trees are hex hashes.

    What writes raises `NoRoom` where the disk is full.
    """

    @property
    def path(self) -> Path: ...

    def fetch(self, source: Path, commit: str, pin: str) -> None:
        """Bring `commit` and its history from a person's repository and pin it under the ref `pin`, synced."""
        ...

    def relation(self, commit: str, canonical: str) -> Relation: ...

    def head(self) -> str | None:
        """The commit of `refs/heads/main`; for the reconciler only: no decision reads the ref."""
        ...

    def set_head(self, expected: str | None, commit: str) -> bool:
        """Set main by compare-and-swap; False when it isn't at `expected`."""
        ...

    def pin(self, ref: str, commit: str) -> None:
        """Create or keep `ref` at `commit`, synced.

        Raises:
            RuntimeError: the ref is at another commit.
        """
        ...

    def unpin(self, ref: str) -> None: ...

    def tree_of(self, commit: str) -> str: ...

    def read_file(self, commit: str, path: str, limit: int) -> bytes | None:
        """The content of a regular file at a percent-encoded path; None if there is none or it is over `limit`."""
        ...

    def paths(self, commit: str) -> tuple[str, ...]:
        """Every percent-encoded path of the commit's tree, sorted."""
        ...

    def changed(self, old: str, new: str) -> tuple[ChangedFile, ...]:
        """The files that differ, without rename detection, sorted by path."""
        ...

    def diff(self, old: str, new: str, limit: int) -> bytes:
        """A unified diff, cut at `limit` bytes."""
        ...

    def commit_tree(
        self, tree: str, parents: Sequence[str], author: Signature, committer: Signature, message: str
    ) -> str:
        """Write a commit; the same inputs give the same hash."""
        ...

    def compose(self, base: str, changesets: Sequence[str], describe: Callable[[int], tuple[Signature, str]]) -> Merge:
        """Merge the ChangeSet commits in order onto `base` as a chain of merge commits with the ChangeSets as parents.

        `describe(i)` gives the signature and message of the i-th merge. Goes on past a conflict and names each
        ChangeSet that doesn't merge with those before it, named ones among them. With no ChangeSet the result is
        `base` itself.
        """
        ...

    def open_workspace(self, run: str, base: str, tree: str | None = None) -> "Workspace":
        """A fork pinned at `base` with a checkout owned by the sandbox's user. Idempotent per run.

        tree: the files to start with in place of the base's: what an interrupted run left.
        """
        ...

    def close_workspace(self, run: str) -> None:
        """Remove the files and pins of a run, also of one that was never finished. Idempotent; for after a crash."""
        ...

    def checkout(self, commit: str, folder: Path, overlay: str | None = None, paths: Sequence[str] = ()) -> None:
        """Write the tree of `commit` to the empty `folder`, then lay the versions of `paths` in `overlay` over it.

        A path that `overlay` lacks is removed. For checks and set-up; nothing there is a git directory.
        """
        ...

    def workspaces(self) -> tuple[str, ...]:
        """The run IDs of the workspaces that exist on disk."""
        ...


class Workspace(Protocol):
    """The files of one run. The fork's git directory lies outside of the agent's reach."""

    @property
    def folder(self) -> Path: ...

    def snapshot(self, secrets: Sequence[str] = ()) -> str:
        """The tree of what lies there now; its objects are then in canonical, synced. Taken when no process is left.

        Raises:
            SnapshotRefused: something there can't be part of a ChangeSet.
        """
        ...

    def close(self) -> None:
        """Remove the folder, the fork and its pin. Idempotent."""
        ...

"""A promoted commit arrives in a person's repository as one new branch; nothing else there changes."""

from pathlib import Path
from typing import Final

from commands.ports.git import RepositoryError
from infra.git import transfer
from infra.git.discovery import Location
from infra.git.process import GitFailed, git, require_object_name
from infra.git.tree import NO_OBJECT

BASE_REFS: Final = ("refs/heads/main", "refs/rhumb/base/")


def export_branch(location: Location, canonical: Path, branch: str, commit: str) -> bool:
    """Create `refs/heads/<branch>` at `commit`; False if it is there already. See the protocol for refusals."""
    ref, target = f"refs/heads/{branch}", location.common_dir
    require_object_name(commit)
    try:
        git("check-ref-format", ref)
        if _is_there(location, ref, branch, commit):
            return False
        _require_nowhere_checked_out(location, ref, branch)
        _bring(canonical, target, commit)
        return _create(location, ref, branch, commit)
    except GitFailed as error:
        raise RepositoryError(f"{branch} can't be written to {location.top}: {error.stderr}") from error


def _current(location: Location, ref: str) -> str | None:
    shown = git("rev-parse", "-q", "--verify", ref, git_dir=location.common_dir, expect=(0, 1)).stdout
    return shown.decode().strip() or None


def _is_there(location: Location, ref: str, branch: str, commit: str) -> bool:
    current = _current(location, ref)
    if current is not None and current != commit:
        raise RepositoryError(f"{location.top} already has a branch {branch} at another commit ({current[:12]})")
    return current == commit


def _require_nowhere_checked_out(location: Location, ref: str, branch: str) -> None:
    """A branch without a commit can be checked out; creating it would put its whole tree on somebody's index."""
    listed = git("worktree", "list", "--porcelain", "-z", git_dir=location.common_dir).stdout
    if f"branch {ref}".encode() in listed.split(b"\0"):
        raise RepositoryError(f"{location.top} has the branch {branch} checked out, without a commit")


def _bring(canonical: Path, target: Path, commit: str) -> None:
    """Copy the commit; what the two have in common is taken from the branches of both."""
    known = git("for-each-ref", "--format=%(objectname)", *BASE_REFS, git_dir=canonical).stdout.decode().split()
    theirs = git("for-each-ref", "--format=%(objectname)", git_dir=target).stdout.decode().split()
    shared = (*transfer.existing(target, known), *transfer.existing(canonical, theirs))
    transfer.copy(canonical, target, [commit], shared, loose_limit=transfer.FETCH_LIMIT)
    try:
        transfer.require_complete(target, commit)
    except GitFailed:
        # A base that the person dropped may be there without all of its history.
        transfer.copy(canonical, target, [commit], loose_limit=transfer.FETCH_LIMIT)
        transfer.require_complete(target, commit)


def _create(location: Location, ref: str, branch: str, commit: str) -> bool:
    try:
        git("update-ref", "-m", "rhumbline: promoted", ref, commit, NO_OBJECT, git_dir=location.common_dir)
    except GitFailed:
        # Lost a race: whoever won wrote this commit or another.
        if _is_there(location, ref, branch, commit):
            return False
        raise
    return True

"""The repositories of people: read with care, written only as one new branch."""

from pathlib import Path

from commands.ports.git import PersonRepository, RepositoryError
from infra.git import tree
from infra.git.discovery import Location, locate
from infra.git.export import export_branch
from infra.git.names import has_git_directory_name
from infra.git.process import GitFailed, git, line
from infra.git.uncommitted import describe_uncommitted

BRANCHES = "refs/heads/"
_SHORTENED = (BRANCHES, "refs/tags/", "refs/remotes/", "refs/")


class GitPersonRepositories:
    """`PersonRepositories` by git's plumbing. Nothing that a repository's configuration or hooks name is run."""

    def inspect(self, path: Path, base: str | None = None) -> PersonRepository:
        """See the protocol. A subfolder stands for its work tree, a linked work tree for its repository."""
        location = locate(path)
        branch, commit = _base_of(location, base)
        _require_usable_tree(location, commit)
        return PersonRepository(
            path=location.top,
            git_dir=location.common_dir,
            branch=branch,
            commit=commit,
            warnings=tuple(_warnings(location)),
        )

    def export_branch(self, repository: Path, canonical: Path, branch: str, commit: str) -> bool:
        """See the protocol."""
        return export_branch(locate(repository), canonical, branch, commit)


def _base_of(location: Location, base: str | None) -> tuple[str, str]:
    checked_out = _checked_out(location)
    if base is not None:
        commit = _resolve(location, base)
        return _short_name(location, base) or checked_out or base, commit
    head = _head_commit(location)
    if head is None:
        if (named := _resolved(location, "HEAD")) is not None:
            raise RepositoryError(f"{location.top} is damaged: the commit {named} of its HEAD can't be read")
        raise RepositoryError(f"{location.top} has no commit yet; make a first commit, or name a base with --base")
    if checked_out is None:
        raise RepositoryError(f"{location.top} is at a detached HEAD; check out a branch, or name a base with --base")
    return checked_out, head


def _checked_out(location: Location) -> str | None:
    shown = git("symbolic-ref", "-q", "HEAD", git_dir=location.git_dir, expect=(0, 1)).stdout
    name = shown.decode(errors="replace").rstrip("\n")
    return name.removeprefix(BRANCHES) if name.startswith(BRANCHES) else None


def _head_commit(location: Location) -> str | None:
    return _resolved(location, "HEAD^{commit}")


def _resolved(location: Location, name: str) -> str | None:
    shown = git("rev-parse", "-q", "--verify", name, git_dir=location.git_dir, expect=(0, 1, 128))
    return shown.stdout.decode().strip() or None


def _resolve(location: Location, base: str) -> str:
    refusal = RepositoryError(f"{location.top} has no commit {base!r}")
    if not base or base.startswith("-") or "\0" in base:
        raise refusal
    try:
        return line("rev-parse", "-q", "--verify", "--end-of-options", f"{base}^{{commit}}", git_dir=location.git_dir)
    except (GitFailed, UnicodeEncodeError) as error:
        raise refusal from error


def _short_name(location: Location, base: str) -> str | None:
    arguments = ("rev-parse", "-q", "--verify", "--symbolic-full-name", "--end-of-options", base)
    shown = git(*arguments, git_dir=location.git_dir, expect=(0, 1, 128)).stdout
    name = shown.decode(errors="replace").strip()
    return next((name.removeprefix(prefix) for prefix in _SHORTENED if name.startswith(prefix)), None)


def _require_usable_tree(location: Location, commit: str) -> None:
    try:
        found = tuple(tree.entries(location.git_dir, commit))
    except GitFailed as error:
        raise RepositoryError(f"{location.top} is damaged: {error.stderr}") from error
    if gitlinks := [entry.path for entry in found if entry.mode == tree.GITLINK]:
        raise RepositoryError(f"{location.top} has submodules ({_named(gitlinks)}), which aren't supported")
    if reserved := [entry.path for entry in found if has_git_directory_name(entry.path)]:
        raise RepositoryError(f"{location.top} has files that git itself won't check out: {_named(reserved)}")


def _named(paths: list[bytes]) -> str:
    return ", ".join(repr(path.decode(errors="replace")) for path in paths[:3])


def _warnings(location: Location) -> list[str]:
    found: list[str] = []
    head = _head_commit(location)
    if not location.bare and head is not None:
        uncommitted = describe_uncommitted(location, head)
        found += [] if uncommitted is None else [uncommitted]
    if location.foreign:
        found.append(f"{location.top} belongs to another user; the new branch's files will belong to you")
    return found

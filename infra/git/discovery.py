"""Finding and checking a person's repository, and saying by name what is wrong with it."""

import os
import stat
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from commands.ports.git import RepositoryError
from infra.git.process import Config, GitFailed, GitMissing, executable, git, line

TRUSTED_KEY: Final = "safe.directory"
IGNORE_KEY: Final = "core.excludesFile"

_FOREIGN: Final = "dubious ownership"
"""What git says of another user's repository."""

_PROMISOR_KEYS: Final = r"^(extensions\.partialclone|remote\..*\.(promisor|partialclonefilter))$"


@dataclass(frozen=True, slots=True)
class Location:
    """Where a person's repository is.

    top: the work tree's top level, or the repository itself when it is bare; real path.
    git_dir: of this work tree, with its HEAD and index.
    common_dir: shared by all work trees, with objects and branches.
    """

    top: Path
    git_dir: Path
    common_dir: Path
    bare: bool
    foreign: bool


def locate(path: Path) -> Location:
    """Find the repository that `path` lies in and check that it is one that can be worked on.

    Raises:
        RepositoryError: missing, a file, unreadable, not git, another user's, SHA-256, shallow, partial.
    """
    folder = _real_folder(path)
    try:
        location = _discover(folder)
        _require_plain(folder, location)
    except GitMissing as error:
        raise RepositoryError(str(error)) from error
    return location


def trusted() -> Config:
    """The person's own `safe.directory` list, as configuration of one command.

    Only this key is taken from the person's configuration, and only from outside of repositories.
    """
    return tuple((TRUSTED_KEY, value) for value in _own_values(TRUSTED_KEY))


def ignore_list() -> Config:
    """The person's own list of files to ignore everywhere, as configuration of one command: patterns, no program."""
    default = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "git" / "ignore"
    return ((IGNORE_KEY, (_own_values(IGNORE_KEY, "--path") or [str(default)])[-1]),)


def _own_values(key: str, *options: str) -> list[str]:
    found: list[bytes] = []
    for scope in ("--system", "--global"):
        shown = subprocess.run(
            [executable(), "config", scope, "-z", *options, "--get-all", key],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_own_configuration(),
            check=False,
        )
        found += shown.stdout.split(b"\0")[:-1]
    return list(map(os.fsdecode, found))


def _own_configuration() -> Mapping[str, str]:
    names = ("HOME", "XDG_CONFIG_HOME", "PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
    return {name: os.environ[name] for name in names if name in os.environ}


def _real_folder(path: Path) -> Path:
    try:
        folder = path.expanduser().resolve(strict=True)
        mode = folder.stat().st_mode
    except FileNotFoundError as error:
        raise RepositoryError(f"{path} doesn't exist") from error
    except (OSError, RuntimeError, ValueError) as error:
        raise RepositoryError(f"{str(path)!r} can't be opened: {error}") from error
    if not stat.S_ISDIR(mode):
        raise RepositoryError(f"{path} is a file; name the folder of a git repository")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise RepositoryError(f"{path} can't be read by this user")
    return folder


def _discover(folder: Path) -> Location:
    asked = ("--is-bare-repository", "--is-inside-work-tree", "--absolute-git-dir", "--git-common-dir")
    try:
        shown = _rev_parse(folder, *asked)
        bare, inside, git_dir, common = shown.split("\n")
        common_dir = (folder / common).resolve(strict=True)
        top = Path(git_dir) if bare == "true" else _top_level(folder, common_dir, inside == "true")
    except GitFailed as error:
        raise RepositoryError(_why(folder, error)) from error
    except OSError as error:
        raise RepositoryError(f"{folder}: its git directory can't be read: {error}") from error
    except ValueError as error:
        raise RepositoryError(f"{folder}: a line feed in the path of a git directory isn't supported") from error
    owners = {place.stat().st_uid for place in (top, Path(git_dir), common_dir)}
    return Location(top, Path(git_dir), common_dir, bare == "true", foreign=owners != {os.geteuid()})


def _rev_parse(folder: Path, *asked: str) -> str:
    words = ("-C", str(folder), "rev-parse", *asked)
    try:
        return line(*words)
    except GitFailed as error:
        if _FOREIGN not in error.stderr:
            raise
        return line(*words, config=trusted())


def _top_level(folder: Path, common_dir: Path, inside_work_tree: bool) -> Path:
    if inside_work_tree:
        return Path(_rev_parse(folder, "--show-toplevel"))
    if common_dir.name == ".git":
        return common_dir.parent
    raise RepositoryError(f"{folder} lies inside of a git directory; name the work tree instead")


def _why(folder: Path, error: GitFailed) -> str:
    said = error.stderr
    if _FOREIGN in said:
        owner = folder.stat().st_uid
        return (
            f"{folder} belongs to another user (or its .git does; the folder's owner has the ID {owner}, you are "
            f"{os.geteuid()}); if you trust it: git config --global --add safe.directory {folder}"
        )
    if "not a git repository" in said:
        broken = (folder / ".git").is_file()
        return (
            f"{folder} is a linked work tree whose repository is gone" if broken else f"{folder} isn't a git repository"
        )
    return f"{folder} isn't a repository that git can open: {said.splitlines()[0] if said else error}"


def _require_plain(folder: Path, location: Location) -> None:
    where = location.git_dir
    try:
        if line("rev-parse", "--show-object-format", git_dir=where) != "sha1":
            raise RepositoryError(f"{folder} uses SHA-256 object names; only SHA-1 repositories are supported")
        if line("rev-parse", "--is-shallow-repository", git_dir=where) == "true":
            raise RepositoryError(f"{folder} is a shallow clone; complete it with: git fetch --unshallow")
        promised = git("config", "--get-regexp", _PROMISOR_KEYS, git_dir=where, expect=(0, 1)).stdout
    except GitFailed as error:
        raise RepositoryError(_why(folder, error)) from error
    packs = location.common_dir / "objects" / "pack"
    if promised or (packs.is_dir() and any(packs.glob("*.promisor"))):
        raise RepositoryError(f"{folder} is a partial clone, which lacks objects; make a full clone of it")

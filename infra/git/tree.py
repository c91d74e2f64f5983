"""Reading trees: paths, files, differences. Names are bytes in git and percent-encoded outside of this package."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from commands.ports.git import ChangedFile
from domain.kernel.value import decode_path, encode_path
from infra.git.process import git, reading, require_object_name

GITLINK: Final = "160000"
SYMLINK: Final = "120000"
REGULAR: Final = frozenset({"100644", "100755", "100664"})
"""Modes of regular files; the third is found in histories of very old tools."""

NO_OBJECT: Final = "0" * 40


@dataclass(frozen=True, slots=True)
class Entry:
    """One file, symlink or gitlink of a tree; `path` as bytes."""

    mode: str
    object: str
    path: bytes


@dataclass(frozen=True, slots=True)
class Difference:
    """One changed path between two trees; `kind` A, M, D or T, a missing side has mode `000000`."""

    old_mode: str
    new_mode: str
    old: str
    new: str
    kind: str
    path: bytes


def entries(git_dir: Path, commit: str, env: Mapping[str, str] | None = None) -> Iterator[Entry]:
    """Every file, symlink and gitlink below `commit` (or a tree)."""
    listed = git("ls-tree", "-r", "-z", "--full-tree", require_object_name(commit), git_dir=git_dir, env=env).stdout
    for row in listed.split(b"\0")[:-1]:
        facts, _, path = row.partition(b"\t")
        mode, _, name = facts.decode().split(" ")
        yield Entry(mode, name, path)


def paths(git_dir: Path, commit: str) -> tuple[str, ...]:
    """Every percent-encoded path, sorted."""
    return tuple(sorted(encode_path(entry.path) for entry in entries(git_dir, commit)))


def read_file(git_dir: Path, commit: str, path: str, limit: int) -> bytes | None:
    """The content of the regular file at the percent-encoded `path`; None if there is none or it is over `limit`."""
    raw = decode_path(path)
    if not raw or b"\0" in raw or any(part in (b"", b".", b"..") for part in raw.split(b"/")):
        return None
    commit = require_object_name(commit)
    listed = git("ls-tree", "-l", "-z", "--full-tree", commit, "--", raw, git_dir=git_dir).stdout
    facts = listed.partition(b"\t")[0].decode().split()
    if len(facts) != 4 or facts[0] not in REGULAR or int(facts[3]) > limit:
        return None
    return git("cat-file", "blob", facts[2], git_dir=git_dir).stdout


def differences(git_dir: Path, old: str, new: str, env: Mapping[str, str] | None = None) -> tuple[Difference, ...]:
    """What differs between two commits or trees, without rename detection, in git's order."""
    names = require_object_name(old), require_object_name(new)
    shown = git("diff-tree", "-r", "-z", "--no-renames", "--raw", *names, git_dir=git_dir, env=env).stdout
    fields = iter(shown.split(b"\0")[:-1])
    return tuple(_difference(facts, next(fields)) for facts in fields)


def _difference(facts: bytes, path: bytes) -> Difference:
    old_mode, new_mode, old, new, kind = facts.decode().removeprefix(":").split(" ")
    return Difference(old_mode, new_mode, old, new, kind, path)


def changed(git_dir: Path, old: str, new: str) -> tuple[ChangedFile, ...]:
    """The files that differ with their line counts, sorted by path."""
    names = require_object_name(old), require_object_name(new)
    options = ("-r", "-z", "--no-renames", "--no-ext-diff", "--no-textconv")
    shown = git("diff-tree", *options, "--raw", "--numstat", *names, git_dir=git_dir).stdout
    kinds: dict[bytes, str] = {}
    found: list[ChangedFile] = []
    fields = iter(shown.split(b"\0")[:-1])
    for field in fields:
        if field.startswith(b":"):
            kinds[next(fields)] = field.decode().rsplit(" ", 1)[1]
        else:
            added, removed, path = field.split(b"\t", 2)
            found.append(ChangedFile(encode_path(path), kinds[path], _count(added), _count(removed)))
    return tuple(sorted(found, key=lambda file: file.path))


def _count(field: bytes) -> int | None:
    return None if field == b"-" else int(field)


def diff(git_dir: Path, old: str, new: str, limit: int) -> bytes:
    """A unified diff with renames found, cut at `limit` bytes."""
    names = require_object_name(old), require_object_name(new)
    options = ("-r", "-p", "-M", "--no-ext-diff", "--no-textconv", "--no-color")
    with reading("diff-tree", *options, *names, git_dir=git_dir) as output:
        return output.read(limit)

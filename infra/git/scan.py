"""A look at an agent's tree before git sees it: by descriptors, never along a link, nothing opened but folders."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from commands.ports.git import SnapshotRefused
from domain.kernel.value import encode_path
from infra.git.names import is_git_directory_name, is_gitmodules_name

MAX_DEPTH: Final = 200
"""Folders in each other; one descriptor is open for each."""

MAX_ENTRIES: Final = 2_000_000
"""Of files, folders and links, ignored ones too: a bound for the time of the walk."""

_NAMED: Final = 10
"""Culprits named in a refusal."""

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(slots=True)
class Scan:
    """What lies there, ignored or not: how much of everything, each regular file's bytes, and what is neither file,
    folder nor link.
    """

    entries: int = 0
    sizes: dict[bytes, int] = field(default_factory=dict)
    special: list[bytes] = field(default_factory=list)


def scan(root: Path) -> Scan:
    """Walk the tree and give its owner back the right to read what is in it.

    Raises:
        SnapshotRefused: `nested_git` for a name that git reserves, `too_large` for depth and number,
            `special_file` for a `.gitmodules` that is a symlink.
    """
    found, reserved = Scan(), list[bytes]()
    _make_usable(None, os.fsencode(root), root.lstat().st_mode, stat.S_IRUSR | stat.S_IXUSR)
    with _opened(os.fsencode(root), None) as descriptor:
        _walk(descriptor, b"", 0, found, reserved)
    if reserved:
        raise SnapshotRefused("nested_git", tuple(encode_path(path) for path in sorted(reserved)[:_NAMED]))
    return found


def _walk(descriptor: int, prefix: bytes, depth: int, found: Scan, reserved: list[bytes]) -> None:
    if depth > MAX_DEPTH:
        raise SnapshotRefused("too_large", (encode_path(prefix.rstrip(b"/")),))
    with os.scandir(descriptor) as listing:
        names = [os.fsencode(entry.name) for entry in listing]
    for name in names:
        path = prefix + name
        if is_git_directory_name(name):
            reserved.append(path)
            continue
        found.entries += 1
        if found.entries > MAX_ENTRIES:
            raise SnapshotRefused("too_large", (encode_path(path),))
        status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            _make_usable(descriptor, name, status.st_mode, stat.S_IRUSR | stat.S_IXUSR)
            with _opened(name, descriptor) as inner:
                _walk(inner, path + b"/", depth + 1, found, reserved)
        else:
            _note(descriptor, name, path, status, found)


def _note(descriptor: int, name: bytes, path: bytes, status: os.stat_result, found: Scan) -> None:
    if stat.S_ISREG(status.st_mode):
        _make_usable(descriptor, name, status.st_mode, stat.S_IRUSR)
        found.sizes[path] = status.st_size
    elif not stat.S_ISLNK(status.st_mode):
        found.special.append(path)
    elif is_gitmodules_name(name):
        raise SnapshotRefused("special_file", (encode_path(path),))


def _make_usable(descriptor: int | None, name: bytes, mode: int, needed: int) -> None:
    """A snapshot reads as the owner; a file that an agent closed to itself is still part of what it made."""
    if mode & needed == needed:
        return
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
    try:
        os.chmod(f"/proc/self/fd/{handle}", stat.S_IMODE(mode) | needed)  # noqa: PTH101
    finally:
        os.close(handle)


@contextmanager
def _opened(name: bytes, within: int | None) -> Iterator[int]:
    descriptor = os.open(name, _FOLDER, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)

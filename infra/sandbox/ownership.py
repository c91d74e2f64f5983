"""Trees that an agent filled: walked, given away, taken back and removed without ever following a link in them.

An agent chooses the names, the depth and the links, so nothing here builds a path from them: each step opens one
name relative to the folder above, refuses links, and only one folder is open at a time however deep the tree is.
"""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

Visit = Callable[[int, str, os.stat_result], None]
"""Called with the descriptor of the folder above, the name in it, and what `lstat` says."""

_OPEN_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_OWNER_ALL: Final = 0o700


class TreeChanged(OSError):
    """The tree was changed by somebody while it was walked."""


@dataclass(slots=True)
class _Level:
    """A folder on the way down: its name in the one above, its identity, and the subfolders still to be seen."""

    name: str
    status: os.stat_result
    pending: list[str]


def _enter(above: int | None, name: str | Path, visit: Visit, enter: Visit | None) -> tuple[int, _Level]:
    """Open a folder, visit everything in it that isn't a folder, and note the folders."""
    folder = os.open(name, _OPEN_FOLDER, dir_fd=above)
    try:
        pending = []
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries]
        for entry in names:
            status = os.stat(entry, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                pending.append(entry)
                if enter is not None:
                    enter(folder, entry, status)
            else:
                visit(folder, entry, status)
        return folder, _Level(str(name), os.fstat(folder), pending)
    except BaseException:
        os.close(folder)
        raise


def _leave(folder: int, expected: os.stat_result) -> int:
    """The folder above `folder`, which must still be the one that was come from."""
    above = os.open("..", _OPEN_FOLDER, dir_fd=folder)
    os.close(folder)
    if not os.path.samestat(os.fstat(above), expected):
        os.close(above)
        raise TreeChanged("a folder was moved while its tree was walked")
    return above


def walk_tree(top: Path, visit: Visit, enter: Visit | None = None) -> None:
    """Call `visit` for everything below `top`, a folder after what lies in it; `enter` for a folder before.

    Raises:
        OSError: `top` isn't a folder (a link to one isn't), or something in it can't be read.
    """
    current, level = _enter(None, top, visit, enter)
    levels = [level]
    try:
        while levels:
            if levels[-1].pending:
                below, level = _enter(current, levels[-1].pending.pop(), visit, enter)
                os.close(current)
                current = below
                levels.append(level)
            elif len(levels) > 1:
                done = levels.pop()
                current = _leave(current, levels[-1].status)
                visit(current, done.name, done.status)
            else:
                levels.pop()
    finally:
        os.close(current)


def give(folder: Path, user: int, group: int) -> None:
    """Make `user` and `group` the owner of `folder` and all below it; of a link, not of what it points to."""

    def chown(above: int, name: str, status: os.stat_result) -> None:
        if (status.st_uid, status.st_gid) != (user, group):
            os.chown(name, user, group, dir_fd=above, follow_symlinks=False)

    walk_tree(folder, chown)
    os.chown(folder, user, group, follow_symlinks=False)


def open_up(folder: Path) -> None:
    """Let the owner of `folder` read all below it and remove it, whatever modes an agent left there."""

    def folders(above: int, name: str, status: os.stat_result) -> None:
        if status.st_mode & _OWNER_ALL != _OWNER_ALL:
            _add_mode(above, name, status, _OWNER_ALL)

    def files(above: int, name: str, status: os.stat_result) -> None:
        if stat.S_ISREG(status.st_mode) and not status.st_mode & stat.S_IRUSR:
            _add_mode(above, name, status, stat.S_IRUSR)

    mode = stat.S_IMODE(folder.lstat().st_mode)
    if mode & _OWNER_ALL != _OWNER_ALL:
        folder.chmod(mode | _OWNER_ALL)
    walk_tree(folder, files, enter=folders)


def _add_mode(above: int, name: str, status: os.stat_result, bits: int) -> None:
    """Nothing of the agent is alive, so the name still is what `lstat` saw: no link."""
    os.chmod(name, stat.S_IMODE(status.st_mode) | bits, dir_fd=above)


def remove_tree(folder: Path) -> None:
    """Remove `folder` and all below it, also a tree too deep for `shutil.rmtree`; a missing folder is fine."""

    def remove(above: int, name: str, status: os.stat_result) -> None:
        if stat.S_ISDIR(status.st_mode):
            os.rmdir(name, dir_fd=above)
        else:
            os.unlink(name, dir_fd=above)

    try:
        walk_tree(folder, remove)
    except FileNotFoundError:
        if folder.exists():
            raise
        return
    folder.rmdir()

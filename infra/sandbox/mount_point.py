"""Places below a workspace where something else is mounted, made without following what an agent planted there.

bubblewrap makes a missing mount point itself, as root, through any link on the way: a link to `/oldroot/etc` would
let an agent have folders made on the host. So each is made here first, one name at a time.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath

from commands.ports.sandbox import SandboxUnavailable

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class UnsafeMountPoint(SandboxUnavailable):
    """The workspace has a link or a file where a folder must be, or the other way round."""


def _descend(above: int, name: str, owner: os.stat_result) -> int:
    try:
        os.mkdir(name, 0o755, dir_fd=above)
        os.chown(name, owner.st_uid, owner.st_gid, dir_fd=above, follow_symlinks=False)
    except FileExistsError:
        return os.open(name, _FOLDER, dir_fd=above)
    return os.open(name, _FOLDER, dir_fd=above)


def _open_folder(base: Path, names: Sequence[str], create: bool) -> int:
    """The folder `base`/`names…`, each opened within the one before.

    Raises:
        OSError: one is missing (with `create` it is made), a link, or no folder.
    """
    folder = os.open(base, _FOLDER)
    owner = os.fstat(folder)
    for name in names:
        try:
            deeper = _descend(folder, name, owner) if create else os.open(name, _FOLDER, dir_fd=folder)
        finally:
            os.close(folder)
        folder = deeper
    return folder


def _open_parents(base: Path, below: PurePath, create: bool) -> int:
    try:
        return _open_folder(base, below.parts[:-1], create)
    except OSError as error:
        if create:
            raise _unsafe(below, error) from error
        raise


def _unsafe(below: PurePath, error: OSError) -> UnsafeMountPoint:
    return UnsafeMountPoint(f"nothing can be put at {str(below)!r} in the workspace: {error.strerror}")


def _place_file(above: int, name: str) -> bool:
    """An empty file to mount over; False if a regular file is there already."""
    try:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o644, dir_fd=above))
    except FileExistsError:
        if not stat.S_ISREG(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, "it isn't a regular file") from None
        return False
    return True


def make_mount_point(base: Path, below: PurePath, is_folder: bool) -> bool:
    """Have a real folder (or regular file) at `base`/`below`; True if an empty file was made, to be removed afterwards.

    An empty folder stays: it is nothing to git, and a run that ends must not unmount what another one mounted there.

    Raises:
        UnsafeMountPoint: a link or something else is in the way.
    """
    folder = _open_parents(base, below, create=True)
    try:
        if not is_folder:
            return _place_file(folder, below.name)
        os.close(_descend(folder, below.name, os.fstat(folder)))
    except OSError as error:
        raise _unsafe(below, error) from error
    finally:
        os.close(folder)
    return False


@contextmanager
def _gone_is_fine() -> Iterator[None]:
    """Between making and removing, the command had the folder: what it removed or replaced needs no removing."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise


def remove_mount_point(base: Path, below: PurePath) -> None:
    """Remove an empty file that `make_mount_point` made; something else that took its place stays."""
    with _gone_is_fine():
        folder = _open_parents(base, below, create=False)
        try:
            status = os.stat(below.name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and status.st_size == 0:
                os.unlink(below.name, dir_fd=folder)
        finally:
            os.close(folder)


def make_link(base: Path, below: PurePath, target: Path) -> None:
    """A link to `target` at `base`/`below`, with real folders on the way. One that is there already is fine.

    Raises:
        UnsafeMountPoint: something else is in the way.
    """
    folder = _open_parents(base, below, create=True)
    try:
        os.symlink(target, below.name, dir_fd=folder)
    except FileExistsError as error:
        if not _is_link(folder, below.name, target):
            raise UnsafeMountPoint(f"{str(below)!r} in the workspace is taken") from error
    finally:
        os.close(folder)


def remove_link(base: Path, below: PurePath, target: Path) -> None:
    """Remove what `make_link` made; something else that took its place stays."""
    with _gone_is_fine():
        folder = _open_parents(base, below, create=False)
        try:
            if _is_link(folder, below.name, target):
                os.unlink(below.name, dir_fd=folder)
        finally:
            os.close(folder)


def _is_link(folder: int, name: str, target: Path) -> bool:
    try:
        return os.readlink(name, dir_fd=folder) == str(target)
    except OSError:
        return False

"""Places below a workspace where something else is mounted, made without following what an agent planted there.

bubblewrap makes a missing mount point itself, as root, through any link on the way: a link to `/oldroot/etc` would
let an agent have folders made on the host. So each is made here first, one name at a time.
"""

import errno
import os
import stat
from contextlib import suppress
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
        pass
    return os.open(name, _FOLDER, dir_fd=above)


def _place_file(above: int, name: str) -> bool:
    """An empty file to mount over; False if a regular file is there already."""
    try:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o644, dir_fd=above))
    except FileExistsError:
        if not stat.S_ISREG(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, "not a regular file") from None
        return False
    return True


def make_mount_point(base: Path, below: PurePath, is_folder: bool) -> bool:
    """Have a real folder (or regular file) at `base`/`below`; True if an empty file was made, to be removed afterwards.

    An empty folder stays: it is nothing to git, and a run that ends must not unmount what another one mounted there.

    Raises:
        UnsafeMountPoint: a link or something else is in the way.
    """
    folder = os.open(base, _FOLDER)
    try:
        owner = os.fstat(folder)
        parents = below.parts if is_folder else below.parts[:-1]
        for name in parents:
            deeper = _descend(folder, name, owner)
            os.close(folder)
            folder = deeper
        return False if is_folder else _place_file(folder, below.name)
    except OSError as error:
        raise UnsafeMountPoint(f"{below} in the workspace can't be mounted over: {error.strerror}") from error
    finally:
        os.close(folder)


def remove_mount_point(base: Path, below: PurePath) -> None:
    """Remove an empty file that `make_mount_point` made; something else that took its place stays."""
    folder = os.open(base, _FOLDER)
    try:
        for name in below.parts[:-1]:
            deeper = os.open(name, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = deeper
        with suppress(FileNotFoundError, IsADirectoryError):
            if os.stat(below.name, dir_fd=folder, follow_symlinks=False).st_size == 0:
                os.unlink(below.name, dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise
    finally:
        os.close(folder)

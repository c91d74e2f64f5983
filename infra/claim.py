"""Locks on folders that end with their process.

So what a killed process left is told from what is in use, by no clock and no age.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def claim(folder: Path) -> int | None:
    """A descriptor that holds `folder` until it is closed; None if somebody has it, or there is no such folder."""
    try:
        descriptor = os.open(folder, _FOLDER)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever had it before may have removed it while it was opened here.
        if os.path.samestat(os.fstat(descriptor), folder.lstat()):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


@contextmanager
def claimed(folder: Path) -> Iterator[bool]:
    """Hold `folder` during the block; False if it can't be had."""
    descriptor = claim(folder)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)

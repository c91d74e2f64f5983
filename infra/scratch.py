"""Folders for files that live as long as a process: removed with it, or by the next one if it was killed."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import structlog

from infra.claim import claim
from infra.sandbox.ownership import open_up, remove_tree

log = structlog.get_logger(__name__)

LOCK: Final = ".lock"
_PREFIX: Final = "process-"


@contextmanager
def open_scratch(parent: Path) -> Iterator[Path]:
    """A folder of this process below `parent`; what processes left there that are gone is removed first.

    A process holds a lock on its folder for as long as it lives, so that nobody takes its files for left ones.
    """
    with ExitStack() as held:
        own, left = _claim(parent, held)
        for folder in left:
            _remove(folder)
        try:
            yield own
        finally:
            _remove(own)


def _claim(parent: Path, held: ExitStack) -> tuple[Path, list[Path]]:
    """Make and lock a folder, and lock those that nobody holds: one process at a time, because between the two a
    new folder looks like a left one."""
    with (parent / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        left = [folder for folder in parent.glob(f"{_PREFIX}*") if _lock(folder, held)]
        own = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        if not _lock(own, held):
            raise RuntimeError(f"another process took {own}")
    return own, left


def _lock(folder: Path, held: ExitStack) -> bool:
    descriptor = claim(folder)
    if descriptor is None:
        return False
    held.callback(os.close, descriptor)
    return True


def _remove(folder: Path) -> None:
    """What can't be removed now is left for the next process: it must not keep this one from its work."""
    try:
        open_up(folder)
        remove_tree(folder)
    except OSError as error:
        log.warning("scratch.left", folder=str(folder), error=error.strerror)

"""Telling a command that failed by itself from one that had no room to write."""

import shutil
from pathlib import Path
from typing import Final

from commands.ports.git import NoRoom

LEAST_BYTES: Final = 1024**2


def require_room(folder: Path) -> None:
    """After a failure in `folder`: where the disk is full, the failure says nothing about what failed.

    Raises:
        NoRoom: less than `LEAST_BYTES` are left.
    """
    if shutil.disk_usage(folder).free < LEAST_BYTES:
        raise NoRoom(folder)

"""Locks of cache entries: a builder holds one alone, users share it, and a dead process holds none."""

import fcntl
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from commands.setup import SetupFailed

POLL_SECONDS: Final = 0.05

BUILDING: Final = "building-"
"""How the names of folders begin that are no entries (yet, or any more)."""


class EntryLock:
    """The lock of one entry, on an open file of its own; its file's time tells when the entry was used last."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def try_alone(self) -> bool:
        """Take it exclusively if nobody has it."""
        return self._try(fcntl.LOCK_EX)

    def share(self, cancel: threading.Event | None, until: Callable[[], bool]) -> bool:
        """Wait until nobody builds and take it shared; returns `until()`. If that is false, the lock isn't kept.

        Raises:
            SetupFailed: `cancel` was set meanwhile.
        """
        waiting = cancel or threading.Event()
        while not self._try(fcntl.LOCK_SH):
            if waiting.wait(POLL_SECONDS):
                raise SetupFailed("the set-up step was cancelled while another process ran it")
        if until():
            return True
        # Two that hold it shared would each keep the other from building.
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        return False

    def touch(self) -> None:
        os.utime(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)

    def _try(self, how: int) -> bool:
        try:
            fcntl.flock(self._descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

"""Watching a command until it ends by itself, meets a limit, or is cancelled."""

import os
import select
import signal
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from commands.ports.sandbox import Killed

LOOK_EVERY: Final = 0.05
"""Seconds between two looks at memory and cancellation."""

_GONE_WITHIN: Final = 60.0


class ProcessesRemain(RuntimeError):
    """Killed processes that the kernel can't end (they wait for a device); the workspace isn't safe to be used."""


class Alarm:
    """Lets other threads wake the one that watches, for a reason; the first reason counts."""

    def __init__(self) -> None:
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.reason: Killed | None = None

    def ring(self, reason: Killed) -> None:
        if self.reason is None:
            self.reason = reason
            os.eventfd_write(self.descriptor, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.descriptor)


def watch(
    process: int, over_memory: Callable[[], bool], seconds: float, alarm: Alarm, cancel: threading.Event | None
) -> Killed | None:
    """Wait until the descriptor `process` (a pidfd, a pipe) is ready: the command has ended, None is returned.

    Otherwise returns why the command must be killed.
    """
    poll = select.poll()
    poll.register(process, select.POLLIN)
    poll.register(alarm.descriptor, select.POLLIN)
    deadline = time.monotonic() + seconds
    while True:
        left = deadline - time.monotonic()
        if cancel is not None and cancel.is_set():
            return Killed.CANCELLED
        if left <= 0:
            return Killed.TIME
        ready = {descriptor for descriptor, _ in poll.poll(max(1.0, min(LOOK_EVERY, left) * 1000))}
        if alarm.descriptor in ready:
            return alarm.reason
        if process in ready:
            return None
        if over_memory():
            return Killed.MEMORY


def kill_and_wait(process: int) -> None:
    """Kill the process behind a pidfd and wait until it has ended.

    For the first process of a pid namespace the kernel reports its end only after all others in there have ended.

    Raises:
        ProcessesRemain: it hasn't ended within a minute.
    """
    poll = select.poll()
    poll.register(process, select.POLLIN)
    try:
        signal.pidfd_send_signal(process, signal.SIGKILL)
    except ProcessLookupError:
        return
    if not poll.poll(_GONE_WITHIN * 1000):
        raise ProcessesRemain("processes of a sandbox can't be ended: they hang in the kernel")

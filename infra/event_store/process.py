"""Who holds a lease or a slot: a process that can be told dead without waiting when it ran on this machine."""

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

_SEPARATOR: Final = "|"
_GONE: Final = frozenset("ZXx")
"""States of /proc/<pid>/stat of a process that will never run again."""
_HALTED: Final = frozenset("Tt")
"""States of one that runs again when somebody lets it."""


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process of a machine's boot.

    host: for people. boot and namespace (of process IDs: containers on one machine share its boot) together say
    whether `pid` means anything here. started: clock ticks since boot, which no clock jump changes, so that a reused
    process ID is told apart. instance: tells several stores of one process apart, usually empty.
    """

    host: str
    boot: str
    namespace: str
    pid: int
    started: int
    instance: str = ""

    @classmethod
    def current(cls, instance: str = "") -> Self:
        """This process."""
        pid = os.getpid()
        started = _started(pid)
        if started is None:
            raise OSError("/proc isn't readable: this process can't be named")
        return cls(socket.gethostname().replace(_SEPARATOR, "_"), _boot(), _namespace(), pid, started, instance)

    @classmethod
    def parse(cls, text: str) -> Self:
        """
        Raises:
            ValueError: not the text of an identity.
        """
        host, boot, namespace, pid, started, instance = text.split(_SEPARATOR)
        return cls(host, boot, namespace, int(pid), int(started), instance)

    def __str__(self) -> str:
        parts = (self.host, self.boot, self.namespace, str(self.pid), str(self.started), self.instance)
        return _SEPARATOR.join(parts)

    def is_here(self) -> bool:
        """Whether its process ID is one of this machine's boot and of our process-ID namespace."""
        return self.boot == _boot() and self.namespace == _namespace()

    def is_gone(self) -> bool:
        """True only if it ran here and is certainly over.

        A process of another machine, container or boot is never known to be gone: its heartbeat tells.
        """
        return self.is_here() and _started(self.pid) != self.started


def is_gone(holder: str) -> bool:
    """Whether the holder named by this text is a process of this machine that is over."""
    try:
        return ProcessIdentity.parse(holder).is_gone()
    except ValueError:
        return False


def is_stopped(holder: str) -> bool:
    """Whether the holder named by this text is a process of this machine that is stopped (SIGSTOP, a debugger)."""
    try:
        identity = ProcessIdentity.parse(holder)
    except ValueError:
        return False
    return identity.is_here() and _state(identity.pid) in _HALTED


def is_elsewhere(holder: str) -> bool:
    """Whether the holder named by this text can't be looked up here."""
    try:
        return not ProcessIdentity.parse(holder).is_here()
    except ValueError:
        return True


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _namespace() -> str:
    # Readable only as the text of the link: "pid:[4026531836]".
    return os.readlink("/proc/self/ns/pid")  # noqa: PTH115


def _started(pid: int) -> int | None:
    """Start of a living process in clock ticks since boot; None if there is none."""
    fields = _status(pid)
    return None if fields is None or fields[0] in _GONE else int(fields[19])


def _state(pid: int) -> str | None:
    fields = _status(pid)
    return None if fields is None else fields[0]


def _status(pid: int) -> list[str] | None:
    """The fields of /proc/<pid>/stat from the state on; None if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command's name stands in parentheses and may hold anything; fields are counted behind it.
    return stat.rpartition(")")[2].split()

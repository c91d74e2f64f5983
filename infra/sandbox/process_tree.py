"""The processes below one process, and the memory they use together."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Final

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_HAS_CHILDREN_FILES: Final = Path("/proc/self/task", str(os.getpid()), "children").exists()

Gone = (FileNotFoundError, ProcessLookupError)
"""What reading about a process raises that ended meanwhile."""


def _children(pid: int) -> list[int]:
    """The kernel's own list; a look at all processes of the machine costs milliseconds on a busy one."""
    found: list[int] = []
    with suppress(*Gone):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - a hundred times a second: no Path objects
            with suppress(*Gone), open(f"/proc/{pid}/task/{thread}/children", "rb") as file:  # noqa: PTH123
                found.extend(map(int, file.read().split()))
    return found


def descendants(pid: int) -> Iterator[int]:
    """Process IDs of all below `pid`, parents before children. Some may have ended, some may be missing."""
    if not _HAS_CHILDREN_FILES:
        yield from _descendants_by_parents(pid)
        return
    pending = _children(pid)
    while pending:
        child = pending.pop()
        yield child
        pending.extend(_children(child))


def _descendants_by_parents(pid: int) -> Iterator[int]:
    """For a kernel without `children` files."""
    import psutil

    with suppress(psutil.NoSuchProcess):
        yield from (process.pid for process in psutil.Process(pid).children(recursive=True))


def _resident(pid: int) -> int:
    with suppress(*Gone), open(f"/proc/{pid}/statm", "rb") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * _PAGE
    return 0


def _proportional(pid: int) -> int:
    """Memory with shared pages divided among those who share them; what is resident if that can't be told."""
    with suppress(*Gone, PermissionError), open(f"/proc/{pid}/smaps_rollup", "rb") as file:  # noqa: PTH123
        for line in file:
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    return _resident(pid)


def used_in_memory_folders(pid: int, folders: Iterable[PurePath]) -> int:
    """Bytes in file systems in memory at `folders`, as the process `pid` sees them; 0 when it has ended.

    A process that hasn't got a root of its own yet still sees the host's, of whose files nothing is counted.
    """
    return sum(_used_apart_from_host(pid, folder) for folder in folders)


def _used_apart_from_host(pid: int, folder: PurePath) -> int:
    with suppress(*Gone, PermissionError, NotADirectoryError):
        opened = os.open(f"/proc/{pid}/root{folder}", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if os.fstat(opened).st_dev == _device(folder):
                return 0
            status = os.fstatvfs(opened)
        finally:
            os.close(opened)
        return (status.f_blocks - status.f_bfree) * status.f_frsize
    return 0


def _device(folder: PurePath) -> int | None:
    with suppress(OSError):
        return os.stat(folder).st_dev  # noqa: PTH116 - as often as the other looks
    return None


def use_more_than(pid: int, limit: int) -> bool:
    """Whether the processes below `pid` use more than `limit` bytes together.

    Resident memory counts a page once for each process that shares it, so only a sum over the limit is looked at
    closely.
    """
    if sum(map(_resident, descendants(pid))) <= limit:
        return False
    return sum(map(_proportional, descendants(pid))) > limit

"""Room for new set-ups: the entries that were not used for the longest time go first, and none that is in use."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra.sandbox.ownership import open_up, remove_tree, walk_tree
from infra.setup.lock import BUILDING, EntryLock

BLOCK: Final = 512


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: its key, the room that it takes in bytes, and when it was used last (seconds since 1970)."""

    key: str
    size: int
    used: float


def entries(folder: Path) -> list[Entry]:
    """All entries of a cache."""
    found = []
    for each in sorted(folder.iterdir()) if folder.is_dir() else []:
        if each.is_dir() and not each.name.startswith(BUILDING):
            lock = folder / f"{each.name}.lock"
            # Another process may prune it at this moment.
            with suppress(FileNotFoundError):
                found.append(Entry(each.name, _size(each), lock.stat().st_mtime if lock.exists() else 0.0))
    return found


def to_prune(found: list[Entry], keep_bytes: int) -> list[Entry]:
    """The entries to remove so that at most `keep_bytes` remain, least recently used first. Pure."""
    left = sum(entry.size for entry in found)
    chosen = []
    for entry in sorted(found, key=lambda each: (each.used, each.key)):
        if left <= keep_bytes:
            break
        chosen.append(entry)
        left -= entry.size
    return chosen


def prune(folder: Path, keep_bytes: int) -> list[Entry]:
    """Remove entries until at most `keep_bytes` remain, as far as they aren't in use; returns those removed."""
    removed = []
    for entry in to_prune(entries(folder), keep_bytes):
        lock = EntryLock(folder / f"{entry.key}.lock")
        try:
            if lock.try_alone() and (folder / entry.key).is_dir():
                _remove(folder, entry.key)
                removed.append(entry)
        finally:
            lock.close()
    return removed


def _remove(folder: Path, key: str) -> None:
    """Renamed first, so that an entry is never there in part; a builder of the same key clears what a crash leaves."""
    leaving = folder / f"{BUILDING}{key}-pruned"
    (folder / key).rename(leaving)
    open_up(leaving)
    remove_tree(leaving)


def _size(folder: Path) -> int:
    total = 0

    def add(above: int, name: str, status: object) -> None:
        nonlocal total
        blocks = getattr(status, "st_blocks", 0)
        total += int(blocks) * BLOCK

    walk_tree(folder, add)
    return total + folder.stat().st_blocks * BLOCK

"""Lock files of refs that a killed process left: harmless until the ref is written again, and removed all the same."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from infra.git.ref import PATIENCE, break_lock, identity


class LockWatch:
    """Removes a lock that was there, unchanged, at two looks that are `patience` seconds apart."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, patience: float = PATIENCE) -> None:
        self._clock, self._patience = clock, patience
        self._seen: dict[Path, tuple[tuple[int, int], float]] = {}

    def look(self, canonical: Path) -> bool:
        """Look at the locks of one repository; True if some of them have to be looked at again."""
        waiting = False
        there = dict(_locks(canonical))
        for lock, found in there.items():
            known, since = self._seen.get(lock, (None, 0.0))
            if known != found:
                self._seen[lock] = (found, self._clock())
            elif self._clock() - since >= self._patience:
                break_lock(canonical, lock, found)
                continue
            waiting = True
        for gone in [lock for lock in self._seen if lock.is_relative_to(canonical) and lock not in there]:
            del self._seen[gone]
        return waiting


def _locks(canonical: Path) -> Iterator[tuple[Path, tuple[int, int]]]:
    for lock in (canonical / "packed-refs.lock", *(canonical / "refs").rglob("*.lock")):
        found = identity(lock)
        if found is not None:
            yield lock, found

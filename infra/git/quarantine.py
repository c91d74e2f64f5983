"""New objects wait beside canonical's until it is known that they may stay: there nothing is ever removed."""

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

PREFIX: Final = "quarantine-"

ABANDONED_SECONDS: Final = 24 * 3600
"""Age from which a quarantine belongs to a process that was killed."""


@contextmanager
def quarantine(canonical: Path) -> Iterator[tuple[Path, Mapping[str, str]]]:
    """An object folder, and the environment that makes git write there and read canonical's objects as well."""
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=canonical) as scratch:
        borrowed = {
            "GIT_OBJECT_DIRECTORY": scratch,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(canonical / "objects"),
        }
        yield Path(scratch), borrowed


UNSYNCED: Final = (("core.fsync", "none"),)
"""Configuration for what is written to a quarantine: it is copied, synced, or thrown away."""


def sweep(canonical: Path) -> None:
    """Remove what killed processes left."""
    oldest = time.time() - ABANDONED_SECONDS
    for folder in canonical.glob(f"{PREFIX}*"):
        if folder.lstat().st_mtime < oldest:
            shutil.rmtree(folder, ignore_errors=True)

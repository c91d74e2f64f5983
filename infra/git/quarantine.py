"""New objects wait beside canonical's until it is known that they may stay: there nothing is ever removed."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from infra.claim import claim, claimed

PREFIX: Final = "quarantine-"


@contextmanager
def quarantine(canonical: Path) -> Iterator[tuple[Path, Mapping[str, str]]]:
    """An object folder, and the environment that makes git write there and read canonical's objects as well."""
    scratch, held = _own_folder(canonical)
    try:
        borrowed = {
            "GIT_OBJECT_DIRECTORY": str(scratch),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(canonical / "objects"),
        }
        yield scratch, borrowed
    finally:
        shutil.rmtree(scratch)
        os.close(held)


def _own_folder(canonical: Path) -> tuple[Path, int]:
    """A new folder, held while it is in use; a sweep that comes between the two takes it, and another one is made."""
    while True:
        scratch = Path(tempfile.mkdtemp(prefix=PREFIX, dir=canonical))
        held = claim(scratch)
        if held is not None:
            return scratch, held


UNSYNCED: Final = (("core.fsync", "none"),)
"""Configuration for what is written to a quarantine: it is copied, synced, or thrown away."""


def sweep(canonical: Path) -> None:
    """Remove what killed processes left. Safe at any time: what is in use is held."""
    for folder in canonical.glob(f"{PREFIX}*"):
        with claimed(folder) as ours:
            if ours:
                shutil.rmtree(folder, ignore_errors=True)

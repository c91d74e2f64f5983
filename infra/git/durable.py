"""Making names survive a power cut: a file's fsync doesn't cover the folder that names it."""

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Write the folder's entries to disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_file(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Create `path` with `content`, synced; it must not exist."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())

"""What can go wrong with the database server itself."""

import shutil
from pathlib import Path

FULL_BELOW_BYTES = 32 * 1024**2
"""With less room than two WAL segments PostgreSQL can't start."""


class PostgresError(Exception):
    """PostgreSQL can't be set up, started, reached or stopped; the text says why and holds the log's last lines."""


class DiskFullError(PostgresError):
    """The same, because the disk has no room."""


def failure(folder: Path, what: str, *details: str) -> PostgresError:
    """The error for a server under `folder`; the disk first: a full one takes no log lines."""
    free = shutil.disk_usage(folder).free
    if free >= FULL_BELOW_BYTES:
        return PostgresError("\n".join(filter(None, [what, *details])))
    full = f"The disk that holds {folder} is full ({free // 1024} KiB left): make room and start again."
    return DiskFullError("\n".join(filter(None, [what, full, *details])))

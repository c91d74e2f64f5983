"""How failures of the database are told as failures of the store."""

from typing import Final

import psycopg
from psycopg import errors

from commands.ports.store import DuplicateCommand, FenceLost, StoreError, StoreFull, VersionConflict

FENCE_LOST: Final = "RB001"
DUPLICATE_COMMAND: Final = "RB002"
VERSION_CONFLICT: Final = "RB003"
"""SQLSTATEs of our own, raised by `commit_events`."""

NO_SPACE: Final = "No space left on device"

_BY_STATE: Final[dict[str, type[StoreError]]] = {
    FENCE_LOST: FenceLost,
    DUPLICATE_COMMAND: DuplicateCommand,
    VERSION_CONFLICT: VersionConflict,
}


class StoreUnavailable(StoreError):
    """The database can't be reached, or ended in the middle; whether the transaction is there is unknown.

    `EventStore.commit` finds out and goes on by itself; a caller of `transaction()` reads its position again.
    """


class TrackingConflict(StoreError):
    """Another follower of the same name has advanced to this position or beyond."""


def translate(error: psycopg.Error) -> StoreError:
    """The store's error for one of the driver's; no values of rows get into its text."""
    text = error.diag.message_primary or str(error).strip() or type(error).__name__
    own = _BY_STATE.get(error.sqlstate or "")
    if own is not None:
        return own(text)
    if isinstance(error, errors.DiskFull) or NO_SPACE in str(error):
        return StoreFull(f"the database's disk is full: {text}")
    if is_connection_loss(error):
        return StoreUnavailable(f"the database can't be reached: {text}")
    return StoreError(f"the database refused: {text}")


def is_connection_loss(error: psycopg.Error) -> bool:
    """Whether the session is gone, so that a commit underway may or may not have happened."""
    if isinstance(error, psycopg.InterfaceError):
        return True
    if not isinstance(error, psycopg.OperationalError):
        return False
    # Without a state the connection broke; class 08 is the connection, 57P the server's own end.
    state = error.sqlstate
    return state is None or state.startswith(("08", "57P"))

"""What must hold within an append before the database is asked."""

from commands.ports.store import Commit, StoreError, StreamAppend
from domain.kernel.event import GENESIS_HASH


def check_commit(commit: Commit) -> None:
    """
    Raises:
        StoreError: a stream named twice, a version gap, an event of another stream, or a broken chain of hashes.
    """
    streams = [append.stream for append in commit.appends]
    if len(set(streams)) != len(streams):
        raise StoreError("one commit names a stream twice")
    for append in commit.appends:
        _check_append(append)


def _check_append(append: StreamAppend) -> None:
    previous = GENESIS_HASH if append.expected_version == 0 else None
    for version, sealed in enumerate(append.events, append.expected_version + 1):
        envelope = sealed.envelope
        if (envelope.stream, envelope.version) != (append.stream, version):
            raise StoreError(f"{envelope.id} can't be stored as {append.stream}:{version}: versions have no gaps")
        if previous is not None and envelope.previous_hash != previous:
            raise StoreError(f"{envelope.id} doesn't name the hash of the event before it")
        previous = sealed.hash


def head_hash(append: StreamAppend) -> str:
    """The hash that the stream's last stored bytes must have; an empty text when the append names none."""
    return append.events[0].envelope.previous_hash if append.events else ""

"""The bridge between our envelope and the library's stored events.

The library's mapper writes `vars()` of its own event classes under a Python path; ours stores the sealed bytes as they
are under the stable type name, and reads them through upcasters and validation.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast

from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import Mapper, StoredEvent, Transcoder
from pydantic_core import from_json

from commands.ports.store import Sealed, Stored
from domain.kernel.event import EVENT_CLASSES, Envelope, decode_envelope, read_envelope
from domain.kernel.value import canonical_json, sha256_hex
from infra.event_store.upcast import upcast

Page = Sequence[tuple[int, str, bytes]]
"""Positions, type names and stored bytes."""

MANY: Final = 250
"""Events of a page from which on it pays to prepare for the fast way of decoding."""


@dataclass(frozen=True)
class SealedRow(StoredEvent):
    """The library's stored event with the columns that copy its envelope."""

    at: datetime
    actor: str
    command_id: str
    causation: str | None
    correlation: str | None
    run: str | None


class CanonicalTranscoder(Transcoder):
    """Canonical JSON, the one form that is stored and hashed."""

    def encode(self, obj: Any) -> bytes:
        return canonical_json(obj)

    def decode(self, data: bytes) -> Any:
        return from_json(data)


class EnvelopeMapper(Mapper[str]):
    """`Sealed` to stored event, stored event to `Envelope`; no compression and no cipher: the bytes are hashed."""

    def __init__(self) -> None:
        super().__init__(CanonicalTranscoder())

    def to_stored_event(self, domain_event: DomainEventProtocol[str]) -> SealedRow:
        sealed = cast(Sealed, domain_event)
        envelope = sealed.envelope
        return SealedRow(
            originator_id=envelope.stream,
            originator_version=envelope.version,
            topic=envelope.type,
            state=sealed.stored,
            at=envelope.at,
            actor=envelope.actor,
            command_id=envelope.command_id,
            causation=envelope.causation,
            correlation=envelope.correlation,
            run=envelope.run,
        )

    def to_domain_event(self, stored_event: StoredEvent) -> Any:
        return self.envelope(stored_event.state)

    @staticmethod
    def envelope(stored: bytes) -> Envelope:
        """The envelope of stored bytes.

        Raises:
            UnknownEvent: a type or schema version that this code can't read.
        """
        return decode_envelope(upcast(from_json(stored, cache_strings="keys")))

    @classmethod
    def page(cls, rows: Page) -> tuple[Stored, ...]:
        """Events as read back; each hash is computed from the bytes, never taken from a column.

        Raises:
            UnknownEvent: a type or schema version that this code can't read.
        """
        decode = cls._decoder(rows)
        with _without_collector():
            return tuple([Stored(position, decode(topic, state), sha256_hex(state)) for position, topic, state in rows])

    @classmethod
    def envelopes(cls, rows: Page) -> tuple[tuple[int, Envelope], ...]:
        """Positions and envelopes, for whoever needs no hash.

        Raises:
            UnknownEvent: a type or schema version that this code can't read.
        """
        decode = cls._decoder(rows)
        with _without_collector():
            return tuple([(position, decode(topic, state)) for position, topic, state in rows])

    @classmethod
    def _decoder(cls, rows: Page) -> Callable[[str, bytes], Envelope]:
        return cls._present if len(rows) >= MANY else cls._any

    @classmethod
    def _any(cls, topic: str, stored: bytes) -> Envelope:
        return cls.envelope(stored)

    @classmethod
    def _present(cls, topic: str, stored: bytes) -> Envelope:
        """For what is stored in its present shape, as nearly all is; everything else goes through the upcasters."""
        kind = EVENT_CLASSES.get(topic)
        if kind is None:
            return cls.envelope(stored)
        try:
            return read_envelope(kind, stored)
        except ValueError:
            return cls.envelope(stored)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Decoding makes many objects and no cycle: the collector would walk them over and over (2.7 times slower)."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()

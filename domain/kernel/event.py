"""Events are frozen values without bookkeeping; the envelope around them carries that (DESIGN, "Events")."""

from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any, ClassVar, Final, Generic, TypeVar, cast

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from domain.kernel.errors import UnknownEvent
from domain.kernel.value import Text, Value, canonical_json, sha256_hex

EVENT_CLASSES: Final[dict[str, type["Event"]]] = {}
"""Every event class by its type name. The names ARE the storage format: they never change."""

GENESIS_HASH: Final = "0" * 64
"""The previous hash of a stream's first event."""


class Event(Value):
    """One fact. A subclass states `type` (the seeds' dotted name) and, after a change of shape, `schema_version`."""

    type: ClassVar[str]
    schema_version: ClassVar[int] = 1

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if EVENT_CLASSES.setdefault(cls.type, cls) is not cls:
            raise TypeError(f"two event classes of type {cls.type}")


class Command(Value):
    """What somebody wants. `at` and new IDs arrive on it: nothing inside the domain looks at a clock.

    `actor` is a pseudonymous ID (`usr_…`, or `system:<part>`); `causation` the ID of the event (or message) that
    led to it; `correlation` the Change it belongs to.
    """

    command_id: str
    actor: Text
    at: AwareDatetime
    causation: str | None = None
    correlation: str | None = None


class Envelope(Value):
    """An event as it is stored: the whole of it is the stored bytes, any column beside them is a copy.

    `previous_hash` is the SHA-256 of the stream's previous stored bytes (`GENESIS_HASH` for the first), so that no
    event can be changed unseen.
    """

    stream: str
    version: int
    type: str
    schema_version: int
    at: datetime
    actor: str
    command_id: str
    causation: str | None
    correlation: str | None
    run: str | None
    previous_hash: str
    event: Event

    @property
    def id(self) -> str:
        """`<stream>:<version>`; versions start at 1."""
        return f"{self.stream}:{self.version}"


_ENVELOPE_FIELDS: Final = set(Envelope.model_fields)
"""Shared by all envelopes: they are frozen, and a copy copies it."""


def _envelope(fields: dict[str, Any]) -> Envelope:
    """An envelope of values that need no check; `model_construct` takes several times as long, on every read."""
    made = Envelope.__new__(Envelope)
    object.__setattr__(made, "__dict__", fields)
    object.__setattr__(made, "__pydantic_fields_set__", _ENVELOPE_FIELDS)
    object.__setattr__(made, "__pydantic_extra__", None)
    object.__setattr__(made, "__pydantic_private__", None)
    return made


def encode_envelope(envelope: Envelope) -> bytes:
    """The stored bytes: canonical JSON, with the event's fields under `data`."""
    return canonical_json(
        {
            "id": envelope.id,
            "type": envelope.type,
            "schemaVersion": envelope.schema_version,
            "time": envelope.at.isoformat(),
            "actor": envelope.actor,
            "command": envelope.command_id,
            "causation": envelope.causation,
            "correlation": envelope.correlation,
            "run": envelope.run,
            "previousHash": envelope.previous_hash,
            "data": envelope.event.model_dump(mode="json"),
        }
    )


def decode_envelope(document: dict[str, Any]) -> Envelope:
    """The envelope of a stored document that upcasters have brought to the present schema versions.

    Raises:
        UnknownEvent: no class of that type, or a schema version that this code doesn't know.
    """
    kind = EVENT_CLASSES.get(document["type"])
    if kind is None or kind.schema_version != document["schemaVersion"]:
        raise UnknownEvent(f"event {document['id']}: {document['type']} version {document['schemaVersion']}")
    stream, version = document["id"].rsplit(":", 1)
    return _envelope(
        {
            "stream": stream,
            "version": int(version),
            "type": document["type"],
            "schema_version": document["schemaVersion"],
            "at": datetime.fromisoformat(document["time"]),
            "actor": document["actor"],
            "command_id": document["command"],
            "causation": document["causation"],
            "correlation": document["correlation"],
            "run": document["run"],
            "previous_hash": document["previousHash"],
            "event": kind.model_validate(document["data"]),
        }
    )


E = TypeVar("E", bound=Event)


class _Document(BaseModel, Generic[E]):
    """The stored form of an envelope around one class of event, under the envelope's own names."""

    model_config = ConfigDict(extra="forbid", strict=True, cache_strings="keys")

    id: str
    type: str
    schema_version: int = Field(validation_alias="schemaVersion")
    at: str = Field(validation_alias="time")
    actor: str
    command_id: str = Field(validation_alias="command")
    causation: str | None
    correlation: str | None
    run: str | None
    previous_hash: str = Field(validation_alias="previousHash")
    event: E = Field(validation_alias="data")


def read_envelope(kind: type[Event], stored: bytes) -> Envelope:
    """What `decode_envelope` gives for stored bytes of a `kind` in its present schema version, in half the time.

    JSON becomes the event without a dict in between. The first call for a class takes about a millisecond, so this is
    for whoever reads many.

    Raises:
        ValueError: these bytes are something else; `decode_envelope` tells what.
    """
    return _reader(kind)(stored)


@cache
def _reader(kind: type[Event]) -> Callable[[bytes], Envelope]:
    name, schema_version = kind.type, kind.schema_version
    validate = _Document[kind].__pydantic_validator__.validate_json  # type: ignore[valid-type]

    def read(stored: bytes) -> Envelope:
        document = validate(stored)
        fields = document.__dict__
        if fields["type"] != name or fields["schema_version"] != schema_version:
            raise ValueError(f"event {fields['id']} is no {name} version {schema_version}")
        fields["stream"], version = fields.pop("id").rsplit(":", 1)
        fields["version"] = int(version)
        fields["at"] = datetime.fromisoformat(fields["at"])
        # Its fields are an envelope's now, and so it becomes one: making another takes as long as all of the above.
        object.__setattr__(document, "__class__", Envelope)
        object.__setattr__(document, "__pydantic_fields_set__", _ENVELOPE_FIELDS)
        return cast(Envelope, document)

    return read


def seal(
    stream: str,
    version: int,
    previous_hash: str,
    event: Event,
    command: Command,
    run: str | None = None,
) -> tuple[Envelope, bytes, str]:
    """Put `event` in its envelope; returns it with its stored bytes and their hash."""
    envelope = _envelope(
        {
            "stream": stream,
            "version": version,
            "type": event.type,
            "schema_version": event.schema_version,
            "at": command.at,
            "actor": command.actor,
            "command_id": command.command_id,
            "causation": command.causation,
            "correlation": command.correlation,
            "run": run,
            "previous_hash": previous_hash,
            "event": event,
        }
    )
    stored = encode_envelope(envelope)
    return envelope, stored, sha256_hex(stored)


class Head(Value):
    """Where a stream ended when another recorded it: its last version and the hash of its last stored bytes."""

    version: int
    hash: str


class BlobRef(Value):
    """Free text or bytes in the object store, under the SHA-256 of salt and content; erasable there."""

    sha256: str
    size: int

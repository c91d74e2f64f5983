"""Upcasters: how an event stored in an older shape is read in the present one.

Each is a pure function from the event's `data` in one schema version to its `data` in the next, found by type name
and the version it starts from. The stored bytes never change; upcasters run in the mapper, on every read.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from domain.kernel.errors import UnknownEvent
from domain.kernel.event import EVENT_CLASSES

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
UpcasterKey = tuple[str, int]

UPCASTERS: Final[dict[UpcasterKey, Upcaster]] = {}
"""By (type name, schema version that is read)."""


def upcaster(
    event_type: str, from_version: int, registry: dict[UpcasterKey, Upcaster] = UPCASTERS
) -> Callable[[Upcaster], Upcaster]:
    """Register the decorated function as the step from `from_version` to the next.

    Raises:
        TypeError: that step has an upcaster already.
    """

    def register(function: Upcaster) -> Upcaster:
        if registry.setdefault((event_type, from_version), function) is not function:
            raise TypeError(f"two upcasters of {event_type} from version {from_version}")
        return function

    return register


def upcast(document: dict[str, Any], upcasters: Mapping[UpcasterKey, Upcaster] = UPCASTERS) -> dict[str, Any]:
    """The stored document in the schema version of its class.

    Raises:
        UnknownEvent: no such class, or no upcaster for a step on the way.
    """
    kind = EVENT_CLASSES.get(document["type"])
    if kind is None:
        raise UnknownEvent(f"event {document['id']}: no event class of type {document['type']}")
    version = document["schemaVersion"]
    if version == kind.schema_version:
        return document
    data = document["data"]
    while version < kind.schema_version:
        step = upcasters.get((document["type"], version))
        if step is None:
            raise UnknownEvent(f"event {document['id']}: no upcaster of {document['type']} from version {version}")
        data, version = step(data), version + 1
    return {**document, "data": data, "schemaVersion": version}

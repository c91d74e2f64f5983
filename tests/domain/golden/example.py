"""One fixed example of any event class, with every optional field filled, so that a golden file shows all of them."""

import types
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import AwareDatetime

from domain.kernel.event import GENESIS_HASH, Envelope, Event
from domain.kernel.value import Value

AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
TEXT = {
    # Nothing that JSON or a column might change on its way: quotes, markup, a line end, letters beyond ASCII.
    "detail": 'a "quoted" [/b] {0} ünï\u2028\n🙂',
    "month": "2026-03",
}


def example(cls: type[Event]) -> Event:
    return cls.model_validate(_fields(cls))


def example_envelope(cls: type[Event]) -> Envelope:
    """`example(cls)` in an envelope whose bookkeeping is fixed."""
    return Envelope(
        stream="chg_00000000-0000-4000-8000-000000000001",
        version=7,
        type=cls.type,
        schema_version=cls.schema_version,
        at=AT,
        actor="usr_actor",
        command_id="cmd_1",
        causation="chg_00000000-0000-4000-8000-000000000001:6",
        correlation="chg_00000000-0000-4000-8000-000000000001",
        run="run_00000000-0000-4000-8000-000000000001_t1_1",
        previous_hash=GENESIS_HASH[:-1] + "1",
        event=example(cls),
    )


def _fields(cls: type[Value]) -> dict[str, Any]:
    return {name: _value(name, field.annotation) for name, field in cls.model_fields.items()}


def _value(name: str, annotation: Any) -> Any:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _value(name, arguments[0])
    if origin in (Union, types.UnionType):
        return _value(name, next(argument for argument in arguments if argument is not types.NoneType))
    if origin is tuple:
        return (_value(name, arguments[0]),)
    if origin is Literal:
        return arguments[0]
    return _plain(name, annotation)


def _plain(name: str, annotation: type) -> Any:
    if issubclass(annotation, Enum):
        return next(iter(annotation))
    if issubclass(annotation, Value):
        return _fields(annotation)
    plain: dict[type, Any] = {str: TEXT.get(name, name), bool: True, int: len(name), datetime: AT, AwareDatetime: AT}
    return plain[annotation]

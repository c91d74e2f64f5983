"""What a read model is: tables, and a pure function from an event and the rows it touches to new rows.

The same function follows the log, folds it in memory for a rebuild, and runs in the simulator (DESIGN, "The read
side").
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from domain.kernel.event import Envelope, Event

Row = dict[str, Any]
"""A value for each column of its table. Plain values only: str, int, bool, aware datetime, list, dict, None."""

Key = tuple[Any, ...]
"""The name of a table, then the values of its primary key."""

Rows = Mapping[Key, Row]
"""The rows that exist among those an event touches. Asking for others is an error of the read model."""

Changed = dict[Key, Row | None]
"""The rows as they are now; None for a row that is gone."""

KeysOf = Callable[[Any, Envelope], tuple[Key, ...]]
Apply = Callable[[Any, Envelope, int, Rows], Changed]
FoldIn = Callable[[Any, Envelope, int, dict[Key, Row]], Key | None]
Create = Callable[[Any, Envelope], Row]
Append = Callable[[Any, Envelope, int], Row]
Patch = Callable[[Row, Any, Envelope], Row]


class MissingRow(Exception):
    """An event about something that this read model never saw begin."""


COLUMN_TYPES: Final = ("text", "bigint", "boolean", "timestamptz", "text[]", "jsonb")
"""The SQL types of columns. No smaller integers: a binary copy cuts a number to their size without a word."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table of a read model.

    columns: name → SQL type of `COLUMN_TYPES`; one that ends in ` null` may hold None.
    append_only: rows are written once and never read or changed by `apply`, so a rebuild need not keep them.
    """

    name: str
    columns: Mapping[str, str]
    key: tuple[str, ...]
    indexes: tuple[tuple[str, ...], ...] = ()
    append_only: bool = False

    def __post_init__(self) -> None:
        unknown = {kind for kind in self.columns.values() if kind.removesuffix(" null") not in COLUMN_TYPES}
        if unknown:
            raise ValueError(f"table {self.name} has columns of the types {', '.join(sorted(unknown))}")

    def key_of(self, row: Row) -> Key:
        return (self.name, *(row[column] for column in self.key))


@dataclass(frozen=True, slots=True)
class Handler:
    """How a read model answers to one type of event. `keys` names the rows that `apply` may read.

    fold_in: where an event changes one row at most, the same in place, on rows that nobody else holds: it gives that
    row's key. append: where an event only adds one row to an append-only table, that row.
    """

    keys: KeysOf
    apply: Apply
    fold_in: FoldIn | None = None
    append: tuple[Table, Append] | None = None


class ReadModel:
    """A named set of tables and its handlers. What it doesn't handle doesn't concern it.

    module: the name of the module that computes its rows (`__name__` there); its source text is part of its version.
    """

    def __init__(self, name: str, module: str, *tables: Table) -> None:
        self.name: Final = name
        self.module: Final = module
        self.tables: Final = tables
        self.handlers: Final[dict[str, Handler]] = {}

    def table(self, name: str) -> Table:
        return next(table for table in self.tables if table.name == name)

    def keys(self, envelope: Envelope) -> tuple[Key, ...]:
        """The keys of the rows that `apply` may read for this event."""
        handler = self.handlers.get(envelope.type)
        return handler.keys(envelope.event, envelope) if handler else ()

    def apply(self, envelope: Envelope, position: int, rows: Rows) -> Changed:
        """The rows that this event changes. Pure.

        Raises:
            MissingRow: the log contradicts what this read model knows.
        """
        handler = self.handlers.get(envelope.type)
        return handler.apply(envelope.event, envelope, position, rows) if handler else {}

    def on(self, *kinds: type[Event], keys: KeysOf) -> Callable[[Apply], Apply]:
        """Register the decorated function for these events; it reads at most the rows that `keys` names."""

        def register(apply: Apply) -> Apply:
            self._register(kinds, Handler(keys, apply))
            return apply

        return register

    def _register(self, kinds: Sequence[type[Event]], handler: Handler) -> None:
        for kind in kinds:
            if kind.type in self.handlers:
                raise TypeError(f"read model {self.name} handles {kind.type} twice")
            self.handlers[kind.type] = handler

    def appends(self, *kinds: type[Event], table: Table) -> Callable[[Append], Append]:
        """The decorated function makes the one row that each of these events adds to an append-only table."""

        def register(append: Append) -> Append:
            def apply(event: Any, envelope: Envelope, position: int, rows: Rows) -> Changed:
                row = append(event, envelope, position)
                return {table.key_of(row): row}

            self._register(kinds, Handler(_no_keys, apply, append=(table, append)))
            return append

        return register

    def creates(self, kind: type[Event], table: Table) -> Callable[[Create], Create]:
        """The decorated function makes the one row that this event begins; its columns left out are None."""
        empty: Row = dict.fromkeys(table.columns)

        def register(create: Create) -> Create:
            def apply(event: Any, envelope: Envelope, position: int, rows: Rows) -> Changed:
                row = {**empty, **create(event, envelope)}
                return {table.key_of(row): row}

            def fold_in(event: Any, envelope: Envelope, position: int, rows: dict[Key, Row]) -> Key | None:
                row = {**empty, **create(event, envelope)}
                place = table.key_of(row)
                rows[place] = row
                return place

            self._register((kind,), Handler(_no_keys, apply, fold_in))
            return create

        return register

    def patches(
        self, *kinds: type[Event], table: Table, key: Callable[[Any, Envelope], str | None]
    ) -> Callable[[Patch], Patch]:
        """The decorated function gives the columns that these events change in the one row with that key.

        A key of None means that this event touches no row. A column `updated_at` becomes the event's time by itself.
        """
        dated = "updated_at" in table.columns
        name = table.name

        def keys(event: Any, envelope: Envelope) -> tuple[Key, ...]:
            identifier = key(event, envelope)
            return () if identifier is None else ((name, identifier),)

        def register(patch: Patch) -> Patch:
            def apply(event: Any, envelope: Envelope, position: int, rows: Rows) -> Changed:
                identifier = key(event, envelope)
                if identifier is None:
                    return {}
                place = (name, identifier)
                changed = existing(rows, place, envelope).copy()
                changed.update(patch(changed, event, envelope))
                if dated:
                    changed["updated_at"] = envelope.at
                return {place: changed}

            def fold_in(event: Any, envelope: Envelope, position: int, rows: dict[Key, Row]) -> Key | None:
                identifier = key(event, envelope)
                if identifier is None:
                    return None
                place = (name, identifier)
                row = existing(rows, place, envelope)
                row.update(patch(row, event, envelope))
                if dated:
                    row["updated_at"] = envelope.at
                return place

            self._register(kinds, Handler(keys, apply, fold_in))
            return patch

        return register


def existing(rows: Rows, key: Key, envelope: Envelope) -> Row:
    """The row under `key`.

    Raises:
        MissingRow: there is none.
    """
    row = rows.get(key)
    if row is None:
        raise MissingRow(f"{envelope.type} {envelope.id}: no row {' '.join(map(str, key))}")
    return row


def stream(event: Any, envelope: Envelope) -> str:
    """The key of a row that is about the event's own stream."""
    return envelope.stream


def _no_keys(event: Any, envelope: Envelope) -> tuple[Key, ...]:
    return ()


def check_names(models: Sequence[ReadModel]) -> None:
    """Names of read models and of tables are unique among all models.

    Raises:
        ValueError: they aren't.
    """
    names = [model.name for model in models]
    tables = [table.name for model in models for table in model.tables]
    twice = sorted({name for group in (names, tables) for name in group if group.count(name) > 1})
    if twice:
        raise ValueError(f"two read models or tables are named {', '.join(twice)}")

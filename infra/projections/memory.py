"""Read models in memory, for tests and the simulator: the same promises as PostgreSQL's."""

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from infra.projections.fingerprint import fingerprint
from infra.projections.home import ModelState
from projections.core import Changed, Key, ReadModel, Row, Table
from projections.fold import Failure
from projections.query import Select, Totals


class MemoryHome:
    """`Home` in this process. Made with its read models, all at position 0."""

    def __init__(self, models: Sequence[ReadModel]) -> None:
        self._lock = threading.RLock()
        self._rows: dict[str, dict[Key, Row]] = {table.name: {} for model in models for table in model.tables}
        self._states = {model.name: ModelState(0, fingerprint(model)) for model in models}

    def states(self) -> dict[str, ModelState]:
        with self._lock:
            return dict(self._states)

    @contextmanager
    def transaction(self, models: Sequence[ReadModel]) -> Iterator["MemoryTransaction"]:
        with self._lock:
            transaction = MemoryTransaction(self._rows, {m.name: self._states[m.name] for m in models})
            yield transaction
            for table, changed in transaction.changes.items():
                for key, row in changed.items():
                    if row is None:
                        self._rows[table].pop(key, None)
                    else:
                        self._rows[table][key] = row
            self._states.update(transaction.states)

    def get(self, table: Table, *key: Any) -> Row | None:
        with self._lock:
            row = self._rows[table.name].get((table.name, *key))
            return dict(row) if row is not None else None

    def select(self, query: Select) -> list[Row]:
        with self._lock:
            rows = [dict(row) for row in self._rows[query.table.name].values() if _matches(row, query.where)]
        if query.prefix is not None:
            column, beginning = query.prefix
            rows = [row for row in rows if row[column] is not None and row[column].startswith(beginning)]
        rows.sort(key=lambda row: _place(row, query), reverse=query.descending)
        if query.after is not None:
            after = query.after
            rows = [r for r in rows if (_place(r, query) < after if query.descending else _place(r, query) > after)]
        return rows if query.limit is None else rows[: query.limit]

    def totals(self, query: Totals) -> list[Row]:
        groups: dict[Any, Row] = {}
        for row in self.select(Select(query.table, query.where, ())):
            sums = groups.setdefault(row[query.group], {query.group: row[query.group], **dict.fromkeys(query.sums, 0)})
            for column in query.sums:
                sums[column] += row[column]
        return [groups[value] for value in sorted(groups)]


def _matches(row: Row, where: Mapping[str, Any]) -> bool:
    return all(
        row[column] in value if isinstance(value, tuple) else row[column] == value for column, value in where.items()
    )


def _place(row: Row, query: Select) -> tuple[Any, ...]:
    return tuple(row[column] for column in query.order)


class MemoryTransaction:
    """See `Transaction`: changes are kept aside until the block ends well."""

    def __init__(self, rows: dict[str, dict[Key, Row]], states: dict[str, ModelState]) -> None:
        self._rows = rows
        self.states = states
        self.changes: dict[str, Changed] = {name: {} for name in rows}

    def load(self, model: ReadModel, keys: Collection[Key]) -> dict[Key, Row]:
        found: dict[Key, Row] = {}
        for key in keys:
            changes = self.changes[key[0]]
            row = changes[key] if key in changes else self._rows[key[0]].get(key)
            if row is not None:
                found[key] = row
        return found

    def save(self, changes: Sequence[tuple[ReadModel, Changed]]) -> None:
        for _, changed in changes:
            for key, row in changed.items():
                self.changes[key[0]][key] = row

    def track(self, names: Sequence[str], position: int, failure: Failure | None = None) -> None:
        for name in names:
            self.states[name] = ModelState(position, self.states[name].definition, failure)

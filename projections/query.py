"""How read models are asked. The few forms that all of them need, so that each home answers them alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from projections.core import Row, Table

MAX_PAGE: Final = 200


@dataclass(frozen=True, slots=True)
class Select:
    """Rows of `table` whose columns equal `where` (a tuple: any of these), in the order of the columns `order`.

    order: ends in a unique column, so that `after` (the last row's values of these columns) names a place. prefix: a
    column and what its text begins with.
    """

    table: Table
    where: Mapping[str, Any]
    order: tuple[str, ...]
    descending: bool = False
    after: tuple[Any, ...] | None = None
    limit: int | None = None
    prefix: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        _check_columns(self.table, (*self.where, *self.order, *(self.prefix or ())[:1]))


@dataclass(frozen=True, slots=True)
class Totals:
    """For each value of the column `group`: the sums of the integer columns `sums` over rows that equal `where`."""

    table: Table
    where: Mapping[str, Any]
    group: str
    sums: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_columns(self.table, (*self.where, self.group, *self.sums))


def _check_columns(table: Table, columns: Sequence[str]) -> None:
    unknown = set(columns) - table.columns.keys()
    if unknown:
        raise ValueError(f"table {table.name} has no column {', '.join(sorted(unknown))}")


class Views(Protocol):
    """The read models as they stand: PostgreSQL's, or those in memory."""

    def get(self, table: Table, *key: Any) -> Row | None:
        """The row with this primary key."""
        ...

    def select(self, query: Select) -> list[Row]: ...

    def totals(self, query: Totals) -> list[Row]:
        """Rows of the group's value and the sums, in the order of that value."""
        ...


@dataclass(frozen=True, slots=True)
class Page:
    """Rows, and the cursor (values of the order's columns) that continues after them; None at the end."""

    rows: Sequence[Row]
    cursor: tuple[Any, ...] | None


def page(views: Views, query: Select, limit: int) -> Page:
    """At most `limit` rows (bounded by `MAX_PAGE`) and where to go on."""
    bounded = max(1, min(limit, MAX_PAGE))
    rows = views.select(replace(query, limit=bounded + 1))
    if len(rows) <= bounded:
        return Page(rows, None)
    last = rows[bounded - 1]
    return Page(rows[:bounded], tuple(last[column] for column in query.order))

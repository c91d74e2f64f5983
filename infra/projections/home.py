"""Where read models live: rows and positions that change together or not at all."""

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from projections.core import Changed, Key, ReadModel, Row
from projections.fold import Failure
from projections.query import Views


class RowsRefused(Exception):
    """The home can't hold these rows: the read model made them wrongly. Nothing of them is there."""


class OutdatedCode(Exception):
    """The read models were made by other code than this process runs."""


@dataclass(frozen=True, slots=True)
class ModelState:
    """How far a read model is, by which definition it was made, and what stopped it."""

    position: int
    definition: str
    failure: Failure | None = None


class Transaction(Protocol):
    """Exclusive use of the positions of the read models named when it began."""

    states: dict[str, ModelState]
    """Without the read models that aren't there, or that another definition made; `track` keeps it up to date."""

    def load(self, model: ReadModel, keys: Collection[Key]) -> dict[Key, Row]:
        """The rows that exist."""
        ...

    def save(self, changes: Sequence[tuple[ReadModel, Changed]]) -> None:
        """Write rows; on refusal nothing of this call is there, and the transaction goes on.

        Raises:
            RowsRefused
        """
        ...

    def track(self, names: Sequence[str], position: int, failure: Failure | None = None) -> None:
        """Set where these read models stand."""
        ...


class Home(Views, Protocol):
    """Rows, positions, and how to ask them."""

    def states(self) -> dict[str, ModelState]:
        """Of all read models that are there, whichever definition made them."""
        ...

    def transaction(self, models: Sequence[ReadModel]) -> AbstractContextManager[Transaction]:
        """Commits at the end of the block; an exception takes back everything."""
        ...

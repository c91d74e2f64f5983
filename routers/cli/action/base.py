"""What every action gets, and how it finds the Change that a person means."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from domain.kernel.errors import InvalidInput, NotFound
from routers.cli.session import Installation, Queries, Session
from routers.cli.terminal import Terminal
from routers.cli.view.text import one_line

FEWEST_DIGITS: Final = 4
_CHANGE: Final = re.compile(rf"(?:chg_)?([0-9a-f-]{{{FEWEST_DIGITS},36}})")
_UUID_LENGTH: Final = 36

OnOutput = Callable[[str, str, bytes], None]


@dataclass(slots=True)
class Cli:
    """One invocation of `rhumb`."""

    installation: Installation
    terminal: Terminal = field(default_factory=Terminal)

    @contextmanager
    def session(self, on_output: OnOutput | None = None) -> Iterator[Session]:
        """The installation's session; what takes long is told on standard error."""
        with self.installation.open(self.terminal.note, on_output) as session:
            yield session

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session whose read models hold everything that is in the log now."""
        with self.session() as session:
            session.catch_up()
            yield session


def find_change(queries: Queries, named: str) -> dict[str, Any]:
    """The row of the Change with this ID, or with the only ID that begins so (`chg_3f2a…`, `3f2a`).

    Raises:
        InvalidInput: not the beginning of an ID, or of several.
        NotFound: of none.
    """
    match = _CHANGE.fullmatch(named.strip().removesuffix("…").lower())
    if match is None:
        raise InvalidInput(
            f"{one_line(named, 80)!r} isn't a Change: give its ID (chg_…) or at least its first {FEWEST_DIGITS} digits"
        )
    prefix = f"chg_{match[1]}"
    found = [prefix] if len(match[1]) == _UUID_LENGTH else queries.changes_with_prefix(prefix, 4)
    if len(found) > 1:
        shown = ", ".join(found[:3]) + (", …" if len(found) > 3 else "")
        raise InvalidInput(f"several Changes begin with {prefix}: {shown}; give more digits")
    row = queries.change(found[0]) if found else None
    if row is None:
        raise NotFound("Change", prefix)
    return row

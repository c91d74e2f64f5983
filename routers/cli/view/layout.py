"""Text with styles, and columns of it. Lines are never wrapped, so that they can be searched and copied."""

from collections.abc import Iterable, Sequence
from typing import Final

from rich.text import Text

Line = Text

GOOD: Final = "green"
BAD: Final = "red"
WAITING: Final = "yellow"
DIM: Final = "dim"
HEAD: Final = "bold"
COMMAND: Final = "cyan"

STATUS_STYLES: Final = {
    "completed": GOOD,
    "promoted": GOOD,
    "verified": GOOD,
    "done": GOOD,
    "failed": BAD,
    "rejected": BAD,
    "cancelled": DIM,
    "stale": DIM,
    "blocked": WAITING,
    "budget_blocked": WAITING,
    "awaiting_approval": WAITING,
}


def plain(text: str) -> Line:
    return Text(text)


def styled(text: str, style: str) -> Line:
    return Text(text, style=style)


def status(text: str) -> Line:
    """A status in its colour; the word itself says it, too."""
    return Text(text, style=STATUS_STYLES.get(text, ""))


def join(*parts: str | Text) -> Line:
    """One line of several parts."""
    return Text.assemble(*parts)


def heading(text: str) -> Line:
    return Text(text, style=HEAD)


def indented(rows: Iterable[Text], by: int = 2) -> list[Line]:
    return [Text.assemble(" " * by, row) for row in rows]


def columns(rows: Sequence[Sequence[str | Text]], gap: int = 2) -> list[Line]:
    """Rows with their cells aligned left; the last cell of a row isn't padded."""
    cells = [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
    count = max(map(len, cells), default=0)
    widths = [max((row[i].cell_len for row in cells if len(row) > i + 1), default=0) for i in range(count)]
    return [_row(row, widths, gap) for row in cells]


def _row(row: Sequence[Text], widths: Sequence[int], gap: int) -> Line:
    line = Text()
    for i, cell in enumerate(row):
        line.append_text(cell)
        if i + 1 < len(row):
            line.append(" " * (widths[i] - cell.cell_len + gap))
    line.rstrip()
    return line

"""Columns, durations, times."""

from datetime import UTC, datetime, timedelta

import pytest

from routers.cli.view import time
from routers.cli.view.layout import columns, indented, join, styled


def test_columns_are_aligned_by_what_a_terminal_shows() -> None:
    rows = [("a", "bb", "c"), ("日本", "x"), (styled("long", "red"), "", "")]
    assert [line.plain for line in columns(rows)] == ["a     bb  c", "日本  x", "long"]


def test_columns_of_nothing() -> None:
    assert columns([]) == []


def test_cells_are_never_markup() -> None:
    (line,) = columns([("[red]x[/red]", "[/b]")])
    assert line.plain == "[red]x[/red]  [/b]"
    assert not line.spans


def test_indented_keeps_styles() -> None:
    (line,) = indented([join("a", styled("b", "red"))])
    assert line.plain == "  ab"
    assert [line.plain[span.start : span.end] for span in line.spans] == ["b"]


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (0, "0.0 s"),
        (1_340, "1.3 s"),
        (9_949, "9.9 s"),
        (9_950, "10 s"),
        (59_499, "59 s"),
        (59_600, "1 min 00 s"),
        (185_000, "3 min 05 s"),
        (3_599_600, "1 h 00 min"),
        (7_800_000, "2 h 10 min"),
    ],
)
def test_duration(milliseconds: int, shown: str) -> None:
    assert time.duration(milliseconds) == shown


def test_since_is_never_negative() -> None:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    assert time.since(start, start + timedelta(seconds=1.5)) == "+1.5 s"
    assert time.since(start, start - timedelta(seconds=1)) == "+0.0 s"

"""Foreign text can't act on a terminal."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.kernel.value import encode_path
from routers.cli.view.text import LINE_WIDTH, last_lines, lines, one_line, output_lines, path

HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def harmless(shown: str) -> bool:
    return all(unicodedata.category(c) not in HIDDEN or c in "\u200c\u200d" for c in shown)


@given(st.text(st.characters(exclude_categories=())))
def test_no_control_character_is_left(raw: str) -> None:
    assert harmless(one_line(raw))


@given(st.binary())
def test_no_output_reaches_the_terminal_unescaped(raw: bytes) -> None:
    assert all(harmless(line.replace("\t", "")) for line in output_lines(raw))


@given(st.binary(min_size=1))
def test_every_path_is_one_harmless_line(raw: bytes) -> None:
    assert harmless(path(encode_path(raw)))


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain [b]text[/b] ü 日本 👩‍🚀", "plain [b]text[/b] ü 日本 👩‍🚀"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\nb\rc\td\0", "a\\nb\\rc\\td\\x00"),
        ("\x7f\x9b", "\\x7f\\x9b"),
        ("\u202e\u2066\ufeff", "\\u202e\\u2066\\ufeff"),
        ("\u2028", "\\u2028"),
        ("\udcff\ud800", "\\xff\\ud800"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_one_line(raw: str, shown: str) -> None:
    assert one_line(raw) == shown


def test_one_line_is_cut_with_an_ellipsis() -> None:
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("abcd", 4) == "abcd"


def test_lines_keep_tabs_and_breaks() -> None:
    assert lines("a\tb\r\nc\x07\n") == ("a\tb", "c\\x07", "")


def test_output_lines() -> None:
    assert output_lines(b"") == ()
    assert output_lines(b"a\n\nb\xff") == ("a", "", "b\\xff")


def test_last_lines_are_those_that_hold_something() -> None:
    assert last_lines(b"1\n2\n\n3\n  \n", 2) == ("2", "3")
    assert last_lines(b"\n" * 10, 2) == ()
    assert len(last_lines(b"x" * 10**6, 20)) == 1


def test_a_path_is_shown_decoded() -> None:
    assert path("src/a b%0A%FF%22.py") == 'src/a b\\n\\xff".py'


def test_a_line_without_an_end_is_cut() -> None:
    (line,) = last_lines(b"\0" * 100_000, 20)
    assert len(line) == LINE_WIDTH
    assert line.endswith("…")

"""Money is integer micro-dollars."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from domain.kernel.money import Micros, micros_from_usd, show_usd, usd_from_micros


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("0", 0),
        ("2.50", 2_500_000),
        (" $2.5 ", 2_500_000),
        ("0.000001", 1),
        ("0.0000005", 1),
        ("0.0000004", 0),
        ("1e3", 1_000_000_000),
        ("1000000", 10**12),
    ],
)
def test_dollars_become_micros(text: str, micros: int) -> None:
    assert micros_from_usd(text) == micros


@pytest.mark.parametrize("text", ["", "x", "-1", "-0.01", "nan", "inf", "-inf", "1000000.01", "1,5", "$", "0x10"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="amount"):
        micros_from_usd(text)


@pytest.mark.parametrize(
    ("micros", "shown"),
    [
        (None, "unknown"),
        (0, "$0.00"),
        (1_250_000, "$1.25"),
        (1, "$0.000001"),
        (12_300, "$0.0123"),
        (1_000_000_000_000, "$1000000.00"),
    ],
)
def test_it_is_shown_with_the_digits_that_matter(micros: int | None, shown: str) -> None:
    assert show_usd(micros) == shown


@given(st.integers(0, 10**12))
def test_what_is_shown_reads_back(micros: int) -> None:
    assert micros_from_usd(show_usd(micros)) == micros
    assert usd_from_micros(micros) == micros / 10**6


def test_an_amount_is_never_negative() -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Micros).validate_python(-1)

"""Money is integer micro-dollars: 1 USD = 1,000,000."""

from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Annotated, Final

from pydantic import Field

MICROS_PER_USD: Final = 1_000_000
MAX_USD: Final = Decimal(1_000_000)

Micros = Annotated[int, Field(ge=0)]
"""An amount in micro-dollars, never negative. An unknown cost is None, never 0."""


def micros_from_usd(text: str) -> int:
    """`"2.50"` → 2,500,000.

    Raises:
        ValueError: not a number, negative, not finite, or over a million dollars.
    """
    try:
        usd = Decimal(text.strip().removeprefix("$"))
    except InvalidOperation as error:
        raise ValueError(f"not an amount in dollars: {text!r}") from error
    if not usd.is_finite() or usd < 0 or usd > MAX_USD:
        raise ValueError(f"an amount must lie between 0 and {MAX_USD:,} dollars, not {text!r}")
    return int((usd * MICROS_PER_USD).to_integral_value(ROUND_HALF_UP))


def usd_from_micros(micros: int) -> float:
    """For people and JSON only; nothing is computed with it."""
    return micros / MICROS_PER_USD


def show_usd(micros: int | None) -> str:
    """`$1.25`, with up to six digits where they matter; `unknown` for None."""
    if micros is None:
        return "unknown"
    cents, rest = divmod(micros, 10_000)
    text = f"${cents // 100}.{cents % 100:02d}"
    return text + f"{rest:04d}".rstrip("0") if rest else text

"""Foreign text on a terminal: control characters are shown escaped, so that it can't act on it or pose as ours."""

import unicodedata
from typing import Final

from domain.kernel.value import decode_path

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Controls, invisible formatting (bidirectional overrides among it), surrogates, line and paragraph separators."""

_JOINERS: Final = frozenset("\u200c\u200d")
"""Invisible, yet part of ordinary text: emoji, Persian, Hindi."""

_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


LINE_WIDTH: Final = 400
"""Characters of one line of foreign output; without line breaks it could be megabytes."""


def one_line(raw: str, limit: int | None = None) -> str:
    """`raw` on one line, every control character escaped, cut with an ellipsis after `limit` characters."""
    shown = "".join(map(_shown, raw))
    return shown if limit is None or len(shown) <= limit else shown[: limit - 1] + "…"


def lines(raw: str) -> tuple[str, ...]:
    """The lines of `raw`, tabs kept, every other control character escaped."""
    return tuple("\t".join(map(one_line, line.split("\t"))) for line in raw.replace("\r\n", "\n").split("\n"))


def output_lines(raw: bytes) -> tuple[str, ...]:
    """The lines of a command's output, for a terminal; bytes that aren't UTF-8 are shown as `\\xff`."""
    text = raw.decode("utf-8", "surrogateescape").removesuffix("\n")
    return lines(text) if text else ()


def last_lines(raw: bytes, count: int) -> tuple[str, ...]:
    """The last `count` lines that hold something, each cut to `LINE_WIDTH` characters."""
    found = [line for line in output_lines(raw[-count * 4_096 :]) if line.strip()][-count:]
    return tuple(line if len(line) <= LINE_WIDTH else line[: LINE_WIDTH - 1] + "…" for line in found)


def path(encoded: str) -> str:
    """A percent-encoded path as a person reads it; odd bytes and control characters are shown escaped."""
    return one_line(decode_path(encoded).decode("utf-8", "surrogateescape"))


def _shown(character: str) -> str:
    if character in _JOINERS or unicodedata.category(character) not in _HIDDEN:
        return character
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"

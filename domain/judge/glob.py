"""Glob patterns over repository paths: the one matcher of defining files and protected resources.

Both pattern and path are percent-encoded (`domain.kernel.value.encode_path`). In a pattern

- `*` stands for any characters within one path segment, `?` for exactly one; `%2A` and `%3F` for themselves, and
  every other character too (`[id]` is a folder of that name);
- a segment `**` stands for any number of segments, also none;
- a pattern without a slash inside matches a name at any depth; a leading or inner slash anchors it at the root;
- a match of a folder covers all that lies below it, and `tests/**` covers `tests` itself: a link in its place;
- letters match in either case: a file system or tool that folds case must not be a way around.

Matching takes time proportional to pattern times path at most, whatever the pattern.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import lru_cache
from typing import Final, TypeVar

from domain.kernel.value import decode_path

P = TypeVar("P")
I = TypeVar("I")  # noqa: E741


class Wild(Enum):
    MANY = "any number"
    ONE = "exactly one"


Segment = tuple[str | Wild, ...]
"""One segment of a pattern, as folded characters and wildcards."""

ANY_SEGMENTS: Final[Segment] = (Wild.MANY, Wild.MANY)


class PatternSet:
    """Patterns to be matched together. Names and literal paths, which most are, cost one look-up for all of them."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._names: set[str] = set()
        self._paths: set[tuple[str, ...]] = set()
        self._wild_names: list[Segment] = []
        self._others: list[tuple[Segment, ...]] = []
        for pattern in filter(None, map(_compiled, patterns)):
            self._sort_in(pattern)
        self._longest = max(map(len, self._paths), default=0)
        self._is_wild_name = lru_cache(maxsize=65_536)(self._matches_a_wild_name)

    def _sort_in(self, pattern: tuple[Segment, ...]) -> None:
        body = pattern[:-1]
        if len(body) == 2 and body[0] == ANY_SEGMENTS and body[1] != ANY_SEGMENTS:
            if _is_literal(body[1]):
                self._names.add(_text(body[1]))
            else:
                self._wild_names.append(body[1])
        elif all(map(_is_literal, body)):
            self._paths.add(tuple(map(_text, body)))
        else:
            self._others.append(pattern)

    def covers(self, path: str) -> bool:
        """Whether one of the patterns covers the file at `path`."""
        segments = _folded_segments(path)
        return (
            not self._names.isdisjoint(segments)
            or any(segments[:length] in self._paths for length in range(1, self._longest + 1))
            or any(map(self._is_wild_name, segments))
            or any(_wild(pattern, segments, ANY_SEGMENTS, _segment_matches) for pattern in self._others)
        )

    def _matches_a_wild_name(self, name: str) -> bool:
        return any(_segment_matches(segment, name) for segment in self._wild_names)


@lru_cache(maxsize=256)
def pattern_set(patterns: tuple[str, ...]) -> PatternSet:
    return PatternSet(patterns)


def matches(pattern: str, path: str) -> bool:
    """Whether `pattern` covers the file at `path`. An empty pattern covers nothing."""
    return PatternSet((pattern,)).covers(path)


def _is_literal(segment: Segment) -> bool:
    return all(isinstance(token, str) for token in segment)


def _text(segment: Segment) -> str:
    return "".join(token for token in segment if isinstance(token, str))


def _compiled(pattern: str) -> tuple[Segment, ...]:
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if not parts:
        return ()
    anchored = "/" in pattern.rstrip("/")
    segments = tuple(ANY_SEGMENTS if part == "**" else _tokens(part) for part in parts)
    return (*(() if anchored else (ANY_SEGMENTS,)), *segments, ANY_SEGMENTS)


def _tokens(part: str) -> Segment:
    tokens: list[str | Wild] = []
    literal = ""
    for character in part:
        if character in "*?":
            tokens.extend(_folded(literal))
            literal = ""
            wild = Wild.MANY if character == "*" else Wild.ONE
            if not (wild is Wild.MANY and tokens and tokens[-1] is Wild.MANY):
                tokens.append(wild)
        else:
            literal += character
    return (*tokens, *_folded(literal))


def _folded(encoded: str) -> str:
    return decode_path(encoded).decode("utf-8", "surrogateescape").casefold()


def _folded_segments(path: str) -> tuple[str, ...]:
    return tuple(_folded(path).split("/"))


def _segment_matches(segment: Segment, name: str) -> bool:
    # Most names differ at an end already.
    first, last = segment[0], segment[-1]
    if (isinstance(first, str) and not name.startswith(first)) or (isinstance(last, str) and not name.endswith(last)):
        return False
    return _wild(segment, name, Wild.MANY, _token_matches)


def _token_matches(token: str | Wild, character: str) -> bool:
    return token is Wild.ONE or token == character


def _wild(pattern: Sequence[P], items: Sequence[I], many: P, one: Callable[[P, I], bool]) -> bool:
    """Greedy wildcard matching: on a mismatch the last `many` takes one item more."""
    at = item = 0
    star, taken = -1, 0
    while item < len(items):
        if at < len(pattern) and pattern[at] == many:
            star, taken = at, item
            at += 1
        elif at < len(pattern) and one(pattern[at], items[item]):
            at += 1
            item += 1
        elif star >= 0:
            taken += 1
            at, item = star + 1, taken
        else:
            return False
    return all(rest == many for rest in pattern[at:])

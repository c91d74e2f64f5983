"""Looking for values that were let in for an agent in what it leaves (DESIGN, "Git, sandbox, models")."""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from infra.git.blob import read_blobs
from infra.git.tree import Difference

SHORTEST: Final = 6
"""Bytes of a value that is looked for: a shorter one (`1`, `true`) is in every second file by chance."""

_SHORTEST_BASE64: Final = 8


class SecretSearch:
    """Finds any of the values, as they are or in base64."""

    def __init__(self, values: Sequence[str]) -> None:
        raw = [value.encode(errors="surrogateescape") for value in values]
        forms = {form for value in raw if len(value) >= SHORTEST for form in (value, *_base64_forms(value))}
        self._longest = max(map(len, forms), default=0)
        self._pattern = re.compile(b"|".join(map(re.escape, sorted(forms)))) if forms else None

    @property
    def looks_for_nothing(self) -> bool:
        return self._pattern is None

    def count(self, pieces: Iterable[bytes]) -> int:
        """How often a value starts in the content, at least; every piece is taken."""
        found, tail = 0, b""
        for piece in pieces:
            if self._pattern is None:
                continue
            window = tail + piece
            end = 0
            for match in self._pattern.finditer(window):
                found, end = found + 1, match.end()
            tail = window[max(end, len(window) - self._longest + 1) :]
        return found

    def mask(self, path: bytes) -> bytes:
        """`path` without the values, so that a refusal doesn't spread them."""
        return path if self._pattern is None else self._pattern.sub(b"***", path)

    def paths(
        self, git_dir: Path, env: Mapping[str, str], changes: Sequence[Difference], kept: frozenset[str]
    ) -> tuple[bytes, ...]:
        """Paths of `changes` whose new content or name holds a value more often than the base's did.

        kept: blobs of the base; a file that was only moved brings nothing out.
        """
        if self.looks_for_nothing:
            return ()
        fresh = [change for change in changes if change.kind != "D" and change.new not in kept]
        after = self._counts(git_dir, env, {change.new for change in fresh})
        hit = [change for change in fresh if after[change.new]]
        before = self._counts(git_dir, env, {change.old for change in hit if change.kind != "A"})
        more = [change.path for change in hit if after[change.new] > before.get(change.old, 0)]
        return tuple(more + [c.path for c in changes if c.kind != "D" and self.count([c.path])])

    def _counts(self, git_dir: Path, env: Mapping[str, str], names: set[str]) -> dict[str, int]:
        return {name: self.count(pieces) for name, pieces in read_blobs(git_dir, sorted(names), env)}


def _base64_forms(value: bytes) -> Iterable[bytes]:
    """The parts of its base64 that don't depend on what stands before and after, at each of the three offsets."""
    for offset in range(3):
        encoded = base64.b64encode(bytes(offset) + value)
        first = (0, 2, 3)[offset]
        last = len(encoded) if (offset + len(value)) % 3 == 0 else len(encoded.rstrip(b"=")) - 1
        part = encoded[first:last]
        if len(part) >= _SHORTEST_BASE64:
            yield part
            yield part.translate(bytes.maketrans(b"+/", b"-_"))

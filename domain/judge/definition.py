"""Which files define a check: the built-in ones of its kinds, those that its command names, and its own setting's.

What can't be told from names has to be said with `defining`: tests that lie inside product files (Rust's `mod tests`,
doctests), files with names of their own that a test's configuration loads.
"""

from dataclasses import dataclass
from functools import lru_cache

from domain.check import Check
from domain.judge.command_line import kinds_of, named_files
from domain.judge.glob import PatternSet
from domain.judge.pattern import ALWAYS, PATTERNS, Kind
from domain.judge.shadow import shadows_a_module


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """patterns: built-in and set. named: folded paths in the command. roots: folders that it may run in or import from.

    python: modules of the change could get in the runner's way.
    """

    patterns: PatternSet
    named: frozenset[str]
    roots: tuple[str, ...]
    python: bool

    def names(self, path: str) -> bool:
        """Whether the command names the file at `path`, from the root or from a folder that it changed to."""
        parts = path.casefold().split("/")
        return any("/".join(parts[start:]) in self.named for start in range(len(parts)))

    def covers(self, path: str) -> bool:
        return self.patterns.covers(path) or self.names(path)

    def is_overshadowed_by(self, path: str) -> bool:
        """Whether a new file at `path` would be imported in the place of a module of the runner's."""
        return self.python and shadows_a_module(path, self.roots)


@lru_cache(maxsize=256)
def definition_of(check: Check) -> Definition:
    kinds = kinds_of(check.command)
    named = named_files(check.command)
    roots = ("", *sorted(name for name in named if not set(name) & set("*?")))
    built_in = (pattern for kind in Kind if kind in kinds for pattern in PATTERNS[kind])
    anywhere = (
        f"/{root}{pattern}" if pattern.startswith("/") else pattern
        for pattern in built_in
        for root in (roots if pattern.startswith("/") else ("",))
    )
    return Definition(
        patterns=PatternSet((*ALWAYS, *anywhere, *check.defining)),
        named=frozenset(name.casefold() for name in named),
        roots=roots,
        python=Kind.PYTHON in kinds,
    )

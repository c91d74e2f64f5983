"""The Verification Plan: what judges a change is never taken from the change (DESIGN).

A check whose defining files the candidate changed runs twice: as it is, and with the base's versions of these files
laid over. A defining file that the candidate added isn't in the base, so the second run goes without it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from domain.check import Check, PlannedCheck, Variant
from domain.judge.command_line import kinds_of, named_files
from domain.judge.glob import PatternSet, pattern_set
from domain.judge.pattern import ALWAYS, PATTERNS, Kind
from domain.judge.shadow import shadows_a_module

ADDED: Final = "A"
DELETED: Final = "D"


@dataclass(frozen=True, slots=True)
class ChangedPath:
    """A percent-encoded path that differs between base and candidate; kind A, M, D or T (its type changed)."""

    path: str
    kind: str


def verification_plan(checks: Sequence[Check], changed: Sequence[ChangedPath]) -> tuple[PlannedCheck, ...]:
    """The lines of the plan, in the order of `checks`; `changed` is the whole difference, without renames.

    The overlay is sorted, and holds every changed path that lies above or below a defining one as well: a link or file
    put in the place of a folder of tests would otherwise catch what is laid over it.
    """
    lines: list[PlannedCheck] = []
    for check in checks:
        lines.append(PlannedCheck(check=check.name))
        overlay = defining_files(check, changed)
        if overlay:
            lines.append(PlannedCheck(check=check.name, variant=Variant.BASE_JUDGES, overlay=overlay))
    return tuple(lines)


def defining_files(check: Check, changed: Sequence[ChangedPath]) -> tuple[str, ...]:
    """The changed paths that define `check`, sorted."""
    kinds = kinds_of(check.command)
    patterns = pattern_set(patterns_of(check, kinds))
    named = named_files(check.command)
    hits = {file.path for file in changed if _defines(file, patterns, named, kinds)}
    return tuple(sorted(hits | _in_the_way(hits, changed)))


def patterns_of(check: Check, kinds: frozenset[Kind]) -> tuple[str, ...]:
    """The built-in patterns of `kinds` and the check's own."""
    return (*ALWAYS, *(pattern for kind in Kind if kind in kinds for pattern in PATTERNS[kind]), *check.defining)


def is_named(path: str, named: frozenset[str]) -> bool:
    """Whether a command names the file at `path`, from the root or from a folder that it changed to."""
    folded = path.casefold()
    return any(folded == name.casefold() or folded.endswith("/" + name.casefold()) for name in named)


def _defines(file: ChangedPath, patterns: PatternSet, named: frozenset[str], kinds: frozenset[Kind]) -> bool:
    if patterns.covers(file.path) or is_named(file.path, named):
        return True
    # A module that the base has already is the product's; only a new one can be there to get in the runner's way.
    return file.kind == ADDED and Kind.PYTHON in kinds and shadows_a_module(file.path)


def _in_the_way(hits: set[str], changed: Sequence[ChangedPath]) -> set[str]:
    """Changed paths above a hit (a link where the base has a folder) or below one (a folder where it has a file)."""
    above = {folder for hit in hits for folder in _folders_of(hit)}
    return {file.path for file in changed if file.path in above or not hits.isdisjoint(_folders_of(file.path))}


def _folders_of(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]

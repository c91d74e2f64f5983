"""The Verification Plan: what judges a change is never taken from the change (DESIGN).

A check whose defining files the candidate changed runs twice: as it is, and with the base's versions of these files
laid over. A defining file that the candidate added isn't in the base, so the second run goes without it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from domain.check import Check, PlannedCheck, Variant
from domain.judge.definition import Definition, definition_of

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
    definition = definition_of(check)
    hits = {file.path for file in changed if _defines(file, definition)}
    return tuple(sorted(hits | _in_the_way(hits, changed)))


def _defines(file: ChangedPath, definition: Definition) -> bool:
    # A module that the base has already is the product's; only a new one can be there to get in the runner's way.
    return definition.covers(file.path) or (file.kind == ADDED and definition.is_overshadowed_by(file.path))


def _in_the_way(hits: set[str], changed: Sequence[ChangedPath]) -> set[str]:
    """Changed paths above a hit (a link where the base has a folder) or below one (a folder where it has a file)."""
    above = {folder for hit in hits for folder in _folders_of(hit)}
    return {file.path for file in changed if file.path in above or not hits.isdisjoint(_folders_of(file.path))}


def _folders_of(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]

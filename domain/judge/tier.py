"""Files whose change raises the risk tier, whatever the checks say (DESIGN, "What judges a change").

Code only raises: nothing in here can lower a tier or release a change.
"""

from collections.abc import Sequence
from typing import Final

from domain.change.command import TierRaise
from domain.check import Check
from domain.judge.definition import definition_of
from domain.judge.glob import pattern_set
from domain.judge.pattern import CI_FILES, GIT_FILES, LOCK_FILES, MIGRATION_FILES, SETTINGS_FILES, TEST_PATTERNS
from domain.judge.plan import ADDED, DELETED, ChangedPath
from domain.plan import RiskTier
from domain.policy import Policy

MAX_NAMED_FILES: Final = 100
"""Files that one reason names; it counts the others."""

REASONS: Final = (
    (SETTINGS_FILES, "changes the settings that judge this repository"),
    (CI_FILES, "changes continuous integration"),
    (GIT_FILES, "changes how git reads and merges files"),
    (LOCK_FILES, "changes dependencies"),
    (MIGRATION_FILES, "changes a database schema"),
)

SCRIPT_SUFFIXES: Final = (".sh", ".bash", ".ini", ".cfg", ".conf", ".toml", ".json", ".yaml", ".yml", ".mk", ".txt")
"""Files of these kinds, named in a check's command, steer the check and aren't what it looks at."""


def tier_raises(changed: Sequence[ChangedPath], policy: Policy, checks: Sequence[Check] = ()) -> tuple[TierRaise, ...]:
    """Why this change needs a higher tier than its plan's: one entry per reason, each with its files, sorted.

    checks: the plan's. A source file named in a check's command counts as its judge, so the base's version is laid
    over, and then nothing judges the new one: a person has to.
    """
    groups = (*REASONS, (policy.protected_resources, "changes a protected resource"))
    found = [_raise(reason, _covered(patterns, changed)) for patterns, reason in groups]
    found.append(_raise("deletes tests", _deleted_tests(changed)))
    found.append(_raise("changes a file that a check's command names", _named_sources(changed, checks)))
    return tuple(entry for entry in found if entry is not None)


def _covered(patterns: tuple[str, ...], changed: Sequence[ChangedPath]) -> list[str]:
    group = pattern_set(patterns)
    return [file.path for file in changed if group.covers(file.path)]


def _raise(reason: str, paths: Sequence[str]) -> TierRaise | None:
    if not paths:
        return None
    files = tuple(sorted(paths))
    more = len(files) - MAX_NAMED_FILES
    text = f"{reason} ({more} more files than are named)" if more > 0 else reason
    return TierRaise(tier=RiskTier.HIGH, reason=text, files=files[:MAX_NAMED_FILES])


def _deleted_tests(changed: Sequence[ChangedPath]) -> list[str]:
    """Deleted tests that didn't just move: what the base's version still judges today is gone for the next change."""
    added = {_name(file.path) for file in changed if file.kind == ADDED}
    deleted = [file for file in changed if file.kind == DELETED and _name(file.path) not in added]
    return _covered(TEST_PATTERNS, deleted)


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _named_sources(changed: Sequence[ChangedPath], checks: Sequence[Check]) -> list[str]:
    found: set[str] = set()
    for check in checks:
        definition = definition_of(check)
        found |= {
            file.path
            for file in changed
            if definition.names(file.path)
            and not file.path.casefold().endswith(SCRIPT_SUFFIXES)
            and not definition.patterns.covers(file.path)
        }
    return sorted(found)

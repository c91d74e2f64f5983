"""The transition table of a Release (seed 001, "Release status"; SEED-NOTES, "Transitions in text")."""

from datetime import timedelta
from enum import StrEnum
from typing import Final

from domain.kernel.table import Transition, TransitionTable

RELEASE_STUCK_AFTER: Final = timedelta(minutes=45)
"""A release that isn't over this long after its promotion is stuck."""


class ReleaseStatus(StrEnum):
    QUEUED = "queued"
    BUILDING = "building"
    SUPERSEDED = "superseded"
    FAILED = "failed"
    DEPLOYED = "deployed"
    SMOKE_FAILED = "smoke_failed"


TERMINAL_RELEASE: Final = (ReleaseStatus.SUPERSEDED, ReleaseStatus.FAILED, ReleaseStatus.SMOKE_FAILED)
"""Statuses without a way out; `deployed` still has one, although the release is over then."""

RELEASE_TABLE: Final = TransitionTable(
    "Release",
    (
        Transition(None, "release.queued", "queued", "promotion with a release target"),
        Transition(None, "release.failed", "failed", "promoted, and no release was ever queued"),
        Transition("queued", "release.building", "building", "generation still canonical"),
        Transition("queued", "release.superseded", "superseded", "later generation promoted"),
        Transition("queued", "release.failed", "failed", "not canonical, no release target, or stuck"),
        Transition("building", "release.superseded", "superseded", "later generation promoted"),
        Transition("building", "release.failed", "failed", "no bundle, the pointer did not move, or stuck"),
        Transition("building", "release.deployed", "deployed", "smoke check passed"),
        Transition("building", "release.smoke_failed", "smoke_failed", "smoke check failed"),
        Transition("deployed", "release.smoke_failed", "smoke_failed", "failed after it was deployed"),
    ),
    TERMINAL_RELEASE,
)

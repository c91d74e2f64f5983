"""A Release builds what is canonical, gives way to later generations, and always ends."""

from datetime import timedelta

import pytest

from domain.kernel.errors import DomainError, IllegalTransition, ImpossibleHistory, InvalidInput, NotFound, UnknownEvent
from domain.kernel.event import BlobRef, Command, Event, Head
from domain.release.command import (
    BuildRelease,
    FailRelease,
    QueueRelease,
    RecordSmokeCheck,
    RecordSmokeFailure,
    RecoverRelease,
)
from domain.release.decide import RELEASE
from domain.release.error import NotStuck
from domain.release.event import (
    FailReason,
    ReleaseBuilding,
    Released,
    ReleaseDeployed,
    ReleaseFailed,
    ReleaseQueued,
    ReleaseSmokeFailed,
    ReleaseSuperseded,
)
from domain.release.status import RELEASE_STUCK_AFTER, RELEASE_TABLE, ReleaseStatus
from domain.run.event import TurnRecorded
from tests.domain.bookkeeping import COMMIT, NOW, OTHER_COMMIT, by
from tests.support.decider import scenarios

given = scenarios(RELEASE)

ABOUT = Released(
    project="prj_1",
    generation=3,
    commit=COMMIT,
    promoted_at=NOW,
    change="chg_1",
    change_head=Head(version=9, hash="d" * 64),
)
OTHER = ABOUT.model_copy(update={"commit": OTHER_COMMIT})
SMOKE = BlobRef(sha256="e" * 64, size=5)
BUNDLE = "f" * 64

QUEUED = ReleaseQueued(released=ABOUT)
BUILDING = ReleaseBuilding(target="live")
SUPERSEDED = ReleaseSuperseded(generation=4)
DEPLOYED = ReleaseDeployed(bundle=BUNDLE, smoke=SMOKE)
SMOKE_FAILED = ReleaseSmokeFailed(smoke=SMOKE)


def failed(reason: FailReason, released: Released | None = None) -> ReleaseFailed:
    return ReleaseFailed(reason=reason, released=released)


LOGS: dict[str | None, tuple[Event, ...]] = {
    None: (),
    "queued": (QUEUED,),
    "building": (QUEUED, BUILDING),
    "superseded": (QUEUED, SUPERSEDED),
    "failed": (QUEUED, failed(FailReason.NO_TARGET)),
    "deployed": (QUEUED, BUILDING, DEPLOYED),
    "smoke_failed": (QUEUED, BUILDING, SMOKE_FAILED),
}

QUEUE = QueueRelease(**by(), released=ABOUT)
BUILD = BuildRelease(**by(), canonical_generation=3, canonical_commit=COMMIT, target="live")
BUILD_LATER = BuildRelease(**by(), canonical_generation=4, canonical_commit=OTHER_COMMIT, target="live")
BUILD_OTHER = BuildRelease(**by(), canonical_generation=3, canonical_commit=OTHER_COMMIT, target="live")
BUILD_EARLIER = BuildRelease(**by(), canonical_generation=2, canonical_commit=COMMIT, target="live")
BUILD_NOWHERE = BuildRelease(**by(), canonical_generation=3, canonical_commit=COMMIT, target=None)
NO_BUNDLE = FailRelease(**by(), reason=FailReason.NO_BUNDLE)
UNMOVED = FailRelease(**by(), reason=FailReason.POINTER_UNMOVED)
SMOKE_PASSED = RecordSmokeCheck(**by(), passed=True, canonical_generation=3, bundle=BUNDLE, output=SMOKE)
SMOKE_BROKE = RecordSmokeCheck(**by(), passed=False, canonical_generation=3, bundle=BUNDLE, output=SMOKE)
SMOKE_LATE = RecordSmokeCheck(**by(), passed=True, canonical_generation=4, bundle=BUNDLE, output=SMOKE)
BROKE_LATER = RecordSmokeFailure(**by(), output=SMOKE)
STUCK_AT = NOW + RELEASE_STUCK_AFTER
RECOVER = RecoverRelease(**by("system:timers", STUCK_AT), released=ABOUT)
RECOVER_EARLY = RecoverRelease(**by("system:timers", STUCK_AT - timedelta(microseconds=1)), released=ABOUT)

Outcome = Event | type[DomainError] | None
"""An event, a refusal, or None: it is so already."""

EXPECTED: list[tuple[str, Command, dict[str | None, Outcome]]] = [
    (
        "queue",
        QUEUE,
        dict.fromkeys(LOGS, None) | {None: QUEUED},
    ),
    (
        "queue another commit",
        QueueRelease(**by(), released=OTHER),
        dict.fromkeys(LOGS, InvalidInput) | {None: ReleaseQueued(released=OTHER)},
    ),
    (
        "build",
        BUILD,
        dict.fromkeys(LOGS, None) | {None: NotFound, "queued": BUILDING},
    ),
    (
        "build, a later generation is canonical",
        BUILD_LATER,
        dict.fromkeys(LOGS, None) | {None: NotFound, "queued": SUPERSEDED},
    ),
    (
        "build, another commit is canonical",
        BUILD_OTHER,
        dict.fromkeys(LOGS, None) | {None: NotFound, "queued": failed(FailReason.NOT_CANONICAL)},
    ),
    (
        "build, an earlier generation is canonical",
        BUILD_EARLIER,
        dict.fromkeys(LOGS, None) | {None: NotFound, "queued": failed(FailReason.NOT_CANONICAL)},
    ),
    (
        "build, no release target",
        BUILD_NOWHERE,
        dict.fromkeys(LOGS, None) | {None: NotFound, "queued": failed(FailReason.NO_TARGET)},
    ),
    (
        "no bundle",
        NO_BUNDLE,
        dict.fromkeys(LOGS, InvalidInput) | {None: NotFound, "building": failed(FailReason.NO_BUNDLE), "failed": None},
    ),
    (
        "pointer did not move",
        UNMOVED,
        dict.fromkeys(LOGS, InvalidInput)
        | {None: NotFound, "building": failed(FailReason.POINTER_UNMOVED), "failed": None},
    ),
    (
        "smoke check passed",
        SMOKE_PASSED,
        dict.fromkeys(LOGS, None) | {None: NotFound, "queued": IllegalTransition, "building": DEPLOYED},
    ),
    (
        "smoke check failed",
        SMOKE_BROKE,
        dict.fromkeys(LOGS, None) | {None: NotFound, "queued": IllegalTransition, "building": SMOKE_FAILED},
    ),
    (
        "smoke check passed, a later generation is canonical",
        SMOKE_LATE,
        dict.fromkeys(LOGS, None) | {None: NotFound, "queued": IllegalTransition, "building": SUPERSEDED},
    ),
    (
        "broken after it was deployed",
        BROKE_LATER,
        dict.fromkeys(LOGS, IllegalTransition)
        | {None: NotFound, "building": InvalidInput, "deployed": SMOKE_FAILED, "smoke_failed": None},
    ),
    (
        "recover after 45 minutes",
        RECOVER,
        dict.fromkeys(LOGS, None)
        | {
            None: failed(FailReason.NEVER_QUEUED, ABOUT),
            "queued": failed(FailReason.STUCK),
            "building": failed(FailReason.STUCK),
        },
    ),
    (
        "recover before",
        RECOVER_EARLY,
        dict.fromkeys(LOGS, None) | {None: NotStuck, "queued": NotStuck, "building": NotStuck},
    ),
    (
        "recover another commit",
        RecoverRelease(**by("system:timers", STUCK_AT), released=OTHER),
        dict.fromkeys(LOGS, InvalidInput) | {None: failed(FailReason.NEVER_QUEUED, OTHER)},
    ),
]

PRODUCT = [
    pytest.param(status, command, expected[status], id=f"{status}-{name}")
    for name, command, expected in EXPECTED
    for status in LOGS
]


@pytest.mark.parametrize(("status", "command", "expected"), PRODUCT)
def test_status_command(status: str | None, command: Command, expected: Outcome) -> None:
    """The whole product of Status × Command."""
    result = given(*LOGS[status]).when(command)
    if expected is None:
        result.then_nothing()
    elif isinstance(expected, type):
        result.then_raises(expected)
    else:
        state = result.then(expected)
        assert RELEASE_TABLE.allows(status, expected.type, state.status)


def test_the_product_takes_every_arrow_of_the_table() -> None:
    taken = {
        (status, expected[status].type)  # type: ignore[union-attr]
        for _, _, expected in EXPECTED
        for status in LOGS
        if isinstance(expected[status], Event)
    }
    assert taken == {(arrow.source, arrow.event) for arrow in RELEASE_TABLE.transitions}


def test_the_logs_reach_every_status() -> None:
    states = {status: RELEASE.fold(log) for status, log in LOGS.items()}
    assert {state.status.value for state in states.values() if state} == {status.value for status in ReleaseStatus}
    assert all(state is None or state.status == status for status, state in states.items())
    assert set(RELEASE_TABLE.statuses) == {status.value for status in ReleaseStatus}


def test_a_release_is_stuck_45_minutes_after_promotion() -> None:
    assert timedelta(minutes=45) == RELEASE_STUCK_AFTER


def test_it_is_named_after_project_and_generation() -> None:
    assert given(QUEUED).state.id == "rel_1_3"


def test_an_imported_generation_has_no_change() -> None:
    imported = ABOUT.model_copy(update={"change": None, "change_head": None})
    given().when(QueueRelease(**by(), released=imported)).then(ReleaseQueued(released=imported))


@pytest.mark.parametrize(
    "events",
    [
        (BUILDING,),
        (failed(FailReason.STUCK),),
        (QUEUED, QUEUED),
        (QUEUED, DEPLOYED),
        (QUEUED, SUPERSEDED, BUILDING),
        (QUEUED, BUILDING, DEPLOYED, DEPLOYED),
    ],
    ids=["no beginning", "failed, of what", "two beginnings", "deployed unbuilt", "after the end", "deployed twice"],
)
def test_an_impossible_history_is_never_guessed_over(events: tuple[Event, ...]) -> None:
    with pytest.raises(ImpossibleHistory):
        RELEASE.fold(events)


def test_an_unknown_event_is_never_skipped() -> None:
    with pytest.raises(UnknownEvent):
        RELEASE.fold((QUEUED, TurnRecorded(turn=1, tree=None, cost=None)))

"""A Release under any sequence of commands, illegal ones included."""

from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from domain.kernel.errors import DomainError
from domain.kernel.event import Command, Event
from domain.release.command import (
    BuildRelease,
    FailRelease,
    QueueRelease,
    RecordSmokeCheck,
    RecordSmokeFailure,
    RecoverRelease,
)
from domain.release.decide import RELEASE
from domain.release.event import FailReason, Released
from domain.release.state import ReleaseState
from domain.release.status import RELEASE_STUCK_AFTER, RELEASE_TABLE
from tests.domain.bookkeeping import COMMIT, NOW, OTHER_COMMIT, by

GENERATIONS = st.integers(0, 2)
COMMITS = st.sampled_from([COMMIT, OTHER_COMMIT])


def about(commit: str = COMMIT) -> Released:
    return Released(project="prj_1", generation=1, commit=commit, promoted_at=NOW, change=None, change_head=None)


class ReleaseMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.events: list[Event] = []
        self.state: ReleaseState | None = None

    def send(self, command: Command) -> None:
        """Decide; a refusal changes nothing, and the same command again yields nothing."""
        before = self.state
        try:
            events = RELEASE.decide(before, command)
        except DomainError:
            return
        self.state = RELEASE.fold(events, before)
        self.events.extend(events)
        assert len(events) <= 1
        if events:
            assert self.state is not None
            assert RELEASE_TABLE.allows(before.status if before else None, events[0].type, self.state.status)
        assert RELEASE.decide(self.state, command) == ()

    @rule(commit=COMMITS)
    def queue(self, commit: str) -> None:
        self.send(QueueRelease(**by(), released=about(commit)))

    @rule(generation=GENERATIONS, commit=COMMITS, live=st.none() | st.just("live"))
    def build(self, generation: int, commit: str, live: str | None) -> None:
        before = len(self.events)
        self.send(BuildRelease(**by(), canonical_generation=generation, canonical_commit=commit, target=live))
        if len(self.events) > before and self.events[-1].type == "release.building":
            assert self.state is not None
            assert (generation, commit) == (self.state.released.generation, self.state.released.commit)
            assert live is not None

    @rule(unmoved=st.booleans())
    def fail(self, unmoved: bool) -> None:
        self.send(FailRelease(**by(), reason=FailReason.POINTER_UNMOVED if unmoved else FailReason.NO_BUNDLE))

    @rule(passed=st.booleans(), generation=GENERATIONS)
    def record_smoke_check(self, passed: bool, generation: int) -> None:
        self.send(
            RecordSmokeCheck(**by(), passed=passed, canonical_generation=generation, bundle="f" * 64, output=None)
        )

    @rule()
    def record_smoke_failure(self) -> None:
        self.send(RecordSmokeFailure(**by(), output=None))

    @rule(minutes=st.integers(0, 90), commit=COMMITS)
    def recover(self, minutes: int, commit: str) -> None:
        before = len(self.events)
        self.send(RecoverRelease(**by(at=NOW + timedelta(minutes=minutes)), released=about(commit)))
        assert len(self.events) == before or timedelta(minutes=minutes) >= RELEASE_STUCK_AFTER

    @invariant()
    def nothing_follows_a_terminal_status(self) -> None:
        for end in range(len(self.events)):
            state = RELEASE.fold(self.events[:end])
            assert state is None or state.status not in RELEASE_TABLE.terminal

    @invariant()
    def the_log_gives_the_same_state(self) -> None:
        assert RELEASE.fold(self.events) == self.state


TestReleaseMachine = ReleaseMachine.TestCase
TestReleaseMachine.settings = settings(max_examples=80, stateful_step_count=20, deadline=None)

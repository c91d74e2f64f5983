"""The Project under any sequence of commands, illegal ones included, against a plain model."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from domain.kernel.errors import DomainError
from domain.kernel.event import Command, Event, Head
from domain.policy import DEFAULT_POLICY
from domain.project.command import AddMember, AdvanceCanonical, CreateProject, ImportCommit, RecordRefMove, RemoveMember
from domain.project.decide import PROJECT
from domain.project.event import CanonicalAdvanced, CanonicalImported, ImportRelation
from domain.project.role import Role
from domain.project.state import ProjectState
from tests.domain.bookkeeping import OWNER, by

USERS = st.sampled_from([OWNER, "usr_a", "usr_b", "usr_stranger"])
COMMITS = st.sampled_from([character * 40 for character in "abc"])
GENERATIONS = st.integers(0, 6)
NUMBERS = st.integers(1, 6)
BASES = st.none() | st.tuples(GENERATIONS, COMMITS)
"""A base that is mostly stale; None for canonical as it is."""


class ProjectMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.events: list[Event] = []
        self.state: ProjectState | None = None
        self.canonical: list[str] = []
        self.promoted: dict[str, int] = {}

    def send(self, command: Command) -> tuple[Event, ...]:
        """Decide; a refusal changes nothing, and the same command again yields nothing."""
        try:
            events = PROJECT.decide(self.state, command)
        except DomainError:
            return ()
        self.state = PROJECT.fold(events, self.state)
        self.events.extend(events)
        assert PROJECT.decide(self.state, command) == ()
        return events

    @initialize(commit=COMMITS)
    def create(self, commit: str) -> None:
        self.send(CreateProject(**by(), project="prj_1", repository="/r", branch="main", commit=commit, owner=OWNER))
        self.canonical.append(commit)

    @rule(actor=USERS, user=USERS, role=st.sampled_from(Role))
    def add_member(self, actor: str, user: str, role: Role) -> None:
        self.send(AddMember(**by(actor), user=user, role=role))

    @rule(actor=USERS, user=USERS)
    def remove_member(self, actor: str, user: str) -> None:
        self.send(RemoveMember(**by(actor), user=user))

    @rule(number=NUMBERS, base=BASES, commit=COMMITS, approver=st.none() | USERS)
    def advance(self, number: int, base: tuple[int, str] | None, commit: str, approver: str | None) -> None:
        assert self.state is not None
        generation, base_commit = base or (self.state.generation, self.state.commit)
        on_canonical = (generation, base_commit) == (len(self.canonical) - 1, self.canonical[-1])
        events = self.send(
            AdvanceCanonical(
                **by("system:promotion"),
                candidate=f"cand_{number}",
                change=f"chg_{number}",
                base_generation=generation,
                base_commit=base_commit,
                commit=commit,
                change_head=Head(version=1, hash="0" * 64),
                approver=approver,
            )
        )
        if events:
            assert on_canonical, "a stale base was promoted"
            assert f"cand_{number}" not in self.promoted, "a candidate was promoted twice"
            assert approver is None or self.state.members[approver].manages
            self.promoted[f"cand_{number}"] = len(self.canonical)
            self.canonical.append(commit)

    @rule(actor=USERS, generation=GENERATIONS, commit=COMMITS, relation=st.sampled_from(ImportRelation), number=NUMBERS)
    def import_commit(self, actor: str, generation: int, commit: str, relation: ImportRelation, number: int) -> None:
        lacks = (f"chg_{number}",) if relation is ImportRelation.DIVERGED else ()
        command = ImportCommit(
            **by(actor), expected_generation=generation, commit=commit, relation=relation, lacks=lacks
        )
        if self.send(command):
            self.canonical.append(commit)

    @rule(generation=GENERATIONS, commit=COMMITS, was=st.none() | COMMITS)
    def record_ref_move(self, generation: int, commit: str, was: str | None) -> None:
        events = self.send(RecordRefMove(**by("system:ref"), generation=generation, commit=commit, was=was, lost=None))
        assert not events or self.canonical[generation] == commit

    @invariant()
    def no_generation_is_missing_or_promoted_twice(self) -> None:
        if self.state is None:
            return
        assert [step.generation for step in self.state.history] == list(range(len(self.canonical)))
        assert [step.commit for step in self.state.history] == self.canonical
        later = [e.generation for e in self.events if isinstance(e, CanonicalAdvanced | CanonicalImported)]
        assert later == list(range(1, len(self.canonical)))

    @invariant()
    def it_always_has_an_owner(self) -> None:
        assert self.state is None or Role.OWNER in self.state.members.values()

    @invariant()
    def the_log_gives_the_same_state(self) -> None:
        assert PROJECT.fold(self.events) == self.state
        assert self.state is None or self.state.policy == DEFAULT_POLICY


TestProjectMachine = ProjectMachine.TestCase
TestProjectMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)

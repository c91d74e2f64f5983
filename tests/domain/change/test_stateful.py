"""Random commands, illegal ones too: whatever is asked of a Change, its invariants hold."""

from collections import Counter
from typing import Any, ClassVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from domain.change.decide import CHANGE, COMMANDS
from domain.change.event import BlockCause, TaskConflict
from domain.change.state import ChangeState
from domain.change.status import (
    CANDIDATE_TABLE,
    CHANGE_TABLE,
    LIVE_CANDIDATE,
    MAX_ACTIVE_AGENTS,
    MAX_LIVE_CANDIDATES,
    OPEN_TASK,
    TASK_TABLE,
    TERMINAL_CHANGE,
    CandidateStatus,
    ChangeStatus,
    TaskStatus,
)
from domain.change.waiting import waits_for
from domain.check import Variant
from domain.kernel.errors import DomainError
from domain.kernel.event import Command, Event
from domain.plan import PlannedTask, RiskTier, TaskKind, find_cycle
from domain.policy import DEFAULT_POLICY, Policy
from domain.project.role import Role
from tests.domain.change import make as m

MAX_TASKS = 10
PLACES = st.integers(0, MAX_TASKS - 1)
ROLES = st.sampled_from([None, Role.MEMBER, Role.ADMIN, Role.OWNER])
STRICT = Policy(name="strict", auto_promote_risk_tiers=(), human_gate_risk_tiers=tuple(RiskTier))
POLICIES = st.sampled_from([DEFAULT_POLICY, DEFAULT_POLICY, STRICT])


PHASES = (
    "created",
    "compiling",
    "running",
    "started",
    "failing",
    "verifying",
    "candidate",
    "overlapping",
    "stopped",
    "overtaken",
    "conflicts",
    "selected",
    "releasing",
)
"""Where a run begins, so that few steps get far."""


has_tasks = precondition(lambda self: bool(self.state.tasks))
has_active = precondition(lambda self: self.state.active > 0)
has_candidates = precondition(lambda self: bool(self.state.candidates))
has_verified = precondition(
    lambda self: any(c.status is CandidateStatus.VERIFIED for c in self.state.candidates.values())
)
not_often = precondition(lambda self: len(self.log) % 3 == 0)


def in_status(*statuses: ChangeStatus) -> Any:
    return precondition(lambda self: self.state.status in statuses)


def moves(table: Any) -> set[tuple[str, str]]:
    return {(arrow.source or "*", arrow.target) for arrow in table.transitions}


CHANGE_MOVES, TASK_MOVES, CANDIDATE_MOVES = moves(CHANGE_TABLE), moves(TASK_TABLE), moves(CANDIDATE_TABLE)


class ChangeMachine(RuleBasedStateMachine):
    """The model is plain: the log, what was seen on the way, and what must be true of every state."""

    phase: ClassVar[str] = "created"
    seen: ClassVar[set[tuple[str, str | None, str]]] = set()
    """Every arrow taken, over all runs: a machine that never gets anywhere proves nothing."""
    refusals: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.log: list[Event] = []
        self.state: ChangeState | None = None
        self.runs: set[str] = set()
        self.generation = 1

    # -- driving -------------------------------------------------------------------------------------------------

    def ask(self, command: Command) -> bool:
        """Decide and fold; True if it was not refused. A second time it changes nothing."""
        try:
            events = CHANGE.decide(self.state, command)
        except DomainError as refusal:
            self.refusals[type(refusal).__name__] += 1
            return False
        for event in events:
            before, self.state = self.state, CHANGE.evolve(self.state, event)
            self.log.append(event)
            self.check_step(before, self.state, event)
        assert CHANGE.decide(self.state, command) == (), f"{command} twice after {events}"
        return True

    def check_step(self, before: ChangeState | None, after: ChangeState, event: Event) -> None:
        source = before.status if before else "*"
        self.seen.add((event.type, before.status if before else None, after.status))
        assert source == after.status or (source, after.status) in CHANGE_MOVES, event
        assert before is None or before.status not in TERMINAL_CHANGE or before.status == after.status
        for key, task in after.tasks.items():
            was = before.tasks[key].status if before and key in before.tasks else "*"
            assert was == task.status or (was, task.status) in TASK_MOVES, event
            if key == getattr(event, "task", None):
                self.seen.add((event.type, None if was == "*" else was, task.status))
        for key, candidate in after.candidates.items():
            was = before.candidates[key].status if before and key in before.candidates else "*"
            assert was == candidate.status or (was, candidate.status) in CANDIDATE_MOVES, event
            if key == getattr(event, "candidate", None):
                self.seen.add((event.type, None if was == "*" else was, candidate.status))
        run = {"task.assigned": "run", "task.retried": "run", "task.requeued": "run"}.get(event.type)
        if run:
            assert getattr(event, run) not in self.runs, "an attempt number is used twice"
            self.runs.add(getattr(event, run))
        if before:
            assert after.spent >= before.spent
            assert after.budget >= before.budget
            assert before.tier is None or (after.tier is not None and after.tier.rank >= before.tier.rank)

    # -- the request ---------------------------------------------------------------------------------------------

    @initialize(data=st.data())
    def create(self, data: st.DataObject) -> None:
        phase = self.phase
        reached = PHASES.index(phase)
        budget = data.draw(st.sampled_from([2, 5, 40]))
        assert self.ask(m.create(budget=budget, allow_red_base=data.draw(st.booleans())))
        if reached >= PHASES.index("compiling"):
            self.ask(m.start_compiling())
        if reached >= PHASES.index("running"):
            self.ask(m.base_checks())
            self.compile(data)
        if phase in ("started", "failing"):
            self.start_all(1)
        if phase == "failing":
            self.fail_one(data.draw(st.booleans()))
        if reached >= PHASES.index("verifying"):
            self.work_on()
        if reached >= PHASES.index("candidate"):
            self.ask(m.candidate(self.generation))
        if phase == "overlapping":
            self.ask(m.composed(self.newest()))
            self.ask(m.rerun("integrate", ("t1", ())))
            self.ask(m.judged(self.newest()))
        if phase == "stopped":
            self.ask(m.composed(self.newest()))
            self.ask(m.rerun("integrate", ("t1", ())))
            self.ask(m.judged(self.newest()))
            self.start_all(1)
            self.stop_all()
        if phase == "overtaken":
            for generation in range(2, 9):
                self.generation = generation
                self.ask(m.stale(generation))
                self.ask(m.candidate(generation))
        if phase == "conflicts":
            self.run_into_conflicts(data.draw(st.integers(1, 5)))
        if reached >= PHASES.index("selected"):
            self.ask(m.composed(self.newest()))
            self.ask(m.judged(self.newest()))
        if phase == "releasing":
            self.ask(m.approve(self.newest()))
            self.ask(m.promote(self.newest(), "person", Role.OWNER))
            self.ask(m.promoted(self.newest(), release="rel_1"))

    def fail_one(self, conflict: bool) -> None:
        """The last Task at work fails, perhaps because its first dependency didn't merge."""
        assert self.state
        self.work()
        self.start_all(1)
        task = next((t for t in reversed(self.state.tasks.values()) if t.run), None)
        if task and task.run:
            conflicts = tuple(TaskConflict(task=d, files=("a",)) for d in task.depends_on[:1] if conflict)
            self.ask(m.finish(task.key, task.run, m.broke(False, *conflicts)))

    def stop_all(self) -> None:
        assert self.state
        for task in self.state.tasks.values():
            if task.run:
                self.ask(m.finish(task.key, task.run, m.stopped()))

    def work_on(self) -> None:
        while self.state and self.state.status is ChangeStatus.RUNNING:
            self.work()

    def run_into_conflicts(self, times: int) -> None:
        for generation in range(1, times + 1):
            self.generation = generation
            self.ask(m.candidate(generation))
            self.ask(m.not_composed(self.newest(), "file_conflict", "t1"))
            if generation < times:
                self.ask(m.settle())
                self.work_on()

    @not_often
    @rule(budget=st.sampled_from([2, 5]))
    def create_again(self, budget: int) -> None:
        self.ask(m.create(budget=budget))

    @precondition(lambda self: not self.state.tasks)
    @rule()
    def start_compiling(self) -> None:
        self.ask(m.start_compiling())

    @precondition(lambda self: not self.state.tasks)
    @rule(code=st.sampled_from([0, 0, 0, 0, 0, 1]))
    def base_checks(self, code: int) -> None:
        self.ask(m.base_checks(m.evidence(code=code)))

    @precondition(lambda self: not self.state.tasks)
    @rule(data=st.data())
    def compile(self, data: st.DataObject) -> None:
        count = data.draw(st.sampled_from([1, 2, 3, 4, MAX_TASKS, MAX_TASKS]))
        tasks: list[PlannedTask] = []
        for index in range(count):
            needs = [t.key for t in tasks[:3] if data.draw(st.integers(0, 3)) == 3]
            kind = data.draw(st.sampled_from(list(TaskKind))) if index else TaskKind.IMPLEMENT
            tasks.append(m.planned(f"t{index + 1}", *needs, kind=kind))
        tier = data.draw(st.sampled_from([RiskTier.LOW, RiskTier.LOW, None, RiskTier.HIGH]))
        destructive = data.draw(st.integers(0, 9)) == 9
        self.ask(m.compile_(m.plan(*tasks, risk_tier=tier, destructive_migration=destructive)))

    @not_often
    @rule(phase=st.sampled_from(["planning", "setup"]))
    def fail_compiling(self, phase: Any) -> None:
        self.ask(m.c.FailCompiling(**m.meta(), phase=phase, reason="no plan"))

    @precondition(lambda self: not self.state.tasks)
    @rule()
    def block_on_budget(self) -> None:
        self.ask(m.c.BlockOnBudget(**m.meta(), reason="the month's budget is spent"))

    @rule(more=st.integers(-1, 20), role=ROLES, actor=st.sampled_from([m.REQUESTER, m.STRANGER]))
    def raise_budget(self, more: int, role: Role | None, actor: str) -> None:
        assert self.state
        self.ask(m.raise_budget(max(0, self.state.budget + more), actor, role))

    @in_status(ChangeStatus.BLOCKED, ChangeStatus.BUDGET_BLOCKED)
    @rule()
    def give_it_more(self) -> None:
        assert self.state
        self.ask(m.raise_budget(self.state.budget + 20))

    @not_often
    @rule(role=ROLES, actor=st.sampled_from([m.REQUESTER, m.STRANGER, m.STRANGER]))
    def cancel(self, role: Role | None, actor: str) -> None:
        self.ask(m.cancel(actor, role))

    @rule(policy=POLICIES)
    def settle(self, policy: Policy) -> None:
        self.ask(m.settle(policy))

    # -- tasks ---------------------------------------------------------------------------------------------------

    def key(self, place: int) -> str:
        assert self.state
        keys = [task.key for task in self.state.tasks.values()]
        return keys[place % len(keys)]

    def active_key(self, place: int) -> str:
        assert self.state
        keys = [task.key for task in self.state.tasks.values() if task.is_active]
        return keys[place % len(keys)]

    def run(self, key: str, attempt: int = 0) -> str:
        """The run at work; or, with an attempt, one that may be long gone or never was."""
        task = self.state.tasks.get(m.task(key)) if self.state else None
        return task.run if task and task.run and not attempt else f"run_{m.UUID}_{key}_{attempt}"

    @has_tasks
    @rule()
    def dispatch(self) -> None:
        self.ask(m.dispatch())

    @has_tasks
    @rule(place=PLACES)
    def assign(self, place: int) -> None:
        self.ask(m.assign(self.key(place)))

    @has_tasks
    @rule()
    def assign_all(self) -> None:
        assert self.state
        self.ask(m.dispatch())
        for task in self.state.tasks.values():
            if task.status is TaskStatus.READY:
                self.ask(m.assign(task.key))

    @has_tasks
    @rule(place=PLACES, attempt=st.sampled_from([0, 0, 0, 1]), money=st.sampled_from([None, 0, 1, 3]))
    def start(self, place: int, attempt: int, money: int | None) -> None:
        key = self.key(place)
        self.ask(m.start(key, self.run(key, attempt), money, self.generation))

    @has_tasks
    @rule(money=st.sampled_from([None, 0, 1, 3]))
    def start_all(self, money: int | None) -> None:
        assert self.state
        self.assign_all()
        for task in self.state.tasks.values():
            if task.status is TaskStatus.ASSIGNED:
                self.ask(m.start(task.key, self.run(task.key), money, self.generation))

    @has_active
    @rule(
        place=PLACES,
        attempt=st.sampled_from([0, 0, 0, 0, 1]),
        outcome=st.sampled_from(["made", "empty", "unchanged", "retry", "failed", "money", "limit"]),
        cost=st.sampled_from([None, 0, 1, 4]),
        reserve=st.sampled_from([None, 0, 2]),
        conflict=st.one_of(st.none(), PLACES),
    )
    def finish(
        self, place: int, attempt: int, outcome: str, cost: int | None, reserve: int | None, conflict: int | None
    ) -> None:
        key = self.active_key(place)
        run = self.run(key, attempt)
        conflicts = () if conflict is None else (TaskConflict(task=m.task(self.key(conflict)), files=("a",)),)
        results: dict[str, m.c.RunResult] = {
            "made": m.made(key, run),
            "empty": m.c.Made(base_commit="base1", commit="base1", tree="t", empty=True),
            "unchanged": m.unchanged(),
            "retry": m.broke(True),
            "failed": m.broke(False, *conflicts),
            "money": m.stopped(),
            "limit": m.stopped(BlockCause.LIMIT),
        }
        self.ask(m.finish(key, run, results[outcome], cost, reserve))

    @has_tasks
    @rule()
    def work(self) -> None:
        """Everything that can run does and succeeds."""
        assert self.state
        self.start_all(None)
        for task in self.state.tasks.values():
            if task.run:
                result = m.made(task.key, task.run) if task.writes else m.c.Made(report=m.blob("report"))
                self.ask(m.finish(task.key, task.run, result, 0))

    @has_active
    @rule(place=PLACES, attempt=st.sampled_from([0, 0, 1]))
    def requeue(self, place: int, attempt: int) -> None:
        key = self.active_key(place)
        self.ask(m.requeue(key, self.run(key, attempt)))

    @has_tasks
    @rule(place=PLACES)
    def drop(self, place: int) -> None:
        self.ask(m.drop(self.key(place)))

    @has_tasks
    @not_often
    @rule(place=PLACES)
    def dead_letter(self, place: int) -> None:
        self.ask(m.dead_letter(self.key(place)))

    @has_tasks
    @rule(place=PLACES, role=ROLES)
    def retry(self, place: int, role: Role | None) -> None:
        self.ask(m.retry(self.key(place), role))

    @has_tasks
    @rule(
        place=PLACES,
        others=st.lists(PLACES, max_size=3),
        trigger=st.sampled_from(["file_conflict", "dependency_merge_conflict", "rebase", "integrate"]),
    )
    def rerun(self, place: int, others: list[int], trigger: str) -> None:
        self.ask(m.rerun(trigger, (self.key(place), tuple(self.key(other) for other in others))))

    # -- candidates ----------------------------------------------------------------------------------------------

    def newest(self, back: int = 0) -> str:
        known = list(self.state.candidates) if self.state else []
        return known[-1 - back] if len(known) > back else "cand_unknown"

    @has_tasks
    @rule(back=st.sampled_from([0, 0, 0, 1]))
    def create_candidate(self, back: int) -> None:
        self.ask(m.candidate(max(1, self.generation - back)))

    @has_candidates
    @rule(
        back=st.sampled_from([0, 0, 1]),
        lines=st.sampled_from([(m.line(),), (m.line(), m.line("tests", "conftest.py")), (m.line("lint"),)]),
        tier=st.sampled_from([None, None, RiskTier.MEDIUM, RiskTier.HIGH]),
    )
    def compose(self, back: int, lines: Any, tier: RiskTier | None) -> None:
        raises = () if tier is None else (m.c.TierRaise(tier=tier, reason="lock files", files=("a.lock",)),)
        self.ask(m.composed(self.newest(back), *lines, raises=raises))

    @has_candidates
    @rule(
        back=st.sampled_from([0, 0, 1]),
        reason=st.sampled_from(["file_conflict", "file_conflict", "incompatible", "sandbox_budget"]),
        place=PLACES,
    )
    def not_composed(self, back: int, reason: str, place: int) -> None:
        self.ask(m.not_composed(self.newest(back), reason, self.key(place)))

    @has_candidates
    @rule(
        back=st.sampled_from([0, 0, 1]),
        code=st.sampled_from([0, 0, 0, 1, None]),
        variant=st.sampled_from([Variant.AS_IS, Variant.AS_IS, Variant.BASE_JUDGES]),
        check=st.sampled_from(["tests", "tests", "lint"]),
        policy=POLICIES,
    )
    def judge(self, back: int, code: int | None, variant: Variant, check: str, policy: Policy) -> None:
        self.ask(m.judged(self.newest(back), m.evidence(check, code, variant), policy))

    @has_tasks
    @rule()
    def canonical_moves(self) -> None:
        self.generation += 1
        self.ask(m.stale(self.generation))

    @has_candidates
    @rule(back=st.sampled_from([0, 0, 1]), role=ROLES)
    def approve(self, back: int, role: Role | None) -> None:
        self.ask(m.approve(self.newest(back), role))

    @has_candidates
    @not_often
    @rule(back=st.sampled_from([0, 0, 1]), role=ROLES)
    def reject(self, back: int, role: Role | None) -> None:
        self.ask(m.reject(self.newest(back), role))

    @has_candidates
    @rule(back=st.sampled_from([0, 0, 1]), trigger=st.sampled_from(["auto", "person"]), role=ROLES, policy=POLICIES)
    def promote(self, back: int, trigger: str, role: Role | None, policy: Policy) -> None:
        self.ask(m.promote(self.newest(back), trigger, role, policy))

    @has_verified
    @rule(strict=st.booleans())
    def ship(self, strict: bool) -> None:
        """As an owner does it: approve where that is required, then promote."""
        assert self.state
        for candidate in self.state.candidates.values():
            if candidate.status is CandidateStatus.VERIFIED:
                self.ask(m.approve(candidate.id))
                self.ask(m.promote(candidate.id, "person", Role.OWNER, STRICT if strict else DEFAULT_POLICY))

    @in_status(ChangeStatus.PROMOTING)
    @rule(stale=st.booleans())
    def lose_the_swap(self, stale: bool) -> None:
        assert self.state
        assert self.state.promoting
        self.ask(m.refused(self.state.promoting, self.generation + 1 if stale else None))

    @in_status(ChangeStatus.PROMOTING)
    @rule(release=st.sampled_from([None, "rel_1"]))
    def win_the_swap(self, release: str | None) -> None:
        assert self.state
        assert self.state.promoting
        self.ask(m.promoted(self.state.promoting, self.generation + 1, release))

    @has_candidates
    @not_often
    @rule(back=st.sampled_from([0, 0, 1]), release=st.sampled_from([None, "rel_1"]))
    def promoted(self, back: int, release: str | None) -> None:
        self.ask(m.promoted(self.newest(back), self.generation + 1, release))

    @has_candidates
    @rule(back=st.sampled_from([0, 0, 1]), stale=st.booleans())
    def refused(self, back: int, stale: bool) -> None:
        self.ask(m.refused(self.newest(back), self.generation if stale else None))

    @has_candidates
    @rule(back=st.sampled_from([0, 1]), refusal=st.sampled_from([None, "the branch exists"]))
    def exported(self, back: int, refusal: str | None) -> None:
        self.ask(m.exported(self.newest(back), refusal))

    @rule(outcome=st.sampled_from(["deployed", "superseded", "failed"]))
    def end_release(self, outcome: str) -> None:
        self.ask(m.end_release(outcome))

    # -- what is always true -------------------------------------------------------------------------------------

    @invariant()
    def never_more_than_eight_active_agents(self) -> None:
        assert self.state is None or self.state.active <= MAX_ACTIVE_AGENTS

    @invariant()
    def never_two_promoted_candidates(self) -> None:
        if self.state:
            promoted = [c for c in self.state.candidates.values() if c.status is CandidateStatus.PROMOTED]
            assert len(promoted) <= 1
            assert sum(c.is_live for c in self.state.candidates.values()) <= MAX_LIVE_CANDIDATES

    @invariant()
    def an_end_is_clean(self) -> None:
        if self.state and self.state.status in (*TERMINAL_CHANGE, ChangeStatus.RELEASING):
            assert not any(t.status in OPEN_TASK for t in self.state.tasks.values())
            left = (*LIVE_CANDIDATE, CandidateStatus.STALE)
            assert not any(c.status in left for c in self.state.candidates.values())
            assert self.state.reserved == 0

    @invariant()
    def the_work_graph_has_no_cycle(self) -> None:
        if self.state:
            assert find_cycle({t.id: t.depends_on for t in self.state.tasks.values()}) == []

    @invariant()
    def agents_work_only_where_they_may(self) -> None:
        if self.state and self.state.active:
            assert self.state.status in (ChangeStatus.RUNNING, ChangeStatus.PROMOTING)

    @invariant()
    def verification_holds_completed_work_only(self) -> None:
        if self.state and self.state.status in (ChangeStatus.VERIFYING, ChangeStatus.AWAITING_APPROVAL):
            assert all(t.status is TaskStatus.COMPLETED for t in self.state.tasks.values())

    @invariant()
    def it_always_waits_for_something(self) -> None:
        if self.state:
            assert waits_for(self.state).endswith((".", "…")) or self.state.reason

    def teardown(self) -> None:
        assert CHANGE.fold(self.log) == self.state, "replaying the log gives another state"


PROFILE = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def test_whatever_is_asked_the_invariants_hold() -> None:
    for phase in PHASES:
        machine = type(f"From{phase.title()}", (ChangeMachine,), {"phase": phase})
        run_state_machine_as_test(machine, settings=PROFILE)
    arrows = {
        (arrow.event, arrow.source, arrow.target)
        for table in (CHANGE_TABLE, TASK_TABLE, CANDIDATE_TABLE)
        for arrow in table.transitions
    }
    # Chance may leave out a few; the examples in this folder take every arrow. TaskEscalated has no command yet.
    unseen = sorted(str(arrow) for arrow in arrows - ChangeMachine.seen)
    assert len(unseen) <= 6, unseen


def test_the_machine_knows_every_command() -> None:
    """COMMANDS is what `decide` dispatches on; a command class that it lacks would never be decided."""
    declared = {k for k in vars(m.c).values() if isinstance(k, type) and issubclass(k, Command) and k is not Command}
    assert set(COMMANDS) == declared

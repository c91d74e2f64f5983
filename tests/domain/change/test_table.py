"""Every status against every command: what it leads to, or the refusal by its name. The tables are written out, so
that a changed rule shows as a changed line."""

from collections.abc import Callable
from typing import Any

import pytest

from domain.change.decide import CHANGE, COMMANDS
from domain.change.state import ChangeState
from domain.change.status import CANDIDATE_TABLE, CHANGE_TABLE, TASK_TABLE, CandidateStatus, ChangeStatus, TaskStatus
from domain.kernel.errors import DomainError
from domain.kernel.event import Command
from domain.project.role import Role
from tests.domain.change import make as m

TWO = (m.planned("t1"), m.planned("t2", "t1"))
WIDE = (m.planned("t1"), m.planned("t2"))


def outcome(state: ChangeState, command: Command) -> str:
    """The types of the events, `-` for none, or the name of the refusal."""
    try:
        events = CHANGE.decide(state, command)
    except DomainError as refusal:
        return type(refusal).__name__
    return " ".join(dict.fromkeys(event.type for event in events)) or "-"


def busy() -> m.Story:
    return m.running(*TWO, budget=10).begin("t1", reservation=1)


def budget_blocked() -> m.Story:
    story = busy()
    return story.do(m.finish("t1", story.run_of("t1"), m.stopped(), cost=10))


def blocked() -> m.Story:
    story = m.verifying(budget=10)
    for generation in range(1, 9):
        story.do(m.stale(generation), m.candidate(generation))
    return story


def awaiting() -> m.Story:
    return m.selected(budget=10, risk_tier="high")


def releasing() -> m.Story:
    story = m.promoting(budget=10)
    return story.do(m.promoted(story.newest, release="rel_1"))


def completed() -> m.Story:
    story = m.promoting(budget=10)
    return story.do(m.promoted(story.newest))


def failed() -> m.Story:
    story = m.with_candidate(budget=10)
    return story.do(m.not_composed(story.newest, "incompatible"), m.settle())


CHANGES: dict[ChangeStatus, Callable[[], m.Story]] = {
    ChangeStatus.CREATED: lambda: m.created(budget=10),
    ChangeStatus.COMPILING: lambda: m.compiling(budget=10).do(m.base_checks()),
    ChangeStatus.RUNNING: busy,
    ChangeStatus.BUDGET_BLOCKED: budget_blocked,
    ChangeStatus.VERIFYING: lambda: m.with_candidate(budget=10),
    ChangeStatus.BLOCKED: blocked,
    ChangeStatus.AWAITING_APPROVAL: awaiting,
    ChangeStatus.PROMOTING: lambda: m.promoting(budget=10),
    ChangeStatus.RELEASING: releasing,
    ChangeStatus.COMPLETED: completed,
    ChangeStatus.FAILED: failed,
    ChangeStatus.CANCELLED: lambda: m.running(*TWO, budget=10).do(m.cancel()),
}


def commands_of(state: ChangeState) -> dict[str, Command]:
    """One instance of every command, about what the Change has: its first Task, its newest Candidate."""
    newest = next(reversed(state.candidates), "cand_none")
    first = next(iter(state.tasks.values()), None)
    run = (first.run or first.last_ended or "run_none") if first else "run_none"
    known: tuple[Command, ...] = (
        m.create(budget=10),
        m.start_compiling(),
        m.base_checks(),
        m.compile_(),
        m.c.FailCompiling(**m.meta(), phase="planning", reason="no plan"),
        m.c.BlockOnBudget(**m.meta(), reason="spent"),
        m.raise_budget(20),
        m.cancel(),
        m.settle(),
        m.dispatch(),
        m.assign("t1"),
        m.drop("t1"),
        m.start("t1", run, 1),
        m.dead_letter("t1"),
        m.retry("t1"),
        m.requeue("t1", run),
        m.finish("t1", run, m.made("t1", run)),
        m.rerun("rebase", ("t1", ())),
        m.candidate(20),
        m.composed(newest),
        m.not_composed(newest, "incompatible"),
        m.judged(newest),
        m.stale(20),
        m.approve(newest),
        m.reject(newest),
        m.promote(newest, "person", Role.OWNER),
        m.promoted(newest),
        m.refused(newest),
        m.exported(newest),
        m.end_release("deployed"),
    )
    return {type(command).__name__: command for command in known}


def read(table: str) -> dict[tuple[str, str], str]:
    """`Command | status status: outcome` lines, as (status, command) → outcome; each pair once."""
    found: dict[tuple[str, str], str] = {}
    command = ""
    for text in table.strip().splitlines():
        if not text.startswith("    "):
            command = text.strip()
            continue
        statuses, _, expected = text.strip().partition(": ")
        for status in statuses.split():
            assert (status, command) not in found, f"{status} × {command} twice"
            found[status, command] = expected
    return found


CHANGE_OUTCOMES = read("""
CreateChange
    created compiling running verifying blocked budget_blocked: -
    awaiting_approval promoting releasing completed failed cancelled: -
StartCompiling
    created: change.compile_started
    compiling running verifying blocked budget_blocked awaiting_approval: -
    promoting releasing completed failed cancelled: -
RecordBaseChecks
    created: WrongStatus
    compiling running verifying blocked budget_blocked awaiting_approval: -
    promoting releasing completed failed cancelled: -
CompileChange
    created: WrongStatus
    compiling: change.compiled task.created
    running verifying blocked budget_blocked awaiting_approval promoting: -
    releasing completed failed cancelled: -
FailCompiling
    created running verifying blocked budget_blocked awaiting_approval promoting releasing: WrongStatus
    compiling: change.failed
    completed failed cancelled: ChangeEnded
BlockOnBudget
    created running verifying blocked budget_blocked awaiting_approval promoting releasing: WrongStatus
    compiling: change.budget_blocked
    completed failed cancelled: ChangeEnded
RaiseBudget
    created compiling running verifying blocked awaiting_approval promoting releasing: budget.raised
    budget_blocked: budget.raised task.unblocked
    completed failed cancelled: ChangeEnded
CancelChange
    created compiling: change.cancelled
    running budget_blocked: task.cancelled change.cancelled
    verifying blocked awaiting_approval: candidate.rejected change.cancelled
    promoting releasing completed: NotCancellable
    failed: ChangeEnded
    cancelled: -
SettleChange
    created compiling running verifying blocked budget_blocked: -
    awaiting_approval promoting releasing completed failed cancelled: -
DispatchTasks
    created compiling running verifying blocked budget_blocked: -
    awaiting_approval promoting releasing completed failed cancelled: -
AssignTask
    created compiling: NotFound
    running verifying blocked budget_blocked awaiting_approval promoting releasing: -
    completed failed cancelled: ChangeEnded
DropWake
    created compiling: NotFound
    running verifying blocked budget_blocked awaiting_approval promoting: -
    releasing completed failed cancelled: -
StartTask
    created compiling: NotFound
    running verifying blocked budget_blocked awaiting_approval promoting releasing completed failed: -
    cancelled: StaleAttempt
DeadLetterTask
    created compiling: NotFound
    running verifying blocked budget_blocked awaiting_approval promoting: -
    releasing completed failed cancelled: -
RetryDeadLetter
    created compiling: NotFound
    running: -
    verifying blocked budget_blocked awaiting_approval promoting releasing: NotADeadLetter
    completed failed cancelled: ChangeEnded
RequeueRun
    created compiling: NotFound
    running: task.requeued
    verifying blocked budget_blocked awaiting_approval promoting releasing completed failed cancelled: -
FinishTask
    created compiling: NotFound
    running: changeset.proposed task.completed
    verifying blocked budget_blocked awaiting_approval promoting releasing completed failed: -
    cancelled: StaleAttempt
RerunTasks
    created compiling: NotFound
    running budget_blocked: -
    verifying: tasks.rerun task.reopened
    blocked awaiting_approval promoting releasing: WrongStatus
    completed failed cancelled: ChangeEnded
CreateCandidate
    created compiling running budget_blocked awaiting_approval promoting releasing: WrongStatus
    verifying: candidate.created
    blocked: -
    completed failed cancelled: ChangeEnded
RecordComposition
    created compiling running budget_blocked cancelled: NotFound
    verifying: candidate.composed
    blocked awaiting_approval promoting releasing completed failed: -
RejectComposition
    created compiling running budget_blocked cancelled: NotFound
    verifying: candidate.rejected
    blocked awaiting_approval promoting releasing completed failed: -
RecordEvidence
    created compiling running budget_blocked cancelled: NotFound
    verifying: NotComposed
    blocked awaiting_approval promoting releasing completed failed: -
MarkStale
    created compiling running blocked budget_blocked promoting releasing completed failed cancelled: -
    verifying: candidate.stale
    awaiting_approval: candidate.stale approval.lapsed
ApproveCandidate
    created compiling running budget_blocked cancelled: NotFound
    verifying blocked releasing: CandidateGone
    awaiting_approval: approval.granted
    promoting: NothingToApprove
    completed failed: ChangeEnded
RejectCandidate
    created compiling running budget_blocked cancelled: NotFound
    verifying: CandidateGone
    blocked promoting releasing: WrongStatus
    awaiting_approval: candidate.rejected approval.lapsed change.failed
    completed failed: ChangeEnded
RequestPromotion
    created compiling running budget_blocked cancelled: NotFound
    verifying: CandidateGone
    blocked: WrongStatus
    awaiting_approval: ApprovalMissing
    promoting releasing completed: -
    failed: ChangeEnded
RecordPromotion
    created compiling running budget_blocked cancelled: NotFound
    verifying blocked awaiting_approval failed: NotPromoting
    promoting: candidate.promoted change.completed
    releasing completed: -
RefusePromotion
    created compiling running budget_blocked cancelled: NotFound
    verifying blocked awaiting_approval failed: -
    promoting: canonical.promotion.refused
    releasing completed: NotPromoting
RecordExport
    created compiling running budget_blocked cancelled: NotFound
    verifying blocked awaiting_approval promoting failed: NotPromoted
    releasing completed: branch.exported
EndRelease
    created compiling running verifying blocked budget_blocked awaiting_approval promoting: WrongStatus
    releasing: change.completed
    completed failed cancelled: ChangeEnded
""")

TASKS: dict[TaskStatus, Callable[[], m.Story]] = {
    TaskStatus.PENDING: lambda: m.running(m.planned("t0"), m.planned("t1", "t0")),
    TaskStatus.READY: lambda: m.running(*WIDE),
    TaskStatus.ASSIGNED: lambda: m.running(*WIDE).do(m.assign("t1")),
    TaskStatus.RUNNING: lambda: m.running(*WIDE).begin("t1"),
    TaskStatus.COMPLETED: lambda: m.running(*WIDE).complete("t1"),
    TaskStatus.FAILED: lambda: _ended(m.broke(False)),
    TaskStatus.BLOCKED: lambda: m.running(*WIDE).do(m.dead_letter("t1")),
    TaskStatus.CANCELLED: lambda: m.running(*WIDE).begin("t1").do(m.cancel()),
}


def _ended(result: m.c.RunResult) -> m.Story:
    story = m.running(*WIDE).begin("t1")
    return story.do(m.finish("t1", story.run_of("t1"), result))


TASK_COMMANDS = (
    "AssignTask",
    "DropWake",
    "StartTask",
    "DeadLetterTask",
    "RetryDeadLetter",
    "RequeueRun",
    "FinishTask",
    "RerunTasks",
)

TASK_OUTCOMES = read("""
AssignTask
    pending assigned running completed failed blocked: -
    ready: task.assigned
    cancelled: ChangeEnded
DropWake
    pending assigned running completed failed blocked cancelled: -
    ready: task.wake_dropped
StartTask
    pending ready blocked cancelled: StaleAttempt
    assigned: task.started
    running completed failed: -
DeadLetterTask
    pending running completed failed blocked cancelled: -
    ready assigned: task.blocked
RetryDeadLetter
    pending ready assigned running: -
    completed failed: NotADeadLetter
    blocked: task.unblocked
    cancelled: ChangeEnded
RequeueRun
    pending ready completed failed blocked cancelled: -
    assigned running: task.requeued
FinishTask
    pending ready assigned blocked cancelled: StaleAttempt
    running: changeset.proposed task.completed
    completed failed: -
RerunTasks
    pending ready assigned running blocked: -
    completed: tasks.rerun task.reopened
    failed: tasks.rerun task.reopened task.ready
    cancelled: ChangeEnded
""")


def _promoted() -> m.Story:
    story = m.promoting()
    return story.do(m.promoted(story.newest))


def _with(*commands: Callable[[str], Command]) -> m.Story:
    story = m.with_candidate()
    for command in commands:
        story.do(command(story.newest))
    return story


CANDIDATES: dict[CandidateStatus, Callable[[], m.Story]] = {
    CandidateStatus.COMPOSING: lambda: _with(),
    CandidateStatus.VERIFYING: lambda: _with(m.composed),
    CandidateStatus.VERIFIED: lambda: _with(m.composed, m.judged),
    CandidateStatus.STALE: lambda: _with(m.composed).do(m.stale(2)),
    CandidateStatus.REJECTED: lambda: _with(m.composed, lambda of: m.judged(of, m.evidence(code=1))),
    CandidateStatus.PROMOTED: _promoted,
}

CANDIDATE_COMMANDS = (
    "RecordComposition",
    "RejectComposition",
    "RecordEvidence",
    "MarkStale",
    "ApproveCandidate",
    "RejectCandidate",
    "RequestPromotion",
    "RecordPromotion",
    "RefusePromotion",
    "RecordExport",
)

CANDIDATE_OUTCOMES = read("""
RecordComposition
    composing: candidate.composed
    verifying verified rejected stale promoted: -
RejectComposition
    composing: candidate.rejected
    verifying verified rejected stale promoted: -
RecordEvidence
    composing: NotComposed
    verifying: evidence.recorded candidate.verified candidate.selected
    verified rejected stale promoted: -
MarkStale
    composing verifying verified: candidate.stale
    rejected stale promoted: -
ApproveCandidate
    composing verifying rejected stale: CandidateGone
    verified: NothingToApprove
    promoted: ChangeEnded
RejectCandidate
    composing verifying rejected stale: CandidateGone
    verified: candidate.rejected change.failed
    promoted: ChangeEnded
RequestPromotion
    composing verifying rejected stale: CandidateGone
    verified: canonical.promotion.requested
    promoted: -
RecordPromotion
    composing verifying verified rejected stale: NotPromoting
    promoted: -
RefusePromotion
    composing verifying verified rejected stale: -
    promoted: NotPromoting
RecordExport
    composing verifying verified rejected stale: NotPromoted
    promoted: branch.exported
""")


@pytest.mark.parametrize("status", ChangeStatus)
@pytest.mark.parametrize("command", [command.__name__ for command in COMMANDS])
def test_a_change_in_every_status_meets_every_command(status: ChangeStatus, command: str) -> None:
    state = CHANGES[status]().state
    assert state.status is status
    assert outcome(state, commands_of(state)[command]) == CHANGE_OUTCOMES[status, command]


@pytest.mark.parametrize("status", TaskStatus)
@pytest.mark.parametrize("command", TASK_COMMANDS)
def test_a_task_in_every_status_meets_every_command(status: TaskStatus, command: str) -> None:
    state = TASKS[status]().state
    task = state.tasks[m.task("t1")]
    assert task.status is status
    run = task.run or task.last_ended or "run_none"
    wanted: dict[str, Any] = {
        **commands_of(state),
        "StartTask": m.start("t1", run, 1),
        "RequeueRun": m.requeue("t1", run),
        "FinishTask": m.finish("t1", run),
    }
    assert outcome(state, wanted[command]) == TASK_OUTCOMES[status, command]


@pytest.mark.parametrize("status", CandidateStatus)
@pytest.mark.parametrize("command", CANDIDATE_COMMANDS)
def test_a_candidate_in_every_status_meets_every_command(status: CandidateStatus, command: str) -> None:
    story = CANDIDATES[status]()
    assert story.state.candidates[story.newest].status is status
    assert outcome(story.state, commands_of(story.state)[command]) == CANDIDATE_OUTCOMES[status, command]


def test_nothing_exists_before_it_is_created() -> None:
    state = CHANGES[ChangeStatus.RUNNING]().state
    for name, command in commands_of(state).items():
        if name != "CreateChange":
            with pytest.raises(DomainError, match="there is no Change"):
                CHANGE.decide(None, command)


def test_no_status_is_without_an_exit() -> None:
    for table in (CHANGE_TABLE, TASK_TABLE, CANDIDATE_TABLE):
        left = {arrow.source for arrow in table.transitions if arrow.source != arrow.target}
        assert set(table.statuses) - left == set(table.terminal)

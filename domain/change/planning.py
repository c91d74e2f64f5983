"""From a request to a Work Graph: the base is checked, the plan stored."""

from domain.change.command import (
    BlockOnBudget,
    CompileChange,
    FailCompiling,
    RecordBaseChecks,
    StartCompiling,
)
from domain.change.draft import Draft
from domain.change.ending import fail
from domain.change.error import BaseNotChecked
from domain.change.event import (
    BaseVerified,
    ChangeBudgetBlocked,
    ChangeCompiled,
    CompileStarted,
    TaskCreated,
    TierRaised,
)
from domain.change.guard import require_status
from domain.change.state import ChangeState
from domain.change.status import ChangeStatus, TaskStatus
from domain.check import Evidence
from domain.kernel.event import Event
from domain.kernel.ids import task_id
from domain.plan import RiskTier, WorkGraphPlan


def start_compiling(state: ChangeState, command: StartCompiling) -> tuple[Event, ...]:
    if state.compile:
        return ()
    require_status(state, "planning starts", ChangeStatus.CREATED)
    return (CompileStarted(compile=1),)


def record_base_checks(state: ChangeState, command: RecordBaseChecks) -> tuple[Event, ...]:
    """A red base fails the Change before any agent runs, unless the person overrode it.

    The override changes nothing for Candidates: they must pass every check, also one that was red on the base.
    """
    if state.base_verified:
        return ()
    require_status(state, "the base is checked", ChangeStatus.COMPILING)
    draft = Draft(state)
    draft.record(BaseVerified(base_commit=state.base_commit, evidence=command.evidence))
    red = [describe_failure(evidence) for evidence in command.evidence if not evidence.passed]
    if red and not state.allow_red_base:
        fail(draft, "checks", f"The checks fail on the base already: {'; '.join(red)}. Fix the base, or allow it red.")
    return draft.events


def describe_failure(evidence: Evidence) -> str:
    """One clause naming the check and how it ended."""
    if evidence.killed is not None:
        return f"{evidence.check} was ended ({evidence.killed})"
    if evidence.exit_code is None:
        return f"{evidence.check} didn't end"
    return f"{evidence.check} exited with code {evidence.exit_code}"


def compile_change(state: ChangeState, command: CompileChange) -> tuple[Event, ...]:
    """Store the plan and open its Tasks. Code raises the tier where the plan says less than it must."""
    if state.tasks:
        return ()
    if state.status is ChangeStatus.CANCELLED:
        return _tasks(state.id, command.plan, TaskStatus.CANCELLED)
    require_status(state, "a plan is stored", ChangeStatus.COMPILING)
    if command.checks and not state.base_verified:
        raise BaseNotChecked(state.id)
    plan = command.plan
    compiled = ChangeCompiled(
        plan=command.document,
        risk_tier=plan.risk_tier,
        human_approval_required=plan.human_approval_required,
        destructive_migration=plan.destructive_migration,
        complexity=plan.complexity,
        acceptance_criteria=len(plan.acceptance),
        checks=command.checks,
        setup=command.setup,
        cost=command.cost,
    )
    raised: tuple[TierRaised, ...] = ()
    if plan.destructive_migration and plan.risk_tier is not RiskTier.CRITICAL:
        raised = (TierRaised(tier=RiskTier.CRITICAL, reason="the plan has a destructive migration"),)
    return (compiled, *raised, *_tasks(state.id, plan, TaskStatus.PENDING))


def _tasks(change: str, plan: WorkGraphPlan, status: TaskStatus) -> tuple[TaskCreated, ...]:
    return tuple(
        TaskCreated(
            task=task_id(change, task.key),
            key=task.key,
            kind=task.kind,
            depends_on=tuple(task_id(change, key) for key in dict.fromkeys(task.depends_on)),
            resources=task.resources,
            status=status,
        )
        for task in plan.tasks
    )


def fail_compiling(state: ChangeState, command: FailCompiling) -> tuple[Event, ...]:
    if state.status is ChangeStatus.FAILED and not state.tasks:
        return ()
    require_status(state, "planning can fail", ChangeStatus.COMPILING)
    draft = Draft(state)
    fail(draft, command.phase, command.reason)
    return draft.events


def block_on_budget(state: ChangeState, command: BlockOnBudget) -> tuple[Event, ...]:
    if state.status is ChangeStatus.BUDGET_BLOCKED and not state.tasks:
        return ()
    require_status(state, "a budget can refuse a call of the planner", ChangeStatus.COMPILING)
    return (ChangeBudgetBlocked(reason=command.reason),)

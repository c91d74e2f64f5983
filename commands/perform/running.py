"""Running an agent on a task: workspace, agent, snapshot, ChangeSet; then the outcome in one transaction."""

from dataclasses import dataclass
from typing import Any

from commands.context import Context, Deferred
from commands.document import PlanDocument, plan_of
from commands.handlers.task import open_run
from commands.perform.performance import Performance
from commands.ports.agent import Agent, AgentReport, AgentTask, AgentUnavailable, PreviousAttempt
from commands.ports.git import Canonical, Signature, SnapshotRefused, Workspace
from commands.ports.sandbox import Killed
from commands.unit import Unit
from domain.budget.command import SettleSlice
from domain.change.command import Broke, FinishTask, Made, NoChanges, RequeueRun, RunResult, Stopped
from domain.change.event import BlockCause, TaskRequeued, TaskRetried
from domain.change.state import ChangeState, TaskState
from domain.kernel.event import BlobRef
from domain.kernel.ids import agent_id
from domain.plan import WRITING_KINDS
from domain.run.command import FinishRun
from domain.run.status import RunOutcome


@dataclass(frozen=True, slots=True)
class Ended:
    """How an attempt ended: what the Change learns of it, and what the Run keeps."""

    result: RunResult
    report: AgentReport
    log: BlobRef | None


def perform_run(performance: Performance) -> None:
    """Run the attempt that the intent names; an attempt that was begun before is lost and a new Run takes its place."""
    ctx, effect = performance.ctx, performance.effect
    assert effect.change is not None
    task_id, run = str(effect.payload["task"]), str(effect.payload["run"])
    state = ctx.writer.state(effect.change)
    if state.tasks[task_id].run != run:
        return
    if performance.attempt > 1:
        _requeue(performance, task_id, run)
        return
    agent = ctx.agents.open(ctx.objects.get(state.settings), state.sandboxed)
    ended, workspace = _work(performance, state, state.tasks[task_id], agent)
    if performance.cancel.is_set():
        # Cut off by the end of this process or by a cancel: the open effect says that the run is lost.
        raise Deferred("the process is stopping", 0)
    performance.record(lambda unit, bookkeeping: _finish(ctx, unit, bookkeeping, task_id, run, ended, agent))
    # Only now: the ChangeSet is recorded, and its commit readable in canonical.
    workspace.close()


def _work(performance: Performance, state: ChangeState, task: TaskState, agent: Agent) -> tuple[Ended, Workspace]:
    ctx = performance.ctx
    assert task.run is not None
    canonical = ctx.canonicals.open(state.project)
    sandbox = ctx.sandbox(state.sandboxed)
    binds = performance.setup_binds(state.setup, canonical, state.base_commit, sandbox)
    workspace = canonical.open_workspace(task.run, task.base_commit)
    plan = plan_of(ctx.objects, state)
    try:
        report = agent.run(
            _agent_task(ctx, state, task, plan),
            workspace.folder,
            sandbox,
            tuple(binds),
            performance.cancel,
            lambda chunk: performance.lines(task.key, chunk),
        )
        secrets = agent.secrets()
    except AgentUnavailable as error:
        nothing = AgentReport(exit_code=None, killed=None, output=b"", output_truncated=False, duration=0.0, cost=0)
        return Ended(Broke(reason="agent_unavailable", detail=str(error), retryable=False), nothing, None), workspace
    log = ctx.objects.put(report.output)
    if performance.cancel.is_set():
        return Ended(Broke(reason="cancelled", detail="stopped", retryable=True), report, log), workspace
    result = _result(ctx, canonical, workspace, state, task, plan, secrets, report)
    return Ended(result, report, log), workspace


def _agent_task(ctx: Context, state: ChangeState, task: TaskState, plan: PlanDocument) -> AgentTask:
    assert task.run is not None
    return AgentTask(
        run=task.run,
        task=task.id,
        attempt=task.attempt,
        goal=ctx.objects.get(state.goal).decode(),
        planned=plan.task(task.key),
        previous=PreviousAttempt(task.hint, task.hint.replace("_", " ")) if task.hint else None,
    )


def _result(
    ctx: Context,
    canonical: Canonical,
    workspace: Workspace,
    state: ChangeState,
    task: TaskState,
    plan: PlanDocument,
    secrets: tuple[str, ...],
    report: AgentReport,
) -> RunResult:
    """What came of the attempt, from what lies in the workspace and how the agent ended, never from what it says."""
    failure = _failure(report)
    if failure is not None:
        return failure
    if task.kind not in WRITING_KINDS:
        return Made(report=ctx.objects.put((report.report or "").encode()))
    try:
        tree = workspace.snapshot(secrets)
    except SnapshotRefused as refused:
        return Broke(
            reason=refused.reason,
            detail=f"{refused.reason.replace('_', ' ')}: {', '.join(refused.paths[:5])}",
            retryable=refused.reason != "secret_in_changeset",
        )
    if tree == canonical.tree_of(task.base_commit):
        return NoChanges(base_commit=task.base_commit, tree=tree)
    assert task.run is not None
    author = signature(task)
    message = changeset_message(plan, state, task, task.run)
    commit = canonical.commit_tree(tree, (task.base_commit,), author, author, message)
    canonical.pin(f"refs/rhumb/cs/{task.run}", commit)
    return Made(base_commit=task.base_commit, commit=commit, tree=tree)


def _failure(report: AgentReport) -> RunResult | None:
    if report.ok:
        return None
    if report.killed is Killed.TIME:
        return Stopped(cause=BlockCause.LIMIT, detail=report.detail)
    return Broke(reason=report.reason, detail=report.detail, retryable=True)


def signature(task: TaskState) -> Signature:
    """The agent as author; the time is the attempt's start, from its event, so that hashes repeat."""
    agent = agent_id(task.id)
    return Signature(name=agent, email=f"{agent}@rhumbline.invalid", timestamp=task.started_at)


def changeset_message(plan: PlanDocument, state: ChangeState, task: TaskState, run: str) -> str:
    """The task's title and trailers for change, task and the run that made the work."""
    return (
        f"{plan.task(task.key).title}\n\n"
        f"Rhumbline-Change: {state.id}\nRhumbline-Task: {task.id}\nRhumbline-Run: {run}\n"
    )


def _finish(
    ctx: Context, unit: Unit, bookkeeping: dict[str, Any], task_id: str, run: str, ended: Ended, agent: Agent
) -> None:
    change = bookkeeping["correlation"]
    report, result = ended.report, ended.result
    unit.decide(
        run,
        FinishRun(
            **bookkeeping,
            outcome=_run_outcome(result),
            reason=getattr(result, "reason", result.outcome),
            exit_code=report.exit_code,
            cost=report.cost,
            log=ended.log,
            commit=getattr(result, "commit", None),
            tree=getattr(result, "tree", None),
            report=getattr(result, "report", None),
            duration_ms=int(report.duration * 1000),
        ),
        run,
    )
    _settle(unit, run, report.cost, bookkeeping)
    task = unit.state(change).tasks[task_id]
    events = unit.decide(
        change,
        FinishTask(
            **bookkeeping,
            task=task_id,
            run=run,
            run_head=unit.head(run),
            result=result,
            cost=report.cost,
            next_reservation=agent.reservation(task.key, task.attempt + 1),
        ),
        run,
    )
    for event in events:
        if isinstance(event, TaskRetried):
            open_run(unit, change, task_id, event.run, agent.provider, event.reservation, task.base_commit, bookkeeping)


def _settle(unit: Unit, run: str, cost: int | None, bookkeeping: dict[str, Any]) -> None:
    """Settle the run's slice of the month; an unknown cost counts as the whole slice."""
    budget = unit.state(run).started.budget
    if budget is not None:
        unit.decide(budget, SettleSlice(**bookkeeping, run=run, cost=cost))


def _run_outcome(result: RunResult) -> RunOutcome:
    match result:
        case Made() | NoChanges():
            return RunOutcome.COMPLETED
        case Stopped():
            return RunOutcome.STOPPED
    return RunOutcome.FAILED


def _requeue(performance: Performance, task_id: str, run: str) -> None:
    ctx, change = performance.ctx, performance.effect.change
    assert change is not None

    def work(unit: Unit, bookkeeping: dict[str, Any]) -> None:
        state = unit.state(change)
        agent = ctx.agents.open(ctx.objects.get(state.settings), state.sandboxed)
        _close_lost(unit, run, bookkeeping)
        for event in unit.decide(change, RequeueRun(**bookkeeping, task=task_id, run=run), run):
            if isinstance(event, TaskRequeued):
                base = unit.state(change).tasks[task_id].base_commit
                reservation = unit.state(run).started.reservation
                open_run(unit, change, task_id, event.run, agent.provider, reservation, base, bookkeeping, lost=run)

    performance.record(work, step="lost")
    ctx.canonicals.open(performance.effect.project).close_workspace(run)


def perform_stop(performance: Performance) -> None:
    """What a cancelled task leaves: its Run ends, its workspace goes. Its processes are gone before this begins."""
    ctx, run = performance.ctx, str(performance.effect.payload["run"])

    def work(unit: Unit, bookkeeping: dict[str, Any]) -> None:
        unit.decide(run, FinishRun(**bookkeeping, outcome=RunOutcome.CANCELLED, reason="change_ended"), run)
        _settle(unit, run, None, bookkeeping)

    ctx.canonicals.open(performance.effect.project).close_workspace(run)
    performance.record(work)


def _close_lost(unit: Unit, run: str, bookkeeping: dict[str, Any]) -> None:
    """End the lost Run; its cost is unknown, so its slice settles at the full reservation, marked as estimated."""
    unit.decide(run, FinishRun(**bookkeeping, outcome=RunOutcome.LOST, reason="worker_lost"), run)
    _settle(unit, run, None, bookkeeping)

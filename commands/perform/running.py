"""Running an agent on a task: workspace, agent, snapshot, ChangeSet; then the outcome in one transaction."""

from dataclasses import dataclass
from typing import Any, Final

from commands.context import Context, Deferred
from commands.document import PlanDocument, plan_of
from commands.handlers.task import open_run
from commands.perform.merging import changeset_message, conflicts_of, files_of, merge_changesets, signature
from commands.perform.performance import Performance
from commands.perform.room import require_room
from commands.ports.agent import Agent, AgentReport, AgentTask, AgentUnavailable, DependencyReport, PreviousAttempt
from commands.ports.git import Canonical, SnapshotRefused, Workspace
from commands.ports.sandbox import Killed
from commands.unit import Unit
from domain.budget.command import SettleSlice
from domain.change.command import Broke, FinishTask, Made, NoChanges, RequeueRun, RunResult, Stopped
from domain.change.event import BlockCause, TaskRequeued, TaskRetried
from domain.change.state import ChangeState, TaskState
from domain.kernel.event import BlobRef
from domain.plan import WRITING_KINDS
from domain.run.command import FinishRun, RecordTurn
from domain.run.event import Continues
from domain.run.status import RunOutcome

NOTHING_RAN: Final = AgentReport(exit_code=None, killed=None, output=b"", output_truncated=False, duration=0.0, cost=0)


UNAVAILABLE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How an attempt ended: what the Change learns of it, and what the Run keeps. left: the tree of unfinished work."""

    result: RunResult
    report: AgentReport
    log: BlobRef | None
    left: str | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at work."""

    performance: Performance
    state: ChangeState
    task: TaskState
    run: str
    agent: Agent
    canonical: Canonical
    plan: PlanDocument

    @property
    def ctx(self) -> Context:
        return self.performance.ctx


def perform_run(performance: Performance) -> None:
    """Run the attempt that the intent names. One whose workspace is there is lost: a new Run goes on with it."""
    ctx, effect = performance.ctx, performance.effect
    assert effect.change is not None
    task_id, run = str(effect.payload["task"]), str(effect.payload["run"])
    state: ChangeState = ctx.writer.state(effect.change)
    task = state.tasks[task_id]
    if task.run != run:
        return
    agent = ctx.agents.open(ctx.objects.get(state.settings), state.sandboxed)
    canonical = ctx.canonicals.open(state.project)
    attempt = Attempt(performance, state, task, run, agent, canonical, plan_of(ctx.objects, state))
    if performance.attempt > 1 and run in canonical.workspaces():
        _requeue(attempt)
        return
    ended = _work(attempt)
    if performance.cancel.is_set():
        # Cut off by the end of this process or by a cancel: the open effect says that the run is lost.
        raise Deferred("the process is stopping", 0)
    performance.record(lambda unit, bookkeeping: _finish(attempt, unit, bookkeeping, ended))
    # Only now: the ChangeSet is recorded, and its commit readable in canonical.
    canonical.close_workspace(run)


def _work(attempt: Attempt) -> Ended:
    ctx, state, task = attempt.ctx, attempt.state, attempt.task
    merge = merge_changesets(attempt.canonical, attempt.plan, state, task.base_commit, task.stack)
    if merge.commit is None:
        conflicts = conflicts_of(state, task.stack, merge)
        detail = f"what it builds on doesn't merge in {files_of(conflicts)}"
        broke = Broke(reason="dependency_merge_conflict", detail=detail, retryable=False, conflicts=conflicts)
        return Ended(broke, NOTHING_RAN, None)
    try:
        # Before anything begins: what can't be let in now may be there when a person goes on with it.
        attempt.agent.secrets()
    except AgentUnavailable as error:
        raise Deferred(str(error), UNAVAILABLE_SECONDS) from error
    sandbox = ctx.sandbox(state.sandboxed)
    binds = attempt.performance.setup_binds(state.setup, attempt.canonical, state.base_commit, sandbox)
    left = ctx.writer.state(attempt.run).started.continues
    workspace = attempt.canonical.open_workspace(attempt.run, merge.commit, left.tree if left else None)
    try:
        report = attempt.agent.run(
            _agent_task(attempt, interrupted=left is not None),
            workspace.folder,
            sandbox,
            tuple(binds),
            attempt.performance.cancel,
            lambda chunk: attempt.performance.lines(task.key, chunk),
        )
        secrets = attempt.agent.secrets()
    except AgentUnavailable as error:
        return Ended(Broke(reason="agent_unavailable", detail=str(error), retryable=False), NOTHING_RAN, None)
    if not report.ok:
        require_room(workspace.folder)
    log = ctx.objects.put(report.output)
    if attempt.performance.cancel.is_set():
        return Ended(Broke(reason="cancelled", detail="stopped", retryable=True), report, log)
    left = _kept(attempt, workspace, merge.commit, secrets) if report.killed is Killed.TIME else None
    return Ended(_result(attempt, workspace, merge.commit, secrets, report), report, log, left)


def _agent_task(attempt: Attempt, interrupted: bool) -> AgentTask:
    task, plan, ctx = attempt.task, attempt.plan, attempt.ctx
    previous = PreviousAttempt(task.hint, task.hint.replace("_", " ")) if task.hint else None
    if interrupted:
        previous = PreviousAttempt("interrupted", "it was cut off; what it had done so far lies in the folder")
    needed = [attempt.state.tasks[needed] for needed in task.depends_on]
    reports = tuple(
        DependencyReport(each.key, plan.task(each.key).title, ctx.objects.get(each.report).decode(errors="replace"))
        for each in needed
        if each.report is not None
    )
    return AgentTask(
        run=attempt.run,
        task=task.id,
        attempt=task.attempt,
        goal=ctx.objects.get(attempt.state.goal).decode(),
        planned=plan.task(task.key),
        previous=previous,
        reports=reports,
    )


def _result(
    attempt: Attempt, workspace: Workspace, start: str, secrets: tuple[str, ...], report: AgentReport
) -> RunResult:
    """What came of the attempt, from what lies in the workspace and how the agent ended, never from what it says."""
    failure = _failure(report)
    if failure is not None:
        return failure
    task, canonical = attempt.task, attempt.canonical
    if task.kind not in WRITING_KINDS:
        return Made(report=attempt.ctx.objects.put((report.report or "").encode()))
    try:
        tree = workspace.snapshot(secrets)
    except SnapshotRefused as refused:
        return Broke(
            reason=refused.reason,
            detail=f"{refused.reason.replace('_', ' ')}: {', '.join(refused.paths[:5])}",
            retryable=refused.reason != "secret_in_changeset",
        )
    if tree == canonical.tree_of(start):
        return NoChanges(base_commit=start, tree=tree)
    author = signature(task)
    message = changeset_message(attempt.plan, attempt.state, task, attempt.run)
    commit = canonical.commit_tree(tree, (start,), author, author, message)
    canonical.pin(f"refs/rhumb/cs/{attempt.run}", commit)
    return Made(base_commit=start, commit=commit, tree=tree)


def _failure(report: AgentReport) -> RunResult | None:
    if report.ok:
        return None
    if report.killed is Killed.TIME:
        return Stopped(cause=BlockCause.LIMIT, detail=report.detail)
    return Broke(reason=report.reason, detail=report.detail, retryable=True)


def _finish(attempt: Attempt, unit: Unit, bookkeeping: dict[str, Any], ended: Ended) -> None:
    change, run, report, result = attempt.state.id, attempt.run, ended.report, ended.result
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
            tree=getattr(result, "tree", ended.left),
            report=getattr(result, "report", None),
            duration_ms=int(report.duration * 1000),
        ),
        run,
    )
    _settle(unit, run, report.cost, bookkeeping)
    task = unit.state(change).tasks[attempt.task.id]
    events = unit.decide(
        change,
        FinishTask(
            **bookkeeping,
            task=task.id,
            run=run,
            run_head=unit.head(run),
            result=result,
            cost=report.cost,
            next_reservation=attempt.agent.reservation(task.key, task.attempt + 1),
        ),
        run,
    )
    for event in events:
        if isinstance(event, TaskRetried):
            provider = attempt.agent.provider
            open_run(unit, change, task.id, event.run, provider, event.reservation, task.base_commit, bookkeeping)


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


def _requeue(attempt: Attempt) -> None:
    """The worker of this run is gone: what it left is kept, and a new Run goes on from there."""
    tree = _left(attempt)
    change, run, performance = attempt.state.id, attempt.run, attempt.performance

    def work(unit: Unit, bookkeeping: dict[str, Any]) -> None:
        turn = unit.state(run).turn + 1
        unit.decide(run, RecordTurn(**bookkeeping, turn=turn, tree=tree, cost=None), run)
        unit.decide(run, FinishRun(**bookkeeping, outcome=RunOutcome.LOST, reason="worker_lost", tree=tree), run)
        _settle(unit, run, None, bookkeeping)
        for event in unit.decide(change, RequeueRun(**bookkeeping, task=attempt.task.id, run=run), run):
            if isinstance(event, TaskRequeued):
                started = unit.state(run).started
                open_run(
                    unit,
                    change,
                    attempt.task.id,
                    event.run,
                    attempt.agent.provider,
                    started.reservation,
                    started.base_commit,
                    bookkeeping,
                    continues=Continues(run=run, turn=turn, tree=tree),
                )

    performance.record(work, step="lost")
    attempt.canonical.close_workspace(run)


def _left(attempt: Attempt) -> str | None:
    """The tree that a lost run left; None where nothing usable is there."""
    canonical, run = attempt.canonical, attempt.run
    if attempt.task.kind not in WRITING_KINDS or run not in canonical.workspaces():
        return None
    merge = merge_changesets(canonical, attempt.plan, attempt.state, attempt.task.base_commit, attempt.task.stack)
    if merge.commit is None:
        return None
    try:
        secrets = attempt.agent.secrets()
    except AgentUnavailable:
        # What can't be searched for secrets isn't kept.
        return None
    return _kept(attempt, canonical.open_workspace(run, merge.commit), merge.commit, secrets)


def _kept(attempt: Attempt, workspace: Workspace, start: str, secrets: tuple[str, ...]) -> str | None:
    """Keep unfinished work as a commit under `refs/rhumb/wip/<run>`; returns its tree, None if it can't be kept."""
    try:
        tree = workspace.snapshot(secrets)
    except SnapshotRefused:
        return None
    author = signature(attempt.task)
    commit = attempt.canonical.commit_tree(tree, (start,), author, author, "Interrupted\n")
    attempt.canonical.pin(f"refs/rhumb/wip/{attempt.run}", commit)
    return tree


def perform_stop(performance: Performance) -> None:
    """What a cancelled task leaves: its Run ends, its workspace goes. Its processes are gone before this begins."""
    ctx, run = performance.ctx, str(performance.effect.payload["run"])

    def work(unit: Unit, bookkeeping: dict[str, Any]) -> None:
        unit.decide(run, FinishRun(**bookkeeping, outcome=RunOutcome.CANCELLED, reason="change_ended"), run)
        _settle(unit, run, None, bookkeeping)

    ctx.canonicals.open(performance.effect.project).close_workspace(run)
    performance.record(work)

"""Compiling a Change: which checks judge it, is its base green, what is the plan."""

from typing import Any

from commands.checks.discovery import NoCheckFound
from commands.checks.project_file import ProjectFileError
from commands.checks.resolve import Judges, judges_of_base
from commands.context import Context, Deferred
from commands.document import requested_plan, store_plan
from commands.perform.checking import Judged, run_check
from commands.perform.performance import Performance
from commands.ports.git import Canonical
from commands.setup import SetupFailed
from commands.unit import Unit
from domain.change.command import CompileChange, FailCompiling, RecordBaseChecks
from domain.change.state import ChangeState
from domain.change.status import ChangeStatus
from domain.check import Evidence


def perform_plan(performance: Performance) -> None:
    """Compile: everything that judges comes from the base; a red base ends the Change before any agent runs."""
    ctx, effect = performance.ctx, performance.effect
    assert effect.change is not None
    state: ChangeState = ctx.writer.state(effect.change)
    if state.status != ChangeStatus.COMPILING:
        return
    canonical = ctx.canonicals.open(effect.project)
    try:
        judges = judges_of_base(canonical, state.base_commit, state.requested_checks)
        performance.lines("plan", f"{judges.told}\n".encode())
        evidence = _base_evidence(performance, state, canonical, judges)
    except (ProjectFileError, NoCheckFound) as error:
        _fail(performance, "planning", str(error))
        return
    except SetupFailed as error:
        _fail(performance, "setup", str(error))
        return
    if performance.cancel.is_set():
        raise Deferred("the process is stopping", 0)
    if _record_base(performance, evidence):
        _compile(performance, ctx, state, judges)


def _base_evidence(
    performance: Performance,
    state: ChangeState,
    canonical: Canonical,
    judges: Judges,
) -> tuple[Evidence, ...]:
    ctx = performance.ctx
    sandbox = ctx.sandbox(state.sandboxed)
    binds = performance.setup_binds(judges.setup, canonical, state.base_commit, sandbox)
    base = Judged(state.base_commit)
    return tuple(run_check(performance, canonical, sandbox, c, base, binds, state.sandboxed) for c in judges.checks)


def _record_base(performance: Performance, evidence: tuple[Evidence, ...]) -> bool:
    """Record the base's evidence; True if the Change still compiles afterwards."""
    change = performance.effect.change
    assert change is not None

    def work(unit: Unit, bookkeeping: dict[str, Any]) -> None:
        unit.decide(change, RecordBaseChecks(**bookkeeping, evidence=evidence))

    performance.record(work, step="base")
    return bool(performance.ctx.writer.state(change).status == ChangeStatus.COMPILING)


def _compile(
    performance: Performance,
    ctx: Context,
    state: ChangeState,
    judges: Judges,
) -> None:
    plan = requested_plan(ctx.objects, state)
    document = store_plan(ctx.objects, state.project, state.id, plan)

    def work(unit: Unit, bookkeeping: dict[str, Any]) -> None:
        unit.decide(
            state.id,
            CompileChange(
                **bookkeeping, plan=plan, document=document, checks=judges.checks, setup=judges.setup, cost=0
            ),
        )

    performance.record(work)


def _fail(performance: Performance, phase: str, reason: str) -> None:
    change = performance.effect.change
    assert change is not None

    def work(unit: Unit, bookkeeping: dict[str, Any]) -> None:
        unit.decide(change, FailCompiling(**bookkeeping, phase=phase, reason=reason))

    performance.record(work)

"""Which events intend an effect and which close it: intent, perform, outcome, always (DESIGN, "Effects").

Each kind states what a second execution does:

| kind    | intended by                          | a second execution                                        |
|---------|--------------------------------------|-----------------------------------------------------------|
| plan    | change.compile_started               | checks the base again, plans again                        |
| run     | task.started, retried, requeued      | a lost run is continued by a new Run, never run twice     |
| stop    | task.cancelled while running         | ends the Run and removes its workspace, if still there     |
| compose | candidate.created                    | the same commit                                           |
| check   | candidate.composed                   | judges the same tree again                                |
| export  | candidate.promoted                   | looks first                                               |
| ref     | canonical.imported, advanced         | the same ref                                              |
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from commands.ports.store import EffectIntent
from domain.change import event as change
from domain.change.status import TaskStatus
from domain.kernel.event import Envelope
from domain.project import event as project
from domain.run.event import RunFinished


class EffectKind(StrEnum):
    PLAN = "plan"
    RUN = "run"
    STOP = "stop"
    COMPOSE = "compose"
    CHECK = "check"
    EXPORT = "export"
    REF = "ref"


@dataclass(frozen=True, slots=True)
class EffectChange:
    """Effects that an event opens, and the IDs of those that it closes (also of ones that aren't open)."""

    opened: tuple[EffectIntent, ...] = ()
    closed: tuple[str, ...] = ()


NOTHING: Final = EffectChange()


def plan_effect(change_id: str, compile_number: int) -> str:
    return f"{EffectKind.PLAN}:{change_id}:{compile_number}"


def run_effect(run: str) -> str:
    return f"{EffectKind.RUN}:{run}"


def stop_effect(run: str) -> str:
    return f"{EffectKind.STOP}:{run}"


def compose_effect(candidate: str) -> str:
    return f"{EffectKind.COMPOSE}:{candidate}"


def check_effect(candidate: str, key: str) -> str:
    return f"{EffectKind.CHECK}:{candidate}:{key}"


def export_effect(candidate: str) -> str:
    return f"{EffectKind.EXPORT}:{candidate}"


def ref_effect(project_id: str, generation: int) -> str:
    return f"{EffectKind.REF}:{project_id}:{generation}"


def effects_of(envelope: Envelope, before: Any, after: Any) -> EffectChange:
    """What `envelope` opens and closes; `before` and `after` are the states of its stream around it."""
    if envelope.stream.startswith("chg_"):
        return _of_change(envelope, before, after)
    if envelope.stream.startswith("prj_"):
        return _of_project(envelope)
    if isinstance(envelope.event, RunFinished):
        return EffectChange(closed=(stop_effect(envelope.stream),))
    return NOTHING


def _of_change(envelope: Envelope, before: Any, after: Any) -> EffectChange:
    def open_(kind: EffectKind, effect_id: str, **payload: Any) -> EffectIntent:
        return EffectIntent(effect_id, kind, envelope.stream, after.project, payload, envelope.id)

    def open_run(task: str, run: str) -> EffectIntent:
        return open_(EffectKind.RUN, run_effect(run), task=task, run=run)

    match envelope.event:
        case change.CompileStarted(compile=number):
            return EffectChange((open_(EffectKind.PLAN, plan_effect(envelope.stream, number), compile=number),))
        case change.ChangeCompiled() | change.ChangeFailed() | change.ChangeBudgetBlocked() | change.ChangeCancelled():
            return EffectChange(closed=(plan_effect(envelope.stream, before.compile),))
        case change.TaskStarted(task=task, run=run):
            return EffectChange((open_run(task, run),))
        case (
            change.TaskRetried(task=task, ended=ended, run=run) | change.TaskEscalated(task=task, ended=ended, run=run)
        ):
            return EffectChange((open_run(task, run),), (run_effect(ended),))
        case change.TaskRequeued(task=task, lost=lost, run=run, status=status):
            opened = (open_run(task, run),) if status == TaskStatus.RUNNING else ()
            return EffectChange(opened, (run_effect(lost),))
        case change.TaskCompleted(run=run) | change.TaskFailed(run=run):
            return EffectChange(closed=(run_effect(run),))
        case change.TaskBlocked(run=stopped):
            return EffectChange(closed=(run_effect(stopped),)) if stopped else NOTHING
        case change.TaskCancelled(task=task, run=str() as stopped) if before.tasks[task].status == TaskStatus.RUNNING:
            return EffectChange((open_(EffectKind.STOP, stop_effect(stopped), run=stopped),), (run_effect(stopped),))
        case change.CandidateCreated(candidate=candidate):
            return EffectChange((open_(EffectKind.COMPOSE, compose_effect(candidate), candidate=candidate),))
        case change.CandidateComposed(candidate=candidate, plan=plan):
            checks = tuple(
                open_(
                    EffectKind.CHECK,
                    check_effect(candidate, line.key),
                    candidate=candidate,
                    check=line.check,
                    variant=line.variant.value,
                )
                for line in plan
            )
            return EffectChange(checks, (compose_effect(candidate),))
        case change.EvidenceRecorded(candidate=candidate, evidence=evidence):
            return EffectChange(closed=(check_effect(candidate, evidence.key),))
        case change.CandidateRejected(candidate=candidate) | change.CandidateStale(candidate=candidate):
            plan = before.candidates[candidate].plan
            keys = tuple(check_effect(candidate, line.key) for line in plan)
            return EffectChange(closed=(compose_effect(candidate), *keys))
        case change.CandidatePromoted(candidate=candidate, commit=commit):
            return EffectChange(
                (open_(EffectKind.EXPORT, export_effect(candidate), candidate=candidate, commit=commit),)
            )
        case change.BranchExported(candidate=candidate):
            return EffectChange(closed=(export_effect(candidate),))
    return NOTHING


def _of_project(envelope: Envelope) -> EffectChange:
    match envelope.event:
        case (
            project.ProjectCreated(generation=generation)
            | project.CanonicalImported(generation=generation)
            | project.CanonicalAdvanced(generation=generation)
        ):
            effect_id = ref_effect(envelope.stream, generation)
            intent = EffectIntent(
                effect_id,
                EffectKind.REF,
                envelope.correlation,
                envelope.stream,
                {"generation": generation},
                envelope.id,
            )
            return EffectChange((intent,))
        case project.CanonicalRefMoved(generation=generation):
            return EffectChange(closed=(ref_effect(envelope.stream, generation),))
    return NOTHING

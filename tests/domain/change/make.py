"""Builders of a Change's commands and of whole histories, for its tests."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from domain.change import command as c
from domain.change.decide import CHANGE
from domain.change.event import BlockCause, TaskConflict
from domain.change.state import ChangeState
from domain.check import Check, CheckSource, Evidence, PlannedCheck, Variant
from domain.kernel.event import BlobRef, Command, Event, Head
from domain.kernel.ids import candidate_id, change_id, task_id
from domain.plan import Complexity, PlannedTask, RiskTier, TaskKind, WorkGraphPlan
from domain.policy import DEFAULT_POLICY, Policy
from domain.project.role import Role

UUID = "00000000-0000-4000-8000-000000000001"
CHANGE_ID = change_id(UUID)
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
REQUESTER = "usr_requester"
OWNER = "usr_owner"
STRANGER = "usr_stranger"
HEAD = Head(version=7, hash="a" * 64)
TESTS = Check(name="tests", command="make test", source=CheckSource.PERSON)
LINT = Check(name="lint", command="make lint", source=CheckSource.PERSON)
USD = 1_000_000


def blob(name: str) -> BlobRef:
    return BlobRef(sha256=(name.encode().hex() * 64)[:64], size=len(name))


def meta(actor: str = "system:router") -> dict[str, Any]:
    return {"command_id": "cmd_1", "actor": actor, "at": AT, "correlation": CHANGE_ID}


def task(key: str) -> str:
    return task_id(CHANGE_ID, key)


def plan(*tasks: PlannedTask, **fields: Any) -> WorkGraphPlan:
    values: dict[str, Any] = {"title": "Add a thing", "risk_tier": RiskTier.LOW, "complexity": Complexity.SMALL}
    return WorkGraphPlan(**{**values, **fields}, tasks=tasks or (planned("t1"),))


def planned(key: str, *depends_on: str, kind: TaskKind = TaskKind.IMPLEMENT) -> PlannedTask:
    return PlannedTask(
        key=key, title=key, kind=kind, instructions="do it", resources=(f"area:{key}",), depends_on=depends_on
    )


# -- commands ----------------------------------------------------------------------------------------------------


def create(**fields: Any) -> c.CreateChange:
    values: dict[str, Any] = {
        "change": CHANGE_ID,
        "project": f"prj_{UUID}",
        "client_request_id": "req-1",
        "goal": blob("goal"),
        "settings": blob("settings"),
        "base_generation": 1,
        "base_commit": "base1",
        "budget": 10 * USD,
        "policy": "policy-1",
        "checks": (TESTS,),
    }
    return c.CreateChange(**{**meta(REQUESTER), **values, **fields})


def start_compiling() -> c.StartCompiling:
    return c.StartCompiling(**meta())


def evidence(
    check: str = "tests", code: int | None = 0, variant: Variant = Variant.AS_IS, killed: str | None = None
) -> Evidence:
    return Evidence(
        check=check, variant=variant, exit_code=code, killed=killed, duration_ms=5, output=blob(f"{check}-output")
    )


def base_checks(*pieces: Evidence) -> c.RecordBaseChecks:
    return c.RecordBaseChecks(**meta(), evidence=pieces or (evidence(),))


def compile_(work: WorkGraphPlan | None = None, checks: Sequence[Check] = (TESTS,)) -> c.CompileChange:
    return c.CompileChange(
        **meta(), plan=work or plan(), document=blob("plan"), checks=tuple(checks), setup=None, cost=None
    )


def dispatch() -> c.DispatchTasks:
    return c.DispatchTasks(**meta())


def assign(key: str) -> c.AssignTask:
    return c.AssignTask(**meta(), task=task(key))


def start(key: str, run: str, reservation: int | None = None, generation: int = 1) -> c.StartTask:
    return c.StartTask(
        **meta(),
        task=task(key),
        run=run,
        base_generation=generation,
        base_commit=f"base{generation}",
        reservation=reservation,
    )


def made(key: str = "t1", run: str = "") -> c.Made:
    return c.Made(base_commit="base1", commit=f"commit-{run or key}", tree=f"tree-{run or key}")


def unchanged() -> c.NoChanges:
    return c.NoChanges(base_commit="base1", tree="tree-base1")


def broke(retryable: bool = True, *conflicts: TaskConflict) -> c.Broke:
    reason = "dependency_merge_conflict" if conflicts else "agent_error"
    return c.Broke(reason=reason, detail="the agent exited with code 3", retryable=retryable, conflicts=conflicts)


def stopped(cause: BlockCause = BlockCause.BUDGET) -> c.Stopped:
    return c.Stopped(cause=cause, detail="its slice is used up")


def finish(
    key: str, run: str, result: c.RunResult | None = None, cost: int | None = None, reserve: int | None = None
) -> c.FinishTask:
    return c.FinishTask(
        **meta(),
        task=task(key),
        run=run,
        run_head=HEAD,
        result=result or made(key, run),
        cost=cost,
        next_reservation=reserve,
    )


def requeue(key: str, run: str) -> c.RequeueRun:
    return c.RequeueRun(**meta(), task=task(key), run=run)


def settle(policy: Policy = DEFAULT_POLICY) -> c.SettleChange:
    return c.SettleChange(**meta(), policy=policy)


def rerun(trigger: Any, *pairs: tuple[str, tuple[str, ...]], candidate: str | None = None) -> c.RerunTasks:
    tasks = tuple(c.RerunTask(task=task(key), on_top_of=tuple(task(k) for k in others)) for key, others in pairs)
    return c.RerunTasks(**meta(), tasks=tasks, trigger=trigger, candidate=candidate)


def candidate(generation: int = 1, recomposes: str | None = None, after_import: bool = False) -> c.CreateCandidate:
    return c.CreateCandidate(
        **meta(),
        base_generation=generation,
        base_commit=f"base{generation}",
        recomposes=recomposes,
        after_import=after_import,
    )


def line(check: str = "tests", *overlay: str) -> PlannedCheck:
    variant = Variant.BASE_JUDGES if overlay else Variant.AS_IS
    return PlannedCheck(check=check, variant=variant, overlay=overlay)


def composed(of: str, *lines: PlannedCheck, raises: Sequence[c.TierRaise] = ()) -> c.RecordComposition:
    return c.RecordComposition(
        **meta(), candidate=of, commit=f"commit-{of}", tree="tree", plan=lines or (line(),), raises=tuple(raises)
    )


def not_composed(of: str, reason: Any = "file_conflict", *keys: str) -> c.RejectComposition:
    conflicts = tuple(TaskConflict(task=task(key), files=("src/app.py",)) for key in keys)
    return c.RejectComposition(
        **meta(), candidate=of, reason=reason, detail="the work doesn't merge in src/app.py", conflicts=conflicts
    )


def judged(of: str, piece: Evidence | None = None, policy: Policy = DEFAULT_POLICY) -> c.RecordEvidence:
    return c.RecordEvidence(**meta(), candidate=of, evidence=piece or evidence(), policy=policy)


def stale(generation: int) -> c.MarkStale:
    return c.MarkStale(**meta(), generation=generation)


def approve(of: str, role: Role | None = Role.OWNER) -> c.ApproveCandidate:
    return c.ApproveCandidate(**meta(OWNER), candidate=of, role=role)


def reject(of: str, role: Role | None = Role.OWNER) -> c.RejectCandidate:
    return c.RejectCandidate(**meta(OWNER), candidate=of, role=role)


def promote(
    of: str, trigger: Any = "auto", role: Role | None = None, policy: Policy = DEFAULT_POLICY
) -> c.RequestPromotion:
    return c.RequestPromotion(**meta(OWNER), candidate=of, trigger=trigger, role=role, policy=policy)


def promoted(of: str, generation: int = 2, release: str | None = None) -> c.RecordPromotion:
    return c.RecordPromotion(
        **meta(), candidate=of, generation=generation, commit=f"commit-{of}", change_head=HEAD, release=release
    )


def refused(of: str, generation: int | None = None) -> c.RefusePromotion:
    return c.RefusePromotion(**meta(), candidate=of, reason="canonical moved", generation=generation)


def exported(of: str, refusal: str | None = None) -> c.RecordExport:
    return c.RecordExport(**meta(), candidate=of, branch="rhumbline/x", commit=f"commit-{of}", refused=refusal)


def raise_budget(budget: int, actor: str = REQUESTER, role: Role | None = None) -> c.RaiseBudget:
    return c.RaiseBudget(**meta(actor), budget=budget, role=role)


def cancel(actor: str = REQUESTER, role: Role | None = None) -> c.CancelChange:
    return c.CancelChange(**meta(actor), role=role)


def dead_letter(key: str) -> c.DeadLetterTask:
    return c.DeadLetterTask(**meta(), task=task(key), reason="the wake failed 5 times")


def retry(key: str, role: Role | None = Role.ADMIN) -> c.RetryDeadLetter:
    return c.RetryDeadLetter(**meta(OWNER), task=task(key), role=role)


def drop(key: str) -> c.DropWake:
    return c.DropWake(**meta(), task=task(key), reason="too late")


def end_release(outcome: Any) -> c.EndRelease:
    return c.EndRelease(**meta(), outcome=outcome, reason="the smoke check failed" if outcome == "failed" else "")


# -- histories ---------------------------------------------------------------------------------------------------


class Story:
    """A Change that commands made; `events` is its log."""

    def __init__(self, *commands: Command) -> None:
        self.events: tuple[Event, ...] = ()
        self.do(*commands)

    @property
    def state(self) -> ChangeState:
        state = CHANGE.fold(self.events)
        assert state is not None
        return state

    def do(self, *commands: Command) -> "Story":
        for command in commands:
            self.events += CHANGE.decide(CHANGE.fold(self.events), command)
        return self

    def run_of(self, key: str) -> str:
        run = self.state.tasks[task(key)].run
        assert run is not None
        return run

    def begin(self, *keys: str, reservation: int | None = None) -> "Story":
        """Dispatch, assign and start."""
        for key in keys:
            self.do(dispatch(), assign(key))
            self.do(start(key, self.run_of(key), reservation))
        return self

    def complete(self, *keys: str) -> "Story":
        for key in keys:
            self.begin(key).complete_started(key)
        return self

    def complete_started(self, key: str) -> "Story":
        return self.do(finish(key, self.run_of(key)))

    @property
    def newest(self) -> str:
        """The newest Candidate."""
        return list(self.state.candidates)[-1]


def created(**fields: Any) -> Story:
    return Story(create(**fields))


def compiling(**fields: Any) -> Story:
    return created(**fields).do(start_compiling())


def running(*tasks: PlannedTask, checks: Sequence[Check] = (TESTS,), budget: int = 10 * USD, **fields: Any) -> Story:
    return compiling(budget=budget).do(base_checks(), compile_(plan(*tasks, **fields), checks), dispatch())


def verifying(*tasks: PlannedTask, **fields: Any) -> Story:
    """All Tasks completed, no Candidate yet."""
    story = running(*tasks, **fields)
    return story.complete(*(planned_task.key for planned_task in (tasks or (planned("t1"),))))


def with_candidate(*tasks: PlannedTask, **fields: Any) -> Story:
    """A Candidate is composing."""
    return verifying(*tasks, **fields).do(candidate())


def selected(*tasks: PlannedTask, **fields: Any) -> Story:
    """The only Candidate is verified and selected: verifying if it needs no person, else awaiting_approval."""
    story = with_candidate(*tasks, **fields)
    return story.do(composed(story.newest), judged(story.newest))


def promoting(*tasks: PlannedTask, **fields: Any) -> Story:
    story = selected(*tasks, **fields)
    return story.do(promote(story.newest))


def candidate_on(story: Story, generation: int) -> str:
    """The ID of the Candidate that the story's present work would have on `generation`."""
    changesets = tuple(t.changeset for t in story.state.tasks.values() if t.changeset is not None)
    return candidate_id(CHANGE_ID, generation, f"base{generation}", changesets)

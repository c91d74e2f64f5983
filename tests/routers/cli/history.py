"""What happens to one Change with one task, as events, step by step."""

from collections.abc import Iterable
from typing import Any

from domain.change import event as e
from domain.change.status import ChangeStatus
from domain.check import Check, CheckSource, Evidence, PlannedCheck, Variant
from domain.kernel.event import BlobRef, Event, Head
from domain.kernel.ids import candidate_id, changeset_id, project_id, run_id, task_id
from domain.plan import Complexity, RiskTier, TaskKind
from domain.policy import DEFAULT_POLICY
from domain.project.event import ProjectCreated
from domain.run.event import RunFinished, RunStarted
from domain.run.status import RunOutcome

ME = "usr_me"
PROJECT = project_id("00000000-0000-4000-8000-00000000000a")
BASE = "a" * 40
WORK = "b" * 40
RESULT = "c" * 40
TREE = "d" * 40
BUDGET = 5_000_000
COST = 12_500
CHECK = Check(name="tests", command="pytest", source=CheckSource.PERSON)
NO_HEAD = Head(version=1, hash="0" * 64)


class History:
    """The events of one Change. put: stores a text and names it."""

    def __init__(self, change: str, put: Any, goal: str = "Say hello") -> None:
        self.change, self.put, self.goal = change, put, goal
        self.task = task_id(change, "t1")
        self.run = run_id(self.task, 1)
        self.changeset = changeset_id(self.run)
        self.candidate = candidate_id(change, 0, BASE, (self.changeset,))

    def blob(self, text: bytes) -> BlobRef:
        ref: BlobRef = self.put(text)
        return ref

    @staticmethod
    def project() -> ProjectCreated:
        return ProjectCreated(
            project=PROJECT, repository="/home/me/repo", branch="main", commit=BASE, owner=ME, policy=DEFAULT_POLICY
        )

    def created(self) -> list[Event]:
        return [
            e.ChangeCreated(
                change=self.change,
                project=PROJECT,
                requester=ME,
                client_request_id=f"request-{self.change}",
                goal=self.blob(self.goal.encode()),
                settings=self.blob(b"{}"),
                base_generation=0,
                base_commit=BASE,
                budget=BUDGET,
                policy=DEFAULT_POLICY.name,
            ),
            e.CompileStarted(compile=1),
        ]

    def evidence(self, exit_code: int | None = 0, output: bytes = b"", **more: Any) -> Evidence:
        values = {"check": "tests", "variant": Variant.AS_IS, "duration_ms": 1_300, **more}
        return Evidence(exit_code=exit_code, output=self.blob(output), **values)

    def base_checked(self, evidence: Evidence | None = None) -> list[Event]:
        return [e.BaseVerified(base_commit=BASE, evidence=(evidence or self.evidence(),))]

    def compiled(self) -> list[Event]:
        return [
            e.ChangeCompiled(
                plan=self.blob(b"{}"),
                risk_tier=RiskTier.LOW,
                human_approval_required=False,
                destructive_migration=False,
                complexity=Complexity.SMALL,
                acceptance_criteria=0,
                checks=(CHECK,),
                setup=None,
                cost=0,
            ),
            e.TaskCreated(task=self.task, key="t1", kind=TaskKind.IMPLEMENT, depends_on=(), resources=()),
            e.TaskReady(task=self.task),
        ]

    def started(self) -> list[Event]:
        agent = self.task.replace("tsk_", "agt_")
        return [
            e.TaskAssigned(task=self.task, agent=agent, run=self.run, attempt=1),
            e.TaskStarted(
                task=self.task, run=self.run, base_generation=0, base_commit=BASE, reservation=None, started_at=0
            ),
        ]

    def run_events(self, log: bytes, cost: int | None = COST) -> list[Event]:
        """On the Run's own stream."""
        return [
            RunStarted(
                task=self.task,
                change=self.change,
                project=PROJECT,
                attempt=1,
                provider="command",
                base_commit=BASE,
                reservation=None,
                budget=None,
                sandboxed=True,
                continues=None,
            ),
            RunFinished(
                outcome=RunOutcome.COMPLETED,
                reason="done",
                exit_code=0,
                cost=cost,
                log=self.blob(log),
                commit=WORK,
                tree=TREE,
                report=None,
                duration_ms=2_000,
            ),
        ]

    def worked(self, cost: int | None = COST) -> list[Event]:
        return [
            e.ChangeSetProposed(
                changeset=self.changeset,
                task=self.task,
                run=self.run,
                base_commit=BASE,
                commit=WORK,
                tree=TREE,
                empty=False,
            ),
            e.TaskCompleted(
                task=self.task, run=self.run, run_head=NO_HEAD, changeset=self.changeset, report=None, cost=cost
            ),
            e.VerificationStarted(reason="work_graph_completed"),
            e.CandidateCreated(
                candidate=self.candidate, base_generation=0, base_commit=BASE, changesets=(self.changeset,)
            ),
            e.CandidateComposed(
                candidate=self.candidate, commit=RESULT, tree=TREE, plan=(PlannedCheck(check="tests"),)
            ),
        ]

    def judged(self, evidence: Evidence | None = None) -> list[Event]:
        return [e.EvidenceRecorded(candidate=self.candidate, evidence=evidence or self.evidence())]

    def selected(self, gated: bool = False) -> list[Event]:
        return [
            e.CandidateVerified(candidate=self.candidate),
            e.CandidateSelected(candidate=self.candidate, gated=gated),
        ]

    def gated(self, reason: str = "its risk tier is high", files: tuple[str, ...] = ()) -> list[Event]:
        return [
            *self.selected(gated=True),
            e.ApprovalRequested(candidate=self.candidate, trigger="policy", reason=reason, files=files),
        ]

    def promoted(self, before: ChangeStatus = ChangeStatus.VERIFYING, refused: str | None = None) -> list[Event]:
        return [
            e.PromotionRequested(candidate=self.candidate, trigger="auto", before=before),
            e.CandidatePromoted(candidate=self.candidate, generation=1, commit=RESULT, change_head=NO_HEAD),
            e.ChangeCompleted(outcome="promoted"),
            e.BranchExported(
                candidate=self.candidate, branch=f"rhumbline/{self.change}", commit=RESULT, refused=refused
            ),
        ]

    def rejected(self, evidence: Evidence) -> list[Event]:
        return [
            *self.judged(evidence),
            e.CandidateRejected(
                candidate=self.candidate, reason=e.RejectReason.CHECK_FAILED, detail="tests failed with exit code 1"
            ),
            e.ChangeFailed(phase="verification", reason="no_candidate_can_ship"),
        ]

    def dead_letter(self) -> list[Event]:
        return [
            e.TaskAssigned(task=self.task, agent=self.task.replace("tsk_", "agt_"), run=self.run, attempt=1),
            e.TaskBlocked(task=self.task, cause=e.BlockCause.DEAD_LETTER, detail="its wake failed 5 times"),
        ]

    def ready(self) -> list[Event]:
        """Everything up to the task that can start."""
        return self.of(self.created(), self.base_checked(), self.compiled())

    def composed(self, cost: int | None = COST) -> list[Event]:
        """Everything up to the candidate whose checks run."""
        return self.of(self.ready(), self.started(), self.worked(cost))

    def whole(self, cost: int | None = COST) -> list[Event]:
        """From the request to the exported branch."""
        return self.of(self.composed(cost), self.judged(), self.selected(), self.promoted())

    @staticmethod
    def of(*parts: Iterable[Event]) -> list[Event]:
        return [event for part in parts for event in part]

"""A made-up but possible history: Projects, Changes with their Runs, money, promotions and releases, interleaved.

The same seed gives the same history. Every stream can be folded by its aggregate.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from commands.ports.store import Commit, Sealed, StreamAppend
from domain.change import event as c
from domain.change.status import ChangeStatus, TaskStatus
from domain.check import Check, CheckSource, Evidence, PlannedCheck, Variant
from domain.kernel import ids
from domain.kernel.event import GENESIS_HASH, BlobRef, Command, Event, Head, seal
from domain.plan import Complexity, RiskTier, TaskKind
from domain.policy import DEFAULT_POLICY
from domain.project import event as p
from domain.project.role import Role
from domain.release import event as rel
from domain.run import event as r
from domain.run.status import RunOutcome

BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)
BUDGET: Final = 20_000_000
CHECKS: Final = ("tests", "lint", "types")
KINDS: Final = (TaskKind.IMPLEMENT, TaskKind.TEST, TaskKind.MIGRATE, TaskKind.RESEARCH)

Step = Sequence[tuple[str, Event]]
"""Events of one commit, each with its stream."""


@dataclass
class _Canonical:
    project: str
    generation: int = 0
    commit: str = ""


@dataclass
class _Task:
    id: str
    key: str
    kind: TaskKind
    attempt: int = 0

    @property
    def run(self) -> str:
        return ids.run_id(self.id, self.attempt)

    def next_run(self) -> str:
        self.attempt += 1
        return self.run


@dataclass
class History:
    """Makes commits. `in_flight` Changes go on at the same time in each of `projects` Projects."""

    seed: int
    projects: int = 3
    in_flight: int = 4
    _heads: dict[str, tuple[int, str]] = field(default_factory=dict)
    _last_event: dict[str, str] = field(default_factory=dict)
    _count: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    # -- driving ---------------------------------------------------------------------------------------------------

    def commits(self, events: int) -> Iterator[Commit]:
        """Commits with at least `events` events in total."""
        canonicals = [_Canonical(ids.project_id(self._uuid())) for _ in range(self.projects)]
        for canonical in canonicals:
            yield self._commit(self._project(canonical))
        lives = [self._change(canonical) for canonical in canonicals for _ in range(self.in_flight)]
        while self._count < events:
            chosen = self._random.randrange(len(lives))
            step = next(lives[chosen], None)
            if step is None:
                lives[chosen] = self._change(canonicals[chosen // self.in_flight])
            else:
                yield self._commit(step)

    def _commit(self, step: Step) -> Commit:
        appends: dict[str, list[Sealed]] = {}
        expected: dict[str, int] = {}
        for stream, event in step:
            sealed = self._seal(stream, event)
            expected.setdefault(stream, sealed.envelope.version - 1)
            appends.setdefault(stream, []).append(sealed)
        return Commit(appends=tuple(StreamAppend(s, expected[s], tuple(events)) for s, events in appends.items()))

    def _seal(self, stream: str, event: Event) -> Sealed:
        self._count += 1
        version, hash_ = self._heads.get(stream, (0, GENESIS_HASH))
        run = stream if stream.startswith("run_") else None
        correlation = self._correlation(stream)
        command = Command(
            command_id=f"cmd-{self.seed}-{self._count}",
            actor="usr_ada" if version == 0 else "system:router",
            at=BEGIN + timedelta(seconds=17 * self._count),
            causation=self._last_event.get(correlation or stream),
            correlation=correlation,
        )
        envelope, stored, digest = seal(stream, version + 1, hash_, event, command, run)
        self._heads[stream] = (version + 1, digest)
        self._last_event[correlation or stream] = envelope.id
        return Sealed(envelope, stored, digest)

    @staticmethod
    def _correlation(stream: str) -> str | None:
        if stream.startswith("chg_"):
            return stream
        return ids.change_of_task(ids.task_of_run(stream)) if stream.startswith("run_") else None

    # -- values ----------------------------------------------------------------------------------------------------

    def _uuid(self) -> str:
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def _hex(self, digits: int = 40) -> str:
        return f"{self._random.getrandbits(4 * digits):0{digits}x}"

    def _blob(self) -> BlobRef:
        return BlobRef(sha256=self._hex(64), size=self._random.randrange(1, 100_000))

    def _head(self, stream: str) -> Head:
        version, hash_ = self._heads.get(stream, (0, GENESIS_HASH))
        return Head(version=version, hash=hash_)

    def _cost(self) -> int | None:
        return None if self._random.random() < 0.1 else self._random.randrange(1_000, 400_000)

    def _likely(self, share: float) -> bool:
        return self._random.random() < share

    # -- lives -----------------------------------------------------------------------------------------------------

    def _project(self, canonical: _Canonical) -> Step:
        canonical.commit = self._hex()
        project = canonical.project
        return [
            (
                project,
                p.ProjectCreated(
                    project=project,
                    repository=f"/srv/{project}.git",
                    branch="main",
                    commit=canonical.commit,
                    owner="usr_ada",
                    policy=DEFAULT_POLICY,
                ),
            ),
            (project, p.MemberAdded(user="usr_bob", role=Role.MEMBER)),
        ]

    def _change(self, canonical: _Canonical) -> Iterator[Step]:
        change = ids.change_id(self._uuid())
        yield [(change, self._created(change, canonical)), (change, c.CompileStarted(compile=1))]
        evidence = tuple(self._evidence(check, Variant.AS_IS, True) for check in CHECKS)
        yield [(change, c.BaseVerified(base_commit=canonical.commit, evidence=evidence))]
        if self._likely(0.05):
            yield [(change, c.ChangeFailed(phase="planning", reason="plan_refused"))]
            return
        tier = self._random.choice(list(RiskTier))
        tasks = [
            _Task(ids.task_id(change, f"t{n}"), f"t{n}", KINDS[(n - 1) % len(KINDS)])
            for n in range(1, self._random.randrange(2, 7))
        ]
        yield [(change, event) for event in self._compiled(tasks, tier)]
        changesets: list[str] = []
        for task in tasks:
            yield from self._task(change, canonical, task, changesets)
            if self._likely(0.02):
                yield [(change, event) for event in self._cancelled(tasks[tasks.index(task) + 1 :])]
                return
        yield [(change, c.VerificationStarted(reason="work_graph_completed"))]
        yield from self._verification(change, canonical, tier, tuple(changesets))

    def _created(self, change: str, canonical: _Canonical) -> Event:
        return c.ChangeCreated(
            change=change,
            project=canonical.project,
            requester="usr_ada",
            client_request_id=self._uuid(),
            goal=self._blob(),
            settings=self._blob(),
            base_generation=canonical.generation,
            base_commit=canonical.commit,
            budget=BUDGET,
            policy=DEFAULT_POLICY.name,
            checks=tuple(Check(name=n, command=f"make {n}", source=CheckSource.PERSON) for n in CHECKS),
        )

    def _compiled(self, tasks: list[_Task], tier: RiskTier) -> Iterator[Event]:
        yield c.ChangeCompiled(
            plan=self._blob(),
            risk_tier=tier,
            human_approval_required=False,
            destructive_migration=False,
            complexity=Complexity.MEDIUM,
            acceptance_criteria=2,
            checks=tuple(Check(name=n, command=f"make {n}", source=CheckSource.PERSON) for n in CHECKS),
            setup=None,
            cost=self._cost(),
        )
        for number, task in enumerate(tasks):
            yield c.TaskCreated(
                task=task.id,
                key=task.key,
                kind=task.kind,
                depends_on=(tasks[number - 1].id,) if number % 3 == 2 else (),
                resources=(f"area{number}:api",),
            )

    def _task(self, change: str, canonical: _Canonical, task: _Task, changesets: list[str]) -> Iterator[Step]:
        yield [(change, c.TaskReady(task=task.id))]
        if self._likely(0.1):
            yield [(change, c.TaskDeferred(task=task.id))]
            yield [(change, c.TaskWakeRequested(task=task.id))]
        run = task.next_run()
        yield [(change, c.TaskAssigned(task=task.id, agent=ids.agent_id(task.id), run=run, attempt=task.attempt))]
        yield [
            (
                change,
                c.TaskStarted(
                    task=task.id,
                    run=run,
                    base_generation=canonical.generation,
                    base_commit=canonical.commit,
                    reservation=500_000,
                    started_at=1_800_000_000 + self._count,
                ),
            ),
            (run, self._run_started(change, canonical, task)),
            (run, r.RouteDecided(tier="sonnet", model="model-1", reason="default_tier")),
        ]
        yield from self._turns(run)
        while self._likely(0.15):
            yield self._retry(change, canonical, task)
            yield from self._turns(task.run)
        if self._likely(0.05):
            lost, run = task.run, task.next_run()
            status = TaskStatus.RUNNING
            requeued = c.TaskRequeued(task=task.id, lost=lost, run=run, attempt=task.attempt, status=status)
            yield [
                (lost, self._run_finished(RunOutcome.LOST, "lease_lost", None)),
                (change, requeued),
                (run, self._run_started(change, canonical, task)),
            ]
        yield self._completed(change, canonical, task, changesets)

    def _turns(self, run: str) -> Iterator[Step]:
        for turn in range(1, self._random.randrange(2, 9)):
            yield [(run, r.TurnRecorded(turn=turn, tree=self._hex(), cost=self._cost()))]

    def _run_started(self, change: str, canonical: _Canonical, task: _Task) -> Event:
        return r.RunStarted(
            task=task.id,
            change=change,
            project=canonical.project,
            attempt=task.attempt,
            provider="anthropic",
            base_commit=canonical.commit,
            reservation=500_000,
            budget=None,
            sandboxed=True,
            continues=None,
        )

    def _run_finished(self, outcome: RunOutcome, reason: str, cost: int | None) -> Event:
        return r.RunFinished(
            outcome=outcome,
            reason=reason,
            exit_code=0 if outcome is RunOutcome.COMPLETED else None,
            cost=cost,
            log=self._blob(),
            commit=self._hex() if outcome is RunOutcome.COMPLETED else None,
            tree=self._hex(),
            report=None,
            duration_ms=self._random.randrange(600_000),
        )

    def _retry(self, change: str, canonical: _Canonical, task: _Task) -> Step:
        ended, cost, run = task.run, self._cost(), task.next_run()
        retried = c.TaskRetried(
            task=task.id,
            ended=ended,
            run=run,
            attempt=task.attempt,
            reason="no_changes",
            hint="no_changes",
            reservation=500_000,
            cost=cost,
        )
        return [
            (ended, self._run_finished(RunOutcome.FAILED, "no_changes", cost)),
            (change, retried),
            (run, self._run_started(change, canonical, task)),
        ]

    def _completed(self, change: str, canonical: _Canonical, task: _Task, changesets: list[str]) -> Step:
        run, cost = task.run, self._cost()
        changeset = ids.changeset_id(run)
        changesets.append(changeset)
        finished = self._run_finished(RunOutcome.COMPLETED, "done", cost)
        proposed = c.ChangeSetProposed(
            changeset=changeset,
            task=task.id,
            run=run,
            base_commit=canonical.commit,
            commit=self._hex(),
            tree=self._hex(),
            empty=False,
        )
        completed = c.TaskCompleted(
            task=task.id, run=run, run_head=self._head(run), changeset=changeset, report=None, cost=cost
        )
        return [(run, finished), (change, proposed), (change, completed)]

    def _cancelled(self, left: list[_Task]) -> Iterator[Event]:
        for task in left:
            yield c.TaskCancelled(task=task.id, run=None)
        yield c.ChangeCancelled()

    def _evidence(self, check: str, variant: Variant, passed: bool) -> Evidence:
        duration = self._random.randrange(60_000)
        exit_code = 0 if passed else 1
        return Evidence(check=check, variant=variant, exit_code=exit_code, duration_ms=duration, output=self._blob())

    def _verification(
        self, change: str, canonical: _Canonical, tier: RiskTier, changesets: tuple[str, ...]
    ) -> Iterator[Step]:
        recomposes: str | None = None
        for recompositions in range(6):
            generation, base = canonical.generation, canonical.commit
            candidate = ids.candidate_id(change, generation, base, changesets)
            yield [
                (
                    change,
                    c.CandidateCreated(
                        candidate=candidate,
                        base_generation=generation,
                        base_commit=base,
                        changesets=changesets,
                        recomposes=recomposes,
                        recompositions=recompositions,
                    ),
                )
            ]
            composed = self._hex()
            yield [(change, self._composed(candidate, composed))]
            for check in CHECKS:
                evidence = self._evidence(check, Variant.AS_IS, True)
                yield [(change, c.EvidenceRecorded(candidate=candidate, evidence=evidence))]
            if self._likely(0.1):
                yield [(change, event) for event in self._check_failed(candidate)]
                return
            yield [
                (change, c.CandidateVerified(candidate=candidate)),
                (change, c.CandidateSelected(candidate=candidate, gated=tier in (RiskTier.HIGH, RiskTier.CRITICAL))),
            ]
            if canonical.generation == generation:
                yield from self._promotion(change, canonical, tier, candidate, composed)
                return
            stale = c.CandidateStale(candidate=candidate, generation=canonical.generation)
            yield [(change, stale)]
            recomposes = candidate
        yield [(change, c.ChangeBlocked(reason="stale_not_rebuilt"))]

    def _composed(self, candidate: str, commit: str) -> Event:
        plan = tuple(PlannedCheck(check=check) for check in CHECKS)
        return c.CandidateComposed(candidate=candidate, commit=commit, tree=self._hex(), plan=plan)

    def _check_failed(self, candidate: str) -> Iterator[Event]:
        yield c.EvidenceRecorded(candidate=candidate, evidence=self._evidence("tests", Variant.AS_IS, False))
        reason, detail = c.RejectReason.CHECK_FAILED, "tests failed with exit code 1"
        yield c.CandidateRejected(candidate=candidate, reason=reason, detail=detail)
        yield c.ChangeFailed(phase="verification", reason="no_candidate_passed")

    def _promotion(
        self, change: str, canonical: _Canonical, tier: RiskTier, candidate: str, commit: str
    ) -> Iterator[Step]:
        gated = tier in (RiskTier.HIGH, RiskTier.CRITICAL)
        before = ChangeStatus.AWAITING_APPROVAL if gated else ChangeStatus.VERIFYING
        # From here to the compare-and-swap in one commit: canonical must not move in between.
        step: list[tuple[str, Event]] = []
        if gated:
            asked = c.ApprovalRequested(candidate=candidate, trigger="policy", reason="tier_waits_for_a_person")
            step += [(change, asked), (change, c.ApprovalGranted(candidate=candidate))]
        requested = c.PromotionRequested(candidate=candidate, trigger="person" if gated else "auto", before=before)
        step.append((change, requested))
        canonical.generation, canonical.commit = canonical.generation + 1, commit
        step += self._swapped(change, canonical, candidate)
        releases = self._likely(0.3)
        release = ids.release_id(canonical.project, canonical.generation)
        if releases:
            step.append((change, c.BuildStarted(release=release)))
            step.append((release, rel.ReleaseQueued(released=self._released(change, canonical))))
        yield step
        if releases:
            yield [(release, rel.ReleaseBuilding(target="production"))]
            yield [(release, rel.ReleaseDeployed(bundle=self._hex(64), smoke=self._blob()))]
        outcome = "deployed" if releases else "promoted"
        exported = c.BranchExported(candidate=candidate, branch=f"rhumbline/{change}", commit=commit)
        yield [(change, c.ChangeCompleted(outcome=outcome)), (change, exported)]

    def _swapped(self, change: str, canonical: _Canonical, candidate: str) -> Step:
        head, generation, commit = self._head(change), canonical.generation, canonical.commit
        advanced = p.CanonicalAdvanced(
            generation=generation,
            commit=commit,
            candidate=candidate,
            change=change,
            change_head=head,
            approver=None,
        )
        promoted = c.CandidatePromoted(candidate=candidate, generation=generation, commit=commit, change_head=head)
        moved = p.CanonicalRefMoved(generation=generation, commit=commit, was=None, lost=None)
        return [(canonical.project, advanced), (change, promoted), (canonical.project, moved)]

    def _released(self, change: str, canonical: _Canonical) -> rel.Released:
        return rel.Released(
            project=canonical.project,
            generation=canonical.generation,
            commit=canonical.commit,
            promoted_at=BEGIN + timedelta(seconds=17 * self._count),
            change=change,
            change_head=self._head(change),
        )

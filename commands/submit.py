"""Taking a request: repository, project, canonical, Change, in that order; a bad one changes nothing."""

import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from commands.checks.resolve import judges_of_base
from commands.context import Context, meta
from commands.document import plan_document
from commands.ports.agent import AgentRequest
from commands.ports.git import Canonical, PersonRepository, Relation
from commands.ports.store import Handled, Handling
from commands.unit import Unit
from domain.change.command import CreateChange
from domain.change.error import RequestDiffers
from domain.check import Check
from domain.kernel.errors import InvalidInput
from domain.kernel.ids import change_id, project_id
from domain.kernel.value import clean_text, encode_path
from domain.plan import WorkGraphPlan
from domain.policy import DEFAULT_POLICY
from domain.project.command import CreateProject, ImportCommit
from domain.project.event import ImportRelation
from domain.project.state import ProjectState

GOAL_LIMIT: Final = 20_000
REQUEST_ID_LIMIT: Final = 200
NAMESPACE: Final = uuid.UUID("5b0c2f0e-6a38-5f5e-9a0f-0d0f6f2a7c11")
"""Project and Change IDs that derive from a value are UUIDs of version 5 in this namespace."""


@dataclass(frozen=True, slots=True)
class Submission:
    """What a person asks for. requester: a pseudonymous ID. budget in micro-dollars.

    plan: a Work Graph of the person's own; None asks for one.
    client_request_id: the same one again from the same requester is the same Change.
    """

    goal: str
    repository: Path
    requester: str
    agent: AgentRequest
    budget: int
    base: str | None = None
    plan: WorkGraphPlan | None = None
    checks: tuple[Check, ...] = ()
    approve: bool = False
    allow_red_base: bool = False
    sandboxed: bool = True
    client_request_id: str | None = None
    start_planning: bool = True


@dataclass(frozen=True, slots=True)
class Submitted:
    """The Change, and what the person should know: warnings about the repository, notes about the base."""

    change: str
    project: str
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def check_goal(goal: str) -> str:
    """The goal as it is stored.

    Raises:
        InvalidInput: empty, over `GOAL_LIMIT` characters, or with characters that are no text.
    """
    if not goal.strip():
        raise InvalidInput("the goal is empty: say in a sentence what should change")
    if len(goal) > GOAL_LIMIT:
        raise InvalidInput(f"the goal has {len(goal):,} characters, at most {GOAL_LIMIT:,} are taken: shorten it")
    if clean_text(goal) != goal:
        raise InvalidInput("the goal holds characters that are no text (NUL, or bytes that aren't UTF-8)")
    return goal


def check_request_id(request_id: str) -> str:
    """The client's request ID as it is stored.

    Raises:
        InvalidInput: empty, over `REQUEST_ID_LIMIT` characters, or with characters that are no text.
    """
    if not request_id.strip() or len(request_id) > REQUEST_ID_LIMIT or clean_text(request_id) != request_id:
        raise InvalidInput(
            f"the request ID must be text of 1 to {REQUEST_ID_LIMIT} characters (--request-id), a UUID for example"
        )
    return request_id


def submit(ctx: Context, request: Submission) -> Submitted:
    """Store the Change; planning starts by the event.

    Raises:
        InvalidInput, RepositoryError, AgentInputError, SandboxUnavailable, ProjectFileError, NoCheckFound: nothing is
            stored.
        RequestDiffers: the same client request ID with another goal.
    """
    goal = check_goal(request.goal)
    given = request.client_request_id
    client_request_id = ctx.new_uuid() if given is None else check_request_id(given)
    repository = ctx.people.inspect(request.repository, request.base)
    settings = ctx.agents.prepare(request.agent)
    ctx.sandbox(request.sandboxed)
    plan = None if request.plan is None else plan_document(request.plan)
    _require_no_secret(ctx.agents.open(settings, request.sandboxed).secrets(), goal, plan)
    change = change_id(str(uuid.uuid5(NAMESPACE, f"{request.requester}\0{client_request_id}")))
    project = _project_of(repository)
    if (existing := ctx.writer.state(change)) is not None:
        if ctx.objects.get(existing.goal).decode() != goal:
            raise RequestDiffers(change, ("goal",))
        return Submitted(change, existing.project, repository.warnings, ())
    canonical = ctx.canonicals.open(project)
    # The commit lies in canonical, pinned and synced, before any event names it.
    canonical.fetch(repository.path, repository.commit, f"refs/rhumb/base/{repository.commit}")
    judges = judges_of_base(canonical, _base_of(ctx.writer.state(project), repository, canonical), request.checks)
    plan_ref = None if plan is None else ctx.objects.put(plan)
    goal_ref, settings_ref = ctx.objects.put(goal.encode()), ctx.objects.put(settings)

    def work(unit: Unit) -> tuple[str, ...]:
        bookkeeping = meta(f"cmd_{ctx.new_uuid()}", request.requester, ctx.clock(), None, change)
        notes = _enter(unit, bookkeeping, project, repository, canonical, request.requester)
        state: ProjectState = unit.state(project)
        unit.decide(
            change,
            CreateChange(
                **bookkeeping,
                change=change,
                project=project,
                client_request_id=client_request_id,
                goal=goal_ref,
                settings=settings_ref,
                base_generation=state.generation,
                base_commit=state.commit,
                budget=request.budget,
                policy=state.policy.name,
                plan=plan_ref,
                checks=request.checks,
                start_planning=request.start_planning,
                allow_red_base=request.allow_red_base,
                approved_in_advance_by=request.requester if request.approve else None,
                sandboxed=request.sandboxed,
            ),
        )
        handled = Handled(
            command_id=bookkeeping["command_id"],
            name="change.create",
            actor=request.requester,
            at=bookkeeping["at"],
            handling=Handling.DONE,
            correlation=change,
            payload={"change": change, "project": project, "goal": goal_ref.model_dump(mode="json")},
        )
        unit.commit(handled=(handled,))
        return notes

    try:
        notes = ctx.writer.transact(work)
    except RequestDiffers:
        # The salt makes every reference to a text another one, so the same request at the same time looks different.
        existing = ctx.writer.state(change)
        if existing is None or ctx.objects.get(existing.goal).decode() != goal:
            raise
        notes = ()
    return Submitted(change, project, repository.warnings, (*notes, judges.told))


def _require_no_secret(secrets: tuple[str, ...], goal: str, plan: bytes | None) -> None:
    """The goal is stored, and shows up in commits: no value that is let in for an agent may be in it."""
    for secret in secrets:
        if secret in goal or (plan is not None and secret.encode() in plan):
            raise InvalidInput("the goal or the plan holds the value of a variable of --agent-env: leave it out")


def _base_of(state: ProjectState | None, repository: PersonRepository, canonical: Canonical) -> str:
    """The commit that the Change will start on: canonical's, unless the person's goes beyond it."""
    if state is None or canonical.relation(repository.commit, state.commit) in (Relation.AHEAD, Relation.DIVERGED):
        return repository.commit
    return state.commit


def _project_of(repository: PersonRepository) -> str:
    """A project is one (repository, branch), so its ID derives from both and can exist once only."""
    name = f"{encode_path(str(repository.path).encode('utf-8', 'surrogateescape'))}\0{repository.branch}"
    return project_id(str(uuid.uuid5(NAMESPACE, name)))


def _enter(
    unit: Unit,
    bookkeeping: dict[str, object],
    project: str,
    repository: PersonRepository,
    canonical: Canonical,
    requester: str,
) -> tuple[str, ...]:
    """Create the project, or bring it to the person's HEAD as DESIGN's "Who may do what" says; returns notes."""
    state: ProjectState | None = unit.state(project)
    if state is None:
        unit.decide(
            project,
            CreateProject(
                **bookkeeping,
                project=project,
                repository=encode_path(str(repository.path).encode("utf-8", "surrogateescape")),
                branch=repository.branch,
                commit=repository.commit,
                owner=requester,
                policy=DEFAULT_POLICY,
            ),
        )
        return ()
    relation = canonical.relation(repository.commit, state.commit)
    if relation is Relation.EQUAL:
        return ()
    lacks = _lacking(state, repository.commit, canonical)
    if relation is Relation.BEHIND:
        return (f"the base includes what was promoted before and isn't on your branch yet: {', '.join(lacks)}",)
    unit.decide(
        project,
        ImportCommit(
            **bookkeeping,
            expected_generation=state.generation,
            commit=repository.commit,
            relation=ImportRelation(relation.value),
            lacks=lacks if relation is Relation.DIVERGED else (),
        ),
    )
    if relation is Relation.DIVERGED:
        return (f"your branch went another way and lacks what was promoted: {', '.join(lacks) or 'earlier imports'}",)
    return ()


def _lacking(state: ProjectState, commit: str, canonical: Canonical) -> tuple[str, ...]:
    """The promoted Changes that canonical contains and the person's commit doesn't."""
    contained = set(state.promoted_changes())
    return tuple(
        step.change
        for step in state.history
        if step.change in contained
        and step.change is not None
        and canonical.relation(step.commit, commit) not in (Relation.EQUAL, Relation.BEHIND)
    )

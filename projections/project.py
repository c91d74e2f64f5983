"""Projects: one (repository, branch) each, its members, and what is canonical."""

from dataclasses import dataclass
from typing import Any, Final

from domain.kernel.event import Envelope
from domain.policy import Policy
from domain.project.event import (
    CanonicalAdvanced,
    CanonicalImported,
    CanonicalRefMoved,
    MemberAdded,
    MemberRemoved,
    PolicySet,
    ProjectCreated,
)
from domain.project.role import Role
from projections.core import Changed, Key, ReadModel, Row, Rows, Table, existing, stream
from projections.query import Select, Views

PROJECTS: Final = Table(
    "projects",
    {
        "id": "text",
        "repository": "text",
        "branch": "text",
        "generation": "bigint",
        "commit": "text",
        "ref_generation": "bigint null",
        "ref_commit": "text null",
        "policy": "text",
        "auto_tiers": "text[]",
        "gated_tiers": "text[]",
        "protected_resources": "text[]",
        "created_at": "timestamptz",
        "updated_at": "timestamptz",
    },
    key=("id",),
    indexes=(("repository", "branch"),),
)
"""ref_generation and ref_commit: what the git ref was last set to by the reconciler."""

MEMBERS: Final = Table(
    "members",
    {"project": "text", "user_id": "text", "role": "text", "since": "timestamptz"},
    key=("project", "user_id"),
    indexes=(("user_id",),),
)

GENERATIONS: Final = Table(
    "generations",
    {
        "project": "text",
        "generation": "bigint",
        "commit": "text",
        "how": "text",
        "change": "text null",
        "candidate": "text null",
        "approver": "text null",
        "lacks": "text[]",
        "at": "timestamptz",
    },
    key=("project", "generation"),
    indexes=(("commit",), ("change",)),
    append_only=True,
)
"""how: `created`, `imported` or `promoted`."""

MODEL: Final = ReadModel("projects", __name__, PROJECTS, MEMBERS, GENERATIONS)


def _policy(policy: Policy) -> Row:
    return {
        "policy": policy.name,
        "auto_tiers": [tier.value for tier in policy.auto_promote_risk_tiers],
        "gated_tiers": [tier.value for tier in policy.human_gate_risk_tiers],
        "protected_resources": list(policy.protected_resources),
    }


def _member(project: str, user: str, role: Role, envelope: Envelope) -> Changed:
    row = {"project": project, "user_id": user, "role": role.value, "since": envelope.at}
    return {(MEMBERS.name, project, user): row}


def _generation(envelope: Envelope, generation: int, commit: str, how: str, **more: Any) -> Changed:
    row = {
        "project": envelope.stream,
        "generation": generation,
        "commit": commit,
        "how": how,
        "change": None,
        "candidate": None,
        "approver": None,
        "lacks": [],
        "at": envelope.at,
        **more,
    }
    return {(GENERATIONS.name, envelope.stream, generation): row}


def _project_key(event: Any, envelope: Envelope) -> tuple[Key, ...]:
    return ((PROJECTS.name, envelope.stream),)


def _canonical(rows: Rows, envelope: Envelope, generation: int, commit: str) -> Changed:
    key = (PROJECTS.name, envelope.stream)
    row = existing(rows, key, envelope)
    return {key: {**row, "generation": generation, "commit": commit, "updated_at": envelope.at}}


@MODEL.on(ProjectCreated, keys=lambda event, envelope: ())
def _created(event: ProjectCreated, envelope: Envelope, position: int, rows: Rows) -> Changed:
    row = {
        "id": envelope.stream,
        "repository": event.repository,
        "branch": event.branch,
        "generation": event.generation,
        "commit": event.commit,
        "ref_generation": None,
        "ref_commit": None,
        **_policy(event.policy),
        "created_at": envelope.at,
        "updated_at": envelope.at,
    }
    return {
        (PROJECTS.name, envelope.stream): row,
        **_member(envelope.stream, event.owner, Role.OWNER, envelope),
        **_generation(envelope, event.generation, event.commit, "created"),
    }


@MODEL.on(MemberAdded, keys=lambda event, envelope: ())
def _member_added(event: MemberAdded, envelope: Envelope, position: int, rows: Rows) -> Changed:
    return _member(envelope.stream, event.user, event.role, envelope)


@MODEL.on(MemberRemoved, keys=lambda event, envelope: ())
def _member_removed(event: MemberRemoved, envelope: Envelope, position: int, rows: Rows) -> Changed:
    return {(MEMBERS.name, envelope.stream, event.user): None}


@MODEL.patches(PolicySet, table=PROJECTS, key=stream)
def _policy_set(row: Row, event: PolicySet, envelope: Envelope) -> Row:
    return _policy(event.policy)


@MODEL.on(CanonicalImported, keys=_project_key)
def _imported(event: CanonicalImported, envelope: Envelope, position: int, rows: Rows) -> Changed:
    step = _generation(envelope, event.generation, event.commit, "imported", lacks=list(event.lacks))
    return {**_canonical(rows, envelope, event.generation, event.commit), **step}


@MODEL.on(CanonicalAdvanced, keys=_project_key)
def _advanced(event: CanonicalAdvanced, envelope: Envelope, position: int, rows: Rows) -> Changed:
    cause = {"change": event.change, "candidate": event.candidate, "approver": event.approver}
    step = _generation(envelope, event.generation, event.commit, "promoted", **cause)
    return {**_canonical(rows, envelope, event.generation, event.commit), **step}


@MODEL.patches(CanonicalRefMoved, table=PROJECTS, key=stream)
def _ref_moved(row: Row, event: CanonicalRefMoved, envelope: Envelope) -> Row:
    return {"ref_generation": event.generation, "ref_commit": event.commit}


@dataclass(frozen=True, slots=True)
class ProjectQueries:
    """The questions that are asked about Projects."""

    views: Views

    def get(self, project: str) -> Row | None:
        return self.views.get(PROJECTS, project)

    def by_repository(self, repository: str, branch: str) -> Row | None:
        found = self.views.select(Select(PROJECTS, {"repository": repository, "branch": branch}, ("id",)))
        return found[0] if found else None

    def all(self) -> list[Row]:
        return self.views.select(Select(PROJECTS, {}, ("id",)))

    def members(self, project: str) -> list[Row]:
        return self.views.select(Select(MEMBERS, {"project": project}, ("user_id",)))

    def role(self, project: str, user: str) -> Role | None:
        row = self.views.get(MEMBERS, project, user)
        return Role(row["role"]) if row else None

    def generations(self, project: str) -> list[Row]:
        """Canonical's history, oldest first."""
        return self.views.select(Select(GENERATIONS, {"project": project}, ("generation",)))

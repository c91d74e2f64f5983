"""The events of a Project. Their type names ARE the storage format; golden files freeze their JSON."""

from enum import StrEnum
from typing import ClassVar

from domain.kernel.event import Event, Head
from domain.kernel.value import Text
from domain.policy import Policy
from domain.project.role import Role


class ProjectCreated(Event):
    """One (repository, branch). repository: the canonical path of the repository, percent-encoded bytes.

    commit is canonical's generation 0; owner the user who becomes the first owner.
    """

    type: ClassVar[str] = "project.created"
    project: str
    repository: Text
    branch: Text
    generation: int = 0
    commit: str
    owner: Text
    policy: Policy


class MemberAdded(Event):
    """Also a new role for a member: the last one counts."""

    type: ClassVar[str] = "member.added"
    user: Text
    role: Role


class MemberRemoved(Event):
    type: ClassVar[str] = "member.removed"
    user: Text


class PolicySet(Event):
    """The whole policy in force from now on."""

    type: ClassVar[str] = "policy.set"
    policy: Policy


class ImportRelation(StrEnum):
    """How an imported commit stands to the canonical commit before it."""

    AHEAD = "ahead"
    DIVERGED = "diverged"


class CanonicalImported(Event):
    """A person's commit is canonical now. lacks: the promoted Changes that it doesn't contain, oldest first."""

    type: ClassVar[str] = "canonical.imported"
    generation: int
    commit: str
    relation: ImportRelation
    lacks: tuple[str, ...] = ()


class CanonicalAdvanced(Event):
    """A Candidate is canonical now: the compare-and-swap of promotion.

    change_head: where the Change's stream stood, so that no tail of it can be cut unseen. approver: the person who
    approved or asked for it, None where the policy promoted on its own.
    """

    type: ClassVar[str] = "canonical.advanced"
    generation: int
    commit: str
    candidate: str
    change: str
    change_head: Head
    approver: Text | None


class CanonicalRefMoved(Event):
    """The reconciler set main to what the log says. was: what it found there; lost: the ref that keeps that, if any."""

    type: ClassVar[str] = "canonical.ref_moved"
    generation: int
    commit: str
    was: str | None
    lost: Text | None

"""The commands of a Project. Each carries its time and new IDs; see `domain.kernel.event.Command`."""

from typing import Annotated

from pydantic import Field, StringConstraints

from domain.kernel.event import Command, Head
from domain.kernel.value import Text
from domain.plan import RiskTier
from domain.policy import DEFAULT_POLICY, Policy
from domain.project.event import ImportRelation
from domain.project.role import Role

NonEmpty = Annotated[Text, StringConstraints(min_length=1)]
Generation = Annotated[int, Field(ge=0)]


class CreateProject(Command):
    """Idempotent: the ID derives from repository and branch, so the same pair is the same Project. See the event."""

    project: str
    repository: NonEmpty
    branch: NonEmpty
    commit: str
    owner: NonEmpty
    policy: Policy = DEFAULT_POLICY


class AddMember(Command):
    """By an owner or admin; only an owner makes or changes an owner."""

    user: NonEmpty
    role: Role


class RemoveMember(Command):
    """By an owner or admin, or the member itself; an owner only by an owner, and never the last one."""

    user: NonEmpty


class SetPolicy(Command):
    """By an owner or admin."""

    policy: Policy


class ImportCommit(Command):
    """Make a person's commit canonical. `expected_generation` is what relation and lacks were computed against."""

    expected_generation: Generation
    commit: str
    relation: ImportRelation
    lacks: tuple[str, ...] = ()


class AdvanceCanonical(Command):
    """THE COMPARE-AND-SWAP: `commit` becomes canonical only while canonical is what the Candidate was verified on.

    approver: who approved the Candidate or asked for its promotion; the role is checked here. tier: with no approver,
    the tier that the policy in force here must promote on its own.
    """

    candidate: str
    change: str
    base_generation: Generation
    base_commit: str
    commit: str
    change_head: Head
    approver: Text | None
    tier: RiskTier | None = None


class RecordRefMove(Command):
    """main is at `commit` now, which the log says of `generation`."""

    generation: Generation
    commit: str
    was: str | None
    lost: Text | None

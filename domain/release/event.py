"""The events of a Release. Their type names ARE the storage format; golden files freeze their JSON."""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import AwareDatetime, Field

from domain.kernel.event import BlobRef, Event, Head
from domain.kernel.value import Text, Value

Generation = Annotated[int, Field(ge=0)]


class Released(Value):
    """What a release is about: a canonical generation, since when it is canonical, and for which Change.

    change and change_head (where its stream stood) are None for an imported generation.
    """

    project: str
    generation: Generation
    commit: str
    promoted_at: AwareDatetime
    change: str | None
    change_head: Head | None


class FailReason(StrEnum):
    """Why a release failed. Canonical history stays; the next generation releases as usual."""

    NOT_CANONICAL = "not_canonical"
    NO_TARGET = "no_target"
    NO_BUNDLE = "no_bundle"
    POINTER_UNMOVED = "pointer_unmoved"
    STUCK = "stuck"
    NEVER_QUEUED = "never_queued"


class ReleaseQueued(Event):
    type: ClassVar[str] = "release.queued"
    released: Released


class ReleaseBuilding(Event):
    """target: the release target's name."""

    type: ClassVar[str] = "release.building"
    target: Text


class ReleaseSuperseded(Event):
    """generation: the later one that is canonical."""

    type: ClassVar[str] = "release.superseded"
    generation: Generation


class ReleaseFailed(Event):
    """released: only for a release that was never queued, which begins with its failure."""

    type: ClassVar[str] = "release.failed"
    reason: FailReason
    released: Released | None


class ReleaseDeployed(Event):
    """bundle: the SHA-256 of what was deployed; smoke: the smoke check's output."""

    type: ClassVar[str] = "release.deployed"
    bundle: str
    smoke: BlobRef | None


class ReleaseSmokeFailed(Event):
    type: ClassVar[str] = "release.smoke_failed"
    smoke: BlobRef | None

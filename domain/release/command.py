"""The commands of a Release. Each carries its time and new IDs; see `domain.kernel.event.Command`."""

from typing import Literal

from domain.kernel.event import BlobRef, Command
from domain.kernel.value import Text
from domain.release.event import FailReason, Generation, Released


class QueueRelease(Command):
    """After a promotion (or import) in a project with a release target."""

    released: Released


class BuildRelease(Command):
    """Begin, if the generation is still canonical; what is canonical now arrives with the command.

    target: the project's release target, None if it has none any more.
    """

    canonical_generation: Generation
    canonical_commit: str
    target: Text | None


class FailRelease(Command):
    """The build gave no bundle, or the target's pointer did not move."""

    reason: Literal[FailReason.NO_BUNDLE, FailReason.POINTER_UNMOVED]


class RecordSmokeCheck(Command):
    """The smoke check ran on the moved pointer. A later generation may have been promoted meanwhile."""

    passed: bool
    canonical_generation: Generation
    bundle: str
    output: BlobRef | None


class RecordSmokeFailure(Command):
    """A deployed release turned out to be broken."""

    output: BlobRef | None


class RecoverRelease(Command):
    """End a release that is stuck at the command's time; one that was never queued begins and ends with this."""

    released: Released

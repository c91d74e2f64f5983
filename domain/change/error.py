"""Why a Change refuses. Each text says what, which object, and what to do next."""

from collections.abc import Iterable

from domain.change.status import ChangeStatus
from domain.kernel.errors import DomainError
from domain.kernel.money import show_usd


class RequestDiffers(DomainError):
    """The clientRequestId belongs to a request with another content."""

    def __init__(self, change: str, fields: Iterable[str]) -> None:
        super().__init__(
            f"{change} was created under the same client request ID with another {', '.join(fields)}:"
            " use a new ID for a new request"
        )


class ChangeEnded(DomainError):
    """Nothing moves a Change that has ended."""

    def __init__(self, change: str, status: ChangeStatus) -> None:
        super().__init__(f"{change} is {status} and stays so: submit the request again for another try")


class NotAllowed(DomainError):
    """The actor's role in the project doesn't allow it."""

    def __init__(self, what: str, change: str, who: str) -> None:
        super().__init__(f"{what} {change} is for {who}: ask one of them")


class WrongStatus(DomainError):
    """The Change's status has no place for the command."""

    def __init__(self, change: str, status: ChangeStatus, what: str, needed: Iterable[str]) -> None:
        super().__init__(f"{change} is {status}: {what} only while it is {' or '.join(needed)}")
        self.status = status


class NotCancellable(DomainError):
    """Promotion has begun or is done; what canonical holds isn't cancelled."""

    def __init__(self, change: str, status: ChangeStatus) -> None:
        super().__init__(f"{change} is {status}: its work is on its way into canonical and can't be cancelled any more")


class BaseNotChecked(DomainError):
    """No agent runs before the checks ran on the base."""

    def __init__(self, change: str) -> None:
        super().__init__(f"{change} can't be compiled yet: its checks haven't run on the base; record them first")


class BudgetOnlyRises(DomainError):
    def __init__(self, change: str, budget: int, wanted: int) -> None:
        super().__init__(
            f"the budget of {change} is {show_usd(budget)} and can't go down to {show_usd(wanted)}: name a higher one"
        )


class BudgetDeferred(DomainError):
    """Money is reserved by other runs that may not need all of it: not a failure, try again when one has ended."""

    def __init__(self, task: str, wanted: int, left: int) -> None:
        super().__init__(
            f"{task} needs {show_usd(wanted)} and {show_usd(max(left, 0))} is neither spent nor reserved:"
            " it starts when another run has ended"
        )


class NotADeadLetter(DomainError):
    def __init__(self, task: str, status: str, cause: str | None) -> None:
        why = f"{status} ({cause})" if cause else status
        super().__init__(f"{task} is {why}, not a dead letter: there is nothing to retry")


class TooManyCandidates(DomainError):
    def __init__(self, change: str, live: int) -> None:
        super().__init__(f"{change} has {live} live Candidates, which is the limit: wait until one of them settles")


class BaseOvertaken(DomainError):
    """A Candidate on a later base is there already."""

    def __init__(self, change: str, generation: int, latest: int) -> None:
        super().__init__(
            f"{change} has a Candidate on generation {latest}: on {generation} it would go back; read canonical"
        )


class NotComposed(DomainError):
    def __init__(self, candidate: str) -> None:
        super().__init__(f"{candidate} is still composing: it has no Verification Plan that evidence could belong to")


class UnplannedEvidence(DomainError):
    """Only what the Verification Plan asks for judges a Candidate."""

    def __init__(self, candidate: str, key: str) -> None:
        super().__init__(f"the Verification Plan of {candidate} has no line {key}: the evidence is of no use")


class CandidateGone(DomainError):
    """The Candidate can't ship (any more)."""

    def __init__(self, candidate: str, status: str, why: str, what: str) -> None:
        reason = f" ({why})" if why else ""
        super().__init__(f"{candidate} is {status}{reason}, so it can't be {what}: take the Change's present Candidate")


class NothingToApprove(DomainError):
    """No Candidate waits for a person's word; the text says what there is instead."""


class ApprovalMissing(DomainError):
    """Policy makes this Candidate wait for a person."""

    def __init__(self, candidate: str, reason: str) -> None:
        super().__init__(f"{candidate} needs the approval of an owner or admin first: {reason}")


class SiblingsOpen(DomainError):
    """A verified Candidate waits while a sibling on the same base composes or verifies."""

    def __init__(self, candidate: str, siblings: Iterable[str]) -> None:
        super().__init__(f"{candidate} waits for its siblings {', '.join(siblings)}: promote when they have settled")


class NotSelected(DomainError):
    def __init__(self, candidate: str) -> None:
        super().__init__(f"{candidate} isn't selected among its siblings yet: settle the Change, then promote")


class NotPromoting(DomainError):
    """The result of a compare-and-swap that isn't going on."""

    def __init__(self, candidate: str) -> None:
        super().__init__(f"{candidate} isn't in a compare-and-swap: request its promotion first")


class NotPromoted(DomainError):
    def __init__(self, candidate: str) -> None:
        super().__init__(f"{candidate} isn't promoted: only a promoted commit is handed to the person's repository")


class RerunsUsedUp(DomainError):
    """A Change gets a bounded number of re-runs after a dependency that didn't merge."""

    def __init__(self, change: str, reruns: int) -> None:
        super().__init__(f"{change} had its {reruns} re-runs of dependencies that didn't merge: settle the Change")

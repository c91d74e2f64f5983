"""Why a Project refuses."""

from domain.kernel.errors import DomainError


class StaleBase(DomainError):
    """Canonical isn't any more what the commit was verified on, or compared with."""


class NotAllowed(DomainError):
    """The actor's or approver's role in the Project doesn't permit it."""


class LastOwner(DomainError):
    """A Project always has an owner."""


class PolicyForbids(DomainError):
    """The policy in force doesn't promote this tier without a person."""

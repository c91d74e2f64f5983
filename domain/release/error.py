"""Why a Release refuses."""

from domain.kernel.errors import DomainError


class NotStuck(DomainError):
    """The release has time left."""

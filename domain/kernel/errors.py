"""Refusals. Each rule that can refuse has a class of its own; no HTTP codes here."""


class DomainError(Exception):
    """A command that the rules refuse. The text is for a person: what, which object, what to do next."""


class IllegalTransition(DomainError):
    """The object's status has no such arrow in its transition table."""

    def __init__(self, kind: str, identifier: str, status: str | None, event: str) -> None:
        super().__init__(f"{kind} {identifier} is {status or 'not there yet'}: {event} has no place in that status")
        self.kind, self.identifier, self.status, self.event = kind, identifier, status, event


class NotFound(DomainError):
    """The object named by the command doesn't exist."""

    def __init__(self, kind: str, identifier: str) -> None:
        super().__init__(f"there is no {kind} {identifier}")


class StaleAttempt(DomainError):
    """A write that carries the fencing token of an attempt that is no longer the current one."""


class InvalidInput(DomainError):
    """A command whose content breaks a rule of the domain."""


class UnknownEvent(Exception):
    """A log that this code can't read: `evolve` is total and raises on what it doesn't know."""


class ImpossibleHistory(Exception):
    """A log whose events contradict the transition table: never guessed over."""

"""Handled commands for `projections.why`."""

from commands.ports.store import EventStore
from projections.why import CommandFact, Commands


def commands_of(store: EventStore) -> Commands:
    """The look-up on this store."""

    def find(command_id: str) -> CommandFact | None:
        handled = store.handled(command_id)
        if handled is None:
            return None
        reason, causation = handled.reason, handled.causation
        return CommandFact(handled.command_id, handled.name, handled.actor, handled.at, reason, causation)

    return find

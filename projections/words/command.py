"""What commands say in a chain of causes."""

from typing import Final

from projections.words import name

COMMANDS: Final = {
    "change.create": "asked for the Change",
    "change.plan": "asked for the plan",
    "change.dispatch": "looked for Tasks that can start",
    "change.settle": "asked what the Change's next step is",
    "change.cancel": "cancelled the Change",
    "agent.wake": "woke an agent",
    "candidate.create": "asked for a Candidate",
    "candidates.recompose": "asked to compose stale work anew",
    "candidate.approve": "approved the Candidate",
    "candidate.promote": "asked for the promotion",
    "canonical.advance": "asked canonical to advance",
}


def command_sentence(command: str, actor: str) -> str:
    """Who wanted what; a command without words of its own is told by its name."""
    who = name.person(actor)
    if command in COMMANDS:
        return f"{who} {COMMANDS[command]}"
    if command.startswith("effect."):
        return f"{who} reported the outcome of {name.code(command.removeprefix('effect.'))}"
    return f"{who} sent {command}"

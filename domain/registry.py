"""All aggregates in one place: importing this makes `EVENT_CLASSES` complete."""

from typing import Any, Final

from domain.budget.decide import BUDGET
from domain.change.decide import CHANGE
from domain.change.status import CANDIDATE_TABLE, CHANGE_TABLE, TASK_TABLE
from domain.kernel.decider import Decider
from domain.kernel.table import TransitionTable
from domain.project.decide import PROJECT
from domain.release.decide import RELEASE
from domain.release.status import RELEASE_TABLE
from domain.run.decide import RUN

AGGREGATES: Final[dict[str, Decider[Any]]] = {
    "bud": BUDGET,
    "chg": CHANGE,
    "prj": PROJECT,
    "rel": RELEASE,
    "run": RUN,
}
"""The decider of each kind of stream, by the prefix of the stream's ID."""

MACHINES: Final[dict[str, TransitionTable]] = {
    "change": CHANGE_TABLE,
    "task": TASK_TABLE,
    "candidate": CANDIDATE_TABLE,
    "release": RELEASE_TABLE,
}
"""The state machines that `rhumb machines` prints."""


def decider_of(stream: str) -> Decider[Any]:
    """The decider of a stream.

    Raises:
        ValueError: no aggregate has IDs like this one.
    """
    decider = AGGREGATES.get(stream.split("_", 1)[0]) if "_" in stream else None
    if decider is None:
        raise ValueError(f"no aggregate has an ID like {stream!r}")
    return decider


def machines() -> dict[str, list[list[str]]]:
    """The rows `[source, target, why]` of each state machine; `*` is the source of an initial status."""
    return {name: table.rows() for name, table in MACHINES.items()}


def mermaid(name: str) -> str:
    """A Mermaid state diagram, drawn from the transition table of `MACHINES[name]`.

    Raises:
        KeyError: no machine of that name.
    """
    table = MACHINES[name]
    lines = ["stateDiagram-v2"]
    for arrow in dict.fromkeys((t.source or "[*]", t.target, t.why) for t in table.transitions):
        source, target, why = arrow
        lines.append(f"  {source} --> {target}: {_label(why)}")
    lines.extend(f"  {status} --> [*]" for status in table.statuses if status in table.terminal)
    return "\n".join(lines) + "\n"


def _label(why: str) -> str:
    """A colon or semicolon would end Mermaid's label."""
    return why.replace(":", " -").replace(";", ",")

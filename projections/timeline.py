"""What happened, event by event, in plain words, with what caused it: for `rhumb show` and `rhumb why`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from domain.budget import event as budget
from domain.change import event as change
from domain.kernel.event import Envelope, Event
from domain.project import event as project
from domain.release import event as release
from domain.run import event as run
from projections.core import ReadModel, Row, Table
from projections.query import Page, Select, Views, page
from projections.words.event import event_sentence, event_subject

TIMELINE: Final = Table(
    "timeline",
    {
        "position": "bigint",
        "event": "text",
        "stream": "text",
        "version": "bigint",
        "change": "text null",
        "type": "text",
        "at": "timestamptz",
        "actor": "text",
        "subject": "text",
        "sentence": "text",
        "command": "text",
        "causation": "text null",
        "routine": "boolean",
    },
    key=("position",),
    indexes=(("change", "position"), ("stream", "version"), ("subject", "position")),
    append_only=True,
)
"""event: `<stream>:<version>`; change: which it belongs to; routine: bookkeeping that a summary leaves out."""

MAX_VERSION_DIGITS: Final = 18
"""What fits a bigint."""

MODEL: Final = ReadModel("timeline", __name__, TIMELINE)

ROUTINE: Final[tuple[type[Event], ...]] = (
    budget.SliceReserved,
    budget.SliceSettled,
    run.TurnRecorded,
    change.TaskWakeRequested,
    change.TaskAssigned,
)

EVENTS: Final[tuple[type[Event], ...]] = tuple(
    kind
    for module in (budget, change, project, release, run)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event
)
"""Every event of the domain."""

_ROUTINE_TYPES: Final = frozenset(kind.type for kind in ROUTINE)


@MODEL.appends(*EVENTS, table=TIMELINE)
def _happened(event: Any, envelope: Envelope, position: int) -> Row:
    # Every event passes here, and a model's attribute takes several times as long as a dict's item.
    fields = vars(envelope)
    stream, version, kind = fields["stream"], fields["version"], fields["type"]
    return {
        "position": position,
        "event": f"{stream}:{version}",
        "stream": stream,
        "version": version,
        "change": fields["correlation"] or (stream if stream.startswith("chg_") else None),
        "type": kind,
        "at": fields["at"],
        "actor": fields["actor"],
        "subject": event_subject(envelope),
        "sentence": event_sentence(envelope),
        "command": fields["command_id"],
        "causation": fields["causation"],
        "routine": kind in _ROUTINE_TYPES,
    }


@dataclass(frozen=True, slots=True)
class TimelineQueries:
    """The questions that are asked about what happened."""

    views: Views

    def of_change(
        self, change: str, *, routine: bool = False, limit: int = 200, after: tuple[Any, ...] | None = None
    ) -> Page:
        """Oldest first; `after` is the cursor of the page before. routine: with bookkeeping."""
        where: Mapping[str, Any] = {"change": change} if routine else {"change": change, "routine": False}
        return page(self.views, Select(TIMELINE, where, ("position",), after=after), limit)

    def event(self, identifier: str) -> dict[str, Any] | None:
        """By event ID (`<stream>:<version>`)."""
        stream, _, version = identifier.rpartition(":")
        if not version.isdecimal() or len(version) > MAX_VERSION_DIGITS:
            return None
        found = self.views.select(Select(TIMELINE, {"stream": stream, "version": int(version)}, ("position",)))
        return found[0] if found else None

    def last_about(self, subject: str) -> dict[str, Any] | None:
        """The newest event about this object, routine left out if there is any other."""
        for where in ({"subject": subject, "routine": False}, {"subject": subject}, {"stream": subject}):
            found = self.views.select(Select(TIMELINE, where, ("position",), descending=True, limit=1))
            if found:
                return found[0]
        return None

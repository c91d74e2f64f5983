"""Statuses and transitions as data: guards consult the table, diagrams are drawn from it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from domain.kernel.errors import IllegalTransition, ImpossibleHistory

INITIAL: Final = "*"
"""The source of an initial status in `rhumb machines`."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One arrow: `event` (a dotted type name) takes `source` (None: not there yet) to `target`; `why` labels it."""

    source: str | None
    event: str
    target: str
    why: str


class TransitionTable:
    """The arrows of one state machine.

    An event with several possible targets (a refused promotion, a raised budget) carries its target, and the
    caller passes it; for all others the table knows it.
    """

    def __init__(self, kind: str, transitions: Iterable[Transition], terminal: Iterable[str]) -> None:
        self.kind = kind
        self.transitions = tuple(transitions)
        self.terminal = frozenset(terminal)
        self._targets: dict[tuple[str | None, str], set[str]] = {}
        for arrow in self.transitions:
            self._targets.setdefault((arrow.source, arrow.event), set()).add(arrow.target)

    @property
    def statuses(self) -> tuple[str, ...]:
        """Every status, in the order in which the table first names it."""
        return tuple(dict.fromkeys(s for t in self.transitions for s in (t.source, t.target) if s is not None))

    @property
    def events(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(t.event for t in self.transitions))

    def allows(self, source: str | None, event: str, target: str | None = None) -> bool:
        targets = self._targets.get((source, event), set())
        return bool(targets) if target is None else target in targets

    def sources(self, event: str) -> frozenset[str | None]:
        """The statuses from which `event` has an arrow."""
        return frozenset(s for s, e in self._targets if e == event)

    def require(self, identifier: str, source: str | None, event: str, target: str | None = None) -> None:
        """Guard of a decision.

        Raises:
            IllegalTransition: the table has no such arrow.
        """
        if not self.allows(source, event, target):
            raise IllegalTransition(self.kind, identifier, source, event)

    def after(self, identifier: str, source: str | None, event: str, target: str | None = None) -> str:
        """The status after `event`, for `evolve`.

        Raises:
            ImpossibleHistory: the log holds an event that the table doesn't allow here.
        """
        targets = self._targets.get((source, event), set())
        if target is not None:
            targets = targets & {target}
        if len(targets) != 1:
            raise ImpossibleHistory(f"{self.kind} {identifier}: {event} from {source} to {target or sorted(targets)}")
        return next(iter(targets))

    def rows(self) -> list[list[str]]:
        """`[source, target, why]`, with `*` as the source of an initial status; one row per arrow and label."""
        return [list(r) for r in dict.fromkeys((t.source or INITIAL, t.target, t.why) for t in self.transitions)]

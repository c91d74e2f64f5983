"""The causal router as a step function: events after its position become outbox rows, in one transaction."""

from typing import Final

from commands.ports.store import EventStore, Lease, Message, Stored
from domain.project.event import CanonicalAdvanced, CanonicalImported
from infra.runtime.router_home import RouterHome
from routers.causal.react import react
from routers.causal.view import ChangeView, fold

BATCH: Final = 500


class Router:
    """Follows the log. It never reads a projector's tables, and never calls a model."""

    def __init__(self, events: EventStore, home: RouterHome) -> None:
        self._events = events
        self._home = home
        self._position: int | None = None

    def step(self, lease: Lease | None) -> bool:
        """Route the next batch under `lease`; False when there is nothing to route.

        Raises:
            FenceLost: another routes now; nothing of the batch is committed.
        """
        if self._position is None:
            self._position = self._home.position()
        batch = self._events.log(self._position, BATCH)
        if not batch:
            return False
        views: dict[str, ChangeView] = {}
        messages = [message for stored in batch for message in self._route(stored, views)]
        try:
            self._home.commit(views.values(), messages, batch[-1].position, lease)
        except BaseException:
            # Whoever is further on now decides where to go on from.
            self._position = None
            raise
        self._position = batch[-1].position
        return True

    def _route(self, stored: Stored, views: dict[str, ChangeView]) -> tuple[Message, ...]:
        envelope = stored.envelope
        if isinstance(envelope.event, CanonicalAdvanced | CanonicalImported):
            kept = {view.change: view for view in self._home.open_of(envelope.stream)}
            kept.update({name: view for name, view in views.items() if view.project == envelope.stream})
            return react(envelope, None, (view for view in kept.values() if not view.terminal))
        if not envelope.stream.startswith("chg_"):
            return ()
        before = views.get(envelope.stream) or self._home.load(envelope.stream)
        view = fold(before, envelope)
        if view is not None:
            views[envelope.stream] = view
        return react(envelope, view)

"""An open installation, as the command line uses it."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from commands.context import Context
from commands.ports.git import ChangedFile
from commands.ports.store import Stored
from commands.submit import Submission, Submitted, submit
from infra.app import App
from infra.runtime.router_home import FOLLOWER

END_OF_TIME: Final = datetime.max.replace(tzinfo=UTC)
PAGE: Final = 500
LOOK_SECONDS: Final = 0.25
DIFF_BYTES: Final = 4 * 1024**2


class LocalSession:
    """`Session` on an `App` of this process."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.ctx: Context = app.ctx
        self.actor = app.actor

    def submit(self, submission: Submission) -> Submitted:
        """Store the Change and work on it here."""
        submitted = submit(self.ctx, submission)
        self.adopt(submitted.change)
        return submitted

    def adopt(self, change: str) -> None:
        self._app.engine.adopt(change)

    def follow(self, change: str, after: int = 0) -> Iterator[Stored]:
        wake = threading.Event()
        events = self.ctx.writer.events
        events.listen(wake)
        position = after
        try:
            while True:
                wake.clear()
                # Before the log is read: what settles later shows up as an event of the next page.
                settled = self.settled(change)
                page = events.log(position, PAGE)
                for stored in page:
                    position = stored.position
                    if stored.envelope.stream == change or stored.envelope.correlation == change:
                        yield stored
                if not page:
                    if settled:
                        return
                    wake.wait(LOOK_SECONDS)
        finally:
            events.unlisten(wake)

    def settled(self, change: str) -> bool:
        """Whether nothing more happens to the Change without a person: all is routed, handled and performed."""
        store = self._app.store
        return (
            store.tracking.position(FOLLOWER) >= store.events.last_position()
            and not store.outbox.due(END_OF_TIME, 1, (change,))
            and not store.effects.of_change(change)
        )

    def catch_up(self) -> None:
        self._app.projector.catch_up()

    def diff_stat(self, project: str, base: str, commit: str) -> tuple[ChangedFile, ...]:
        return self.ctx.canonicals.open(project).changed(base, commit)

    def diff(self, project: str, base: str, commit: str) -> bytes:
        return self.ctx.canonicals.open(project).diff(base, commit, DIFF_BYTES)

"""An open installation, as the command line uses it."""

import threading
from collections.abc import Callable, Iterator
from typing import Final

from commands.context import Context
from commands.ports.git import ChangedFile
from commands.ports.store import Stored
from commands.submit import Submission, Submitted, submit
from domain.change.status import ChangeStatus
from domain.kernel.errors import NotFound
from infra.app import App
from infra.projections.rebuild import rebuild
from infra.projections.verify import verify
from infra.queries import END_OF_TIME, ViewQueries
from infra.runtime.router_home import FOLLOWER
from infra.runtime.takeover import adopt
from projections import MODELS
from projections.core import ReadModel
from routers.cli.session import Difference, Queries

AGENTS_AHEAD: Final = (
    ChangeStatus.CREATED,
    ChangeStatus.COMPILING,
    ChangeStatus.RUNNING,
    ChangeStatus.BUDGET_BLOCKED,
    ChangeStatus.BLOCKED,
)
PAGE: Final = 500
LOOK_SECONDS: Final = 0.25
TROUBLED_ATTEMPTS: Final = 6
DIFF_BYTES: Final = 4 * 1024**2

Progress = Callable[[str, int, int], None]


class LocalSession:
    """`Session` on an `App` of this process."""

    def __init__(self, app: App, progress: Callable[[str], None] = lambda _: None) -> None:
        self._app = app
        self._progress = progress
        self.ctx: Context = app.ctx
        self.actor = app.actor
        self.queries: Queries = ViewQueries(app.views, app.store)

    def submit(self, submission: Submission) -> Submitted:
        submitted = submit(self.ctx, submission)
        self.adopt(submitted.change)
        return submitted

    def require_agents(self, change: str) -> None:
        state = self.ctx.writer.state(change)
        if state is not None and state.status in AGENTS_AHEAD:
            self.ctx.agents.open(self.ctx.objects.get(state.settings), state.sandboxed).secrets()

    def adopt(self, change: str) -> None:
        state = self.ctx.writer.state(change)
        if state is not None and not state.is_terminal:
            # Without the isolation that it was submitted with, nothing of it may run here.
            self.ctx.sandbox(state.sandboxed)
        adopt(self._app.engine, change, self._app.settings.lease_seconds, self._progress)
        for effect in self._app.store.effects.of_change(change):
            if effect.last_error:
                # A person who goes on with it doesn't wait for the next of its growing pauses.
                self._app.store.effects.postpone(effect.effect_id, "", self.ctx.clock())

    def follow(self, change: str, after: int = 0) -> Iterator[Stored]:
        wake = threading.Event()
        events = self.ctx.writer.events
        events.listen(wake)
        position, told = after, ""
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
                    self._app.runner.require_alive()
                    told = self._tell(self.trouble(change), told)
                    wake.wait(LOOK_SECONDS)
        finally:
            events.unlisten(wake)

    def settled(self, change: str) -> bool:
        """Whether nothing more happens to the Change without a person: all is routed, handled and performed.

        Also when all that is left failed again and again: it is still tried now and then, but somebody has to look.
        """
        store = self._app.store
        return (
            store.tracking.position(FOLLOWER) >= store.events.last_position()
            and not store.outbox.due(END_OF_TIME, 1, (change,))
            and all(e.last_error and e.attempts >= TROUBLED_ATTEMPTS for e in store.effects.of_change(change))
        )

    def trouble(self, change: str) -> str:
        """What keeps the Change waiting though no person is asked: a fault that is tried again; empty without one."""
        if self._app.runner.trouble:
            return self._app.runner.trouble
        for effect in self._app.store.effects.of_change(change):
            if effect.last_error:
                return f"{effect.kind} waits: {effect.last_error}; it is tried again"
        for message in self._app.store.outbox.due(END_OF_TIME, PAGE, (change,)):
            if message.last_error:
                return f"{message.message.name} waits: {message.last_error}; it is tried again"
        return ""

    def _tell(self, trouble: str, told: str) -> str:
        if trouble and trouble != told:
            self._progress(trouble)
        return trouble

    def catch_up(self) -> None:
        self._app.projector.catch_up()

    def diff_stat(self, project: str, base: str, commit: str) -> tuple[ChangedFile, ...]:
        return self.ctx.canonicals.open(project).changed(base, commit)

    def diff(self, project: str, base: str, commit: str) -> bytes:
        return self.ctx.canonicals.open(project).diff(base, commit, DIFF_BYTES)

    def replay(self, names: tuple[str, ...], progress: Progress) -> dict[str, int]:
        done = rebuild(
            self.ctx.writer.events,
            self._app.views,
            _models(names),
            lambda events, total, _rate: progress("rebuilding", events, total),
        )
        self._app.projector.refresh()
        failed = [result for result in done if result.failure is not None]
        if failed:
            raise ReplayFailed("; ".join(f"{result.name}: {result.failure}" for result in failed))
        return {result.name: result.rows for result in done}

    def verify(self, names: tuple[str, ...], progress: Progress) -> tuple[dict[str, int], list[Difference]]:
        self.catch_up()
        report = verify(
            self.ctx.writer.events,
            self._app.views,
            _models(names),
            lambda events, total, _rate: progress("comparing", events, total),
        )
        found = [Difference(model.name, str(each)) for model in report.models for each in model.differences]
        found += [Difference(model.name, model.note) for model in report.models if model.note]
        found += [Difference(model.name, str(model.failure)) for model in report.models if model.failure is not None]
        return {model.name: model.rows for model in report.models}, found


class ReplayFailed(Exception):
    """A read model can't be rebuilt; its live rows are as they were."""


def _models(names: tuple[str, ...]) -> tuple[ReadModel, ...]:
    known = {model.name: model for model in MODELS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise NotFound("read model", f"{', '.join(unknown)} (there are {', '.join(known)})")
    return tuple(known[name] for name in names) if names else MODELS

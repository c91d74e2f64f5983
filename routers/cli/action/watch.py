"""Following a Change on the terminal: news as lines, and with a TTY a few live lines below them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from rich.console import Group
from rich.live import Live

from commands.effect import EffectKind, check_effect, run_effect
from commands.ports.store import Stored
from domain.change.event import BaseVerified, ChangeCancelled, ChangeFailed, EvidenceRecorded
from domain.run.event import RunFinished
from routers.cli.session import Session
from routers.cli.terminal import Terminal
from routers.cli.view.progress import Progress, advance, live_lines, sentence
from routers.cli.view.text import output_lines

REFRESH_PER_SECOND = 4
TAIL_BYTES = 4_096


class Watch:
    """One Change under the eyes of a person. `on_output` is called from the threads of agents and checks."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._progress = Progress("")
        self._output: dict[str, tuple[str, str]] = {}
        self._lock = threading.Lock()

    def on_output(self, effect: str, source: str, chunk: bytes) -> None:
        """A piece of what runs here printed. effect: its ID; source: the check's name, `agent` or `plan`."""
        shown = [line for line in output_lines(chunk[-TAIL_BYTES:]) if line.strip()]
        if shown:
            with self._lock:
                self._output[effect] = (source, shown[-1])

    def follow(self, session: Session, change: str, after: int, seed: Progress | None = None) -> None:
        """Show what happens to `change` from the log's position `after` on, until nothing more does on its own."""
        self._progress = seed or Progress(change)
        with self._live():
            for stored in session.follow(change, after):
                self._take(stored)

    def _take(self, stored: Stored) -> None:
        self._progress = advance(self._progress, stored.envelope)
        closed = _closed_by(stored)
        if closed is not None:
            with self._lock:
                self._output = {k: v for k, v in self._output.items() if not k.startswith(closed)}
        news = sentence(stored.envelope)
        if news is not None:
            self._terminal.note(news)

    @contextmanager
    def _live(self) -> Iterator[None]:
        if not self._terminal.err.is_terminal:
            yield
            return
        with Live(
            console=self._terminal.err,
            get_renderable=self._render,
            refresh_per_second=REFRESH_PER_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        ):
            yield

    def _render(self) -> Group:
        with self._lock:
            output = list(self._output.values())
        lines = live_lines(self._progress, datetime.now(UTC), output)
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis"
        return Group(*lines)


def _closed_by(stored: Stored) -> str | None:
    """How the ID of the effect begins whose performance this event ends: its last line is no news any more."""
    envelope = stored.envelope
    match envelope.event:
        case EvidenceRecorded(candidate=candidate, evidence=evidence):
            return check_effect(candidate, evidence.key)
        case RunFinished():
            return run_effect(envelope.stream)
        case BaseVerified() | ChangeFailed() | ChangeCancelled():
            return f"{EffectKind.PLAN}:{envelope.stream}:"
    return None

"""The installation behind the command line: nothing heavy is imported before a command needs it."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from routers.cli.exits import Exit, Saying

if TYPE_CHECKING:
    from commands.ports.store import Effect
    from routers.cli.session import Demo, Finding, Session


class LocalInstallation:
    """`Installation` on this machine, from the settings in the environment."""

    @contextmanager
    def open(
        self,
        progress: Callable[[str], None],
        on_output: Callable[[str, str, bytes], None] | None = None,
    ) -> "Iterator[Session]":
        from infra.app import open_app
        from infra.session import LocalSession
        from infra.settings import load_settings

        def output(effect: "Effect", source: str, chunk: bytes) -> None:
            if on_output is not None:
                on_output(effect.effect_id, source, chunk)

        with open_app(load_settings(), progress, output) as app:
            yield LocalSession(app, progress)

    def doctor(self) -> "tuple[Finding, ...]":
        from infra.doctor import examine
        from infra.settings import load_settings

        return examine(load_settings())

    def default_budget(self) -> int:
        from infra.settings import load_settings

        return load_settings().budget

    def home(self) -> Path:
        from infra.settings import load_settings

        return load_settings().home

    def demo(self) -> "Demo":
        from infra.demo.repository import GOAL, PLAN, SCRIPT, make_demo_repository
        from routers.cli.session import Demo

        folder = Path(tempfile.mkdtemp(prefix="rhumbline-demo-")) / "greet"
        return Demo(make_demo_repository(folder), GOAL, PLAN, SCRIPT)

    def known_errors(self) -> Mapping[type[Exception], Saying]:
        from infra.demo.repository import DemoError
        from infra.event_store.migrate import MigrationError
        from infra.postgres import PostgresError
        from infra.session import ReplayFailed
        from infra.settings import SettingsError

        return {
            SettingsError: Saying(Exit.USAGE),
            MigrationError: Saying(Exit.USAGE),
            PostgresError: Saying(Exit.USAGE, "rhumb doctor says what this machine lacks"),
            DemoError: Saying(Exit.USAGE),
            ReplayFailed: Saying(Exit.NOT_PROMOTED),
        }

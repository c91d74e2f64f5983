"""The composition root: every adapter is chosen and put together here, once."""

import hashlib
import os
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Final

from commands.context import Bounds, Context
from commands.ports.sandbox import Sandbox, SandboxUnavailable
from commands.ports.store import Effect
from commands.unit import Writer
from infra.agents.agents import InstalledAgents
from infra.agents.execution import AgentHost
from infra.event_store.datastore import PoolSettings
from infra.event_store.errors import StoreUnavailable
from infra.event_store.migrate import migrate
from infra.event_store.postgres import PostgresStore
from infra.git.canonical import GitCanonical
from infra.git.person import GitPersonRepositories
from infra.home import Home, open_home
from infra.objects.store import ObstoreObjects
from infra.postgres import EmbeddedPostgres, ExternalPostgres
from infra.projections.postgres import PostgresHome
from infra.projections.projector import Projector
from infra.projections.rebuild import prepare
from infra.runtime.engine import Engine
from infra.runtime.performers import PERFORMERS
from infra.runtime.reconcile import Reconciler
from infra.runtime.router import Router
from infra.runtime.router_home import PostgresRouterHome
from infra.runtime.runner import Runner
from infra.sandbox.bubblewrap import BubblewrapSandbox
from infra.sandbox.probe import probe
from infra.sandbox.settings import SandboxSettings
from infra.sandbox.unsafe import UnsafeLocal
from infra.scratch import open_scratch
from infra.settings import Settings, SettingsError
from infra.setup.cache import SetupCache
from infra.telemetry import configure_logging
from projections import MODELS

MIGRATION_TRIES: Final = 3

Output = Callable[[Effect, str, bytes], None]


class Sandboxes:
    """The isolation of this process: probed once, and refused if the machine can't give it."""

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings

    @cached_property
    def _isolated(self) -> BubblewrapSandbox:
        missing = [finding for finding in probe(self._settings) if not finding.ok]
        if missing:
            raise SandboxUnavailable("; ".join(f"{f.name}: {f.detail} ({f.remedy})" for f in missing))
        return BubblewrapSandbox(self._settings)

    @cached_property
    def _unsafe(self) -> UnsafeLocal:
        return UnsafeLocal(self._settings)

    def __call__(self, sandboxed: bool) -> Sandbox:
        return self._isolated if sandboxed else self._unsafe


class CanonicalRepositories:
    """The canonical repositories below the home; git's own work on agents' files runs in the sandbox, too."""

    def __init__(self, home: Home, sandboxes: Sandboxes, installation_id: str) -> None:
        self._home = home
        self._sandboxes = sandboxes
        self._installation_id = installation_id
        self._open: dict[str, GitCanonical] = {}
        self._lock = threading.Lock()

    def open(self, project: str) -> GitCanonical:
        with self._lock:
            if project not in self._open:
                self._open[project] = GitCanonical(
                    self._home.canonical(project), self._home.workspaces, self._sandbox(), self._installation_id
                )
            return self._open[project]

    def _sandbox(self) -> Sandbox:
        try:
            return self._sandboxes(True)
        except SandboxUnavailable:
            # Only a Change submitted with --unsafe-local gets this far on such a machine.
            return self._sandboxes(False)


@dataclass(slots=True)
class App:
    """An open installation."""

    settings: Settings
    home: Home
    store: PostgresStore
    ctx: Context
    engine: Engine
    runner: Runner
    projector: Projector
    views: PostgresHome
    actor: str


def runtime_folder(home: Path) -> Path:
    """A short folder of this user's for sockets: the same for all processes on one home."""
    name = f"rhumb-{os.geteuid()}-{hashlib.sha256(os.fsencode(home)).hexdigest()[:10]}"
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    return Path(base) / name


def sandbox_settings(settings: Settings) -> SandboxSettings:
    """How commands are isolated for the person who started this process.

    Raises:
        SettingsError: RHUMBLINE_TOOLCHAINS names a folder that contains the person's home.
    """
    try:
        return SandboxSettings.from_environment(toolchains=settings.toolchains)
    except ValueError as error:
        raise SettingsError(f"RHUMBLINE_TOOLCHAINS: {error}") from error


@contextmanager
def open_app(
    settings: Settings,
    progress: Callable[[str], None] = lambda _: None,
    on_output: Output = lambda _effect, _source, _chunk: None,
) -> Iterator[App]:
    """Start or join the store, bring it to this code's version, and run the engine until the context ends.

    Raises:
        SettingsError, PostgresError, StoreError: it can't be opened; the text says why.
    """
    home = open_home(settings)
    configure_logging(home.logs / "rhumb.log")
    with ExitStack() as stack:
        postgres = _database(settings, home, progress)
        stack.enter_context(postgres)
        _migrate(postgres)
        pool = PoolSettings(max_size=settings.pool_max)
        ttl = settings.lease_seconds
        store = stack.enter_context(
            PostgresStore(postgres.dsn, pool=pool, lease_ttl=ttl, on_lost=postgres.ensure_running)
        )
        scratch = stack.enter_context(open_scratch(home.run))
        ctx = _context(settings, home, store, scratch)
        views = PostgresHome(store.datastore)
        prepare(store.events, views, MODELS)
        projector = Projector(store.events, views, MODELS)
        wake = threading.Event()
        router = Router(store.events, PostgresRouterHome(store))
        engine = Engine(ctx, router, projector, Reconciler(ctx, home), PERFORMERS, wake, on_output)
        runner = Runner(engine, ttl)
        actor = _actor(store.installation_id())
        runner.start()
        stack.callback(runner.stop)
        yield App(settings, home, store, ctx, engine, runner, projector, views, actor)


def _migrate(postgres: EmbeddedPostgres | ExternalPostgres) -> None:
    """Bring the database to this code's version; a server that dies right after its start is started again."""
    for _ in range(MIGRATION_TRIES - 1):
        try:
            migrate(postgres.dsn)
        except StoreUnavailable:
            postgres.ensure_running()
        else:
            return
    migrate(postgres.dsn)


def _database(settings: Settings, home: Home, progress: Callable[[str], None]) -> EmbeddedPostgres | ExternalPostgres:
    if settings.database_url is not None:
        return ExternalPostgres(settings.database_url.get_secret_value())
    return EmbeddedPostgres(home.root, runtime_folder(home.root), progress=progress)


def _context(settings: Settings, home: Home, store: PostgresStore, scratch: Path) -> Context:
    sandboxes = Sandboxes(sandbox_settings(settings))
    host = AgentHost(
        environ=os.environ,
        home=Path.home(),
        own=(home.root, home.workspaces),
        scratch=scratch,
        limits=settings.agent_limits,
    )
    return Context(
        writer=Writer(store.events),
        outbox=store.outbox,
        effects=store.effects,
        leases=store.leases,
        slots=store.slots,
        objects=ObstoreObjects(settings.objects_url or home.objects),
        people=GitPersonRepositories(),
        canonicals=CanonicalRepositories(home, sandboxes, store.installation_id()),
        sandbox=sandboxes,
        setups=SetupCache(home.setup, settings.limits(0), int(settings.setup_cache)),
        agents=InstalledAgents(host),
        bounds=Bounds(slots=settings.max_agents, agent=settings.agent_limits, check=settings.limits(0)),
        clock=lambda: datetime.now(UTC),
        new_uuid=lambda: str(uuid.uuid4()),
        scratch=scratch,
    )


def _actor(installation_id: str) -> str:
    """The person at this terminal, as a pseudonym that means nothing elsewhere."""
    digest = hashlib.sha256(f"{installation_id}\0{os.getuid()}".encode()).hexdigest()
    return f"usr_{digest[:16]}"

"""Rhumbline and PostgreSQL killed at random moments, on one home that lives on; seeds are fixed, so a failure repeats.

As far as time does: what a moment hits depends on the machine. The windows hit by name are in test_windows.
"""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from infra.app import runtime_folder
from infra.postgres import EmbeddedPostgres
from tests.crash.aftermath import faults
from tests.crash.conftest import ALL
from tests.crash.driver import Life, Orders, started
from tests.crash.lifecycle import FILES, Goal, Place
from tests.support.own_postgres import postmaster
from tests.support.repository import make_repository

pytestmark = pytest.mark.skipif(not ALL, reason="what a moment hits depends on the machine: make test-crash runs these")

BATCHES = 10
SEEDS = 10
"""Of each batch."""
KILLS = 3
LONGEST_SECONDS = 3.0
"""About one lifecycle."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The home's folder; the server's socket lies elsewhere and goes with it."""
    yield tmp_path
    shutil.rmtree(runtime_folder(tmp_path / "home"), ignore_errors=True)


def kill_postgres(place: Place) -> None:
    """Kill the server, if there is one at this moment."""
    try:
        postmaster(place.home).kill()
    except (FileNotFoundError, IndexError, ValueError, psutil.NoSuchProcess):
        return


def disturb(place: Place, seed: int) -> Life:
    """Kill and go on a few times; the last process, which nobody kills."""
    chance = random.Random(seed)
    goal = Goal(request=str(seed))
    for number in range(KILLS):
        with started(Orders(place, f"{seed}-{number}", goal=goal)) as life:
            life.process.join(chance.uniform(0, LONGEST_SECONDS))
            what = chance.choice(("process", "postgres", "both"))
            print(f"seed {seed}: {what}", flush=True)
            if what != "process":
                kill_postgres(place)
            if what == "postgres":
                # It starts the server again and goes on.
                assert life.end() == 0, f"seed {seed}: {life.told()}"
                return life
    with started(Orders(place, f"{seed}-last", goal=goal)) as life:
        assert life.end() == 0, f"seed {seed}: {life.told()}"
    return life


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("batch", range(BATCHES))
def test_killed_at_random_nothing_is_lost(folder: Path, batch: int) -> None:
    for seed in range(batch * SEEDS, (batch + 1) * SEEDS):
        place = Place(folder, None, make_repository(folder / f"repository-{seed}", FILES))

        disturb(place, seed)

        assert not (place.home / "postgres" / "data" / "postmaster.pid").exists(), f"seed {seed}: the server runs on"
        with EmbeddedPostgres(place.home, runtime_folder(place.home)) as server:
            assert faults(Place(folder, server.dsn, place.repository)) == [], f"seed {seed}"

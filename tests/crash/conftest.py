"""Installations for tests that kill them."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from tests.crash.lifecycle import FILES, Place
from tests.support.postgres import TEMPLATE, SharedPostgres, database
from tests.support.repository import make_repository

ALL = os.environ.get("CRASH_TESTS") == "all"
"""Set by `make test-crash`; `make test` takes a sample."""

MakePlace = Callable[[], Place]


@pytest.fixture
def make_place(shared_postgres: SharedPostgres, tmp_path: Path) -> Iterator[MakePlace]:
    """Makes a home, a database and a repository for one lifecycle; the one before is gone then."""
    with ExitStack() as last:

        def make() -> Place:
            last.close()
            folder = tmp_path / uuid4().hex[:8]
            url = last.enter_context(database(shared_postgres, TEMPLATE))
            return Place(folder, url, make_repository(folder / "repository", FILES))

        yield make


@pytest.fixture
def place(make_place: MakePlace) -> Place:
    return make_place()


@pytest.fixture
def meeting(tmp_path: Path) -> Path:
    """A folder that the agents see."""
    folder = tmp_path / "meeting"
    folder.mkdir()
    folder.chmod(0o777)
    return folder

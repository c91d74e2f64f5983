"""Room for new set-ups, without taking any that is in use."""

import os
from collections.abc import Callable
from pathlib import Path

from commands.ports.sandbox import Sandbox
from domain.check import Setup
from infra.git.canonical import GitCanonical
from infra.setup.cache import SetupCache
from infra.setup.prune import Entry, entries, prune, to_prune
from tests.infra.setup.conftest import KEEP, LIMITS


def test_the_longest_unused_go_first_and_no_more_than_must() -> None:
    found = [Entry("new", 40, used=3), Entry("old", 30, used=1), Entry("middle", 50, used=2)]
    assert to_prune(found, 120) == []
    assert [entry.key for entry in to_prune(found, 119)] == ["old"]
    assert [entry.key for entry in to_prune(found, 90)] == ["old"]
    assert [entry.key for entry in to_prune(found, 89)] == ["old", "middle"]
    assert [entry.key for entry in to_prune(found, 0)] == ["old", "middle", "new"]


def test_an_empty_cache_has_nothing_to_prune(folder: Path) -> None:
    assert entries(folder) == []
    assert prune(folder, 0) == []


def test_what_is_in_use_stays_and_what_went_is_built_again(
    cache: SetupCache, folder: Path, canonical: GitCanonical, commit: Callable[..., str], sandbox: Sandbox
) -> None:
    base = commit(lock="one")
    large = Setup(command="mkdir deps; head -c 300000 /dev/zero > deps/x; chmod 0 deps/x", outputs=("deps",))
    small = Setup(command="mkdir deps", outputs=("deps",))
    other = SetupCache(folder, LIMITS, KEEP)
    (used,) = other.prepare(large, canonical, base, sandbox)
    cache.prepare(small, canonical, base, sandbox)
    cache.close()
    assert max(entry.size for entry in entries(folder)) >= 300_000
    assert len(prune(folder, 0)) == 1
    assert used.source.is_dir()
    other.close()
    os.utime(folder / f"{used.source.parent.name}.lock", (1, 1))
    assert [entry.used for entry in prune(folder, 0)] == [1.0]
    assert [each.suffix for each in folder.iterdir()] == [".lock", ".lock"]
    assert cache.prepare(small, canonical, base, sandbox)[0].source.is_dir()

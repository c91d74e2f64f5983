"""Compare-and-swap of refs, also among processes."""

import multiprocessing
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from infra.git.canonical import GitCanonical
from infra.git.process import GitFailed, git
from infra.git.ref import Refs
from tests.infra.git.conftest import AGENT
from tests.infra.git.person_git import PersonGit

REF = "refs/heads/main"


def commits(canonical: GitCanonical, base: str, count: int) -> list[str]:
    tree = canonical.tree_of(base)
    return [canonical.commit_tree(tree, [base], AGENT, AGENT, f"number {n}") for n in range(count)]


def test_create_and_swap(canonical: GitCanonical, base: str) -> None:
    one, two = commits(canonical, base, 2)
    refs = Refs(canonical.path)
    assert refs.read(REF) is None
    assert refs.create(REF, one)
    assert not refs.create(REF, two)
    assert not refs.swap(REF, two, one)
    assert refs.swap(REF, one, two)
    assert refs.read(REF) == two


def test_packed_refs_are_seen(canonical: GitCanonical, base: str) -> None:
    one, two = commits(canonical, base, 2)
    refs = Refs(canonical.path)
    refs.create(REF, one)
    git("pack-refs", "--all", git_dir=canonical.path)
    assert refs.read(REF) == one
    assert not refs.create(REF, two)
    assert refs.swap(REF, one, two)
    refs.delete(REF)
    assert refs.read(REF) is None
    refs.delete(REF)


@pytest.mark.parametrize("ref", ["main", "refs/../x", "refs/heads/a b", "refs/heads/x.lock", "HEAD", "-d"])
def test_only_well_formed_refs(canonical: GitCanonical, base: str, ref: str) -> None:
    with pytest.raises(ValueError, match="not a ref name"):
        Refs(canonical.path).create(ref, base)


@pytest.mark.parametrize("name", ["HEAD", "abc", "", "-x", "A" * 40])
def test_only_full_object_names(canonical: GitCanonical, name: str) -> None:
    with pytest.raises(ValueError, match="not a full object name"):
        Refs(canonical.path).create(REF, name)


def _race(path: Path, expected: str | None, mine: str, start: Barrier, wins: "Queue[tuple[bool, str]]") -> None:
    refs = Refs(path)
    start.wait()
    won = refs.create(REF, mine) if expected is None else refs.swap(REF, expected, mine)
    wins.put((won, mine))


@pytest.mark.parametrize("fresh", [True, False])
def test_of_several_processes_exactly_one_wins(canonical: GitCanonical, base: str, fresh: bool) -> None:
    names = commits(canonical, base, 4)
    if not fresh:
        Refs(canonical.path).create(REF, base)
        git("pack-refs", "--all", git_dir=canonical.path)
    context = multiprocessing.get_context("fork")
    start, wins = context.Barrier(4), context.Queue()
    racers = [
        context.Process(target=_race, args=(canonical.path, None if fresh else base, name, start, wins))
        for name in names
    ]
    for racer in racers:
        racer.start()
    results = [wins.get(timeout=60) for _ in racers]
    for racer in racers:
        racer.join()
    winners = [name for won, name in results if won]
    assert winners == [Refs(canonical.path).read(REF)]


def test_swaps_and_gits_own_pack_refs_lose_nothing(canonical: GitCanonical, base: str) -> None:
    refs = Refs(canonical.path)
    refs.create(REF, base)
    current = base
    for name in commits(canonical, base, 20):
        git("pack-refs", "--all", git_dir=canonical.path)
        assert refs.swap(REF, current, name)
        assert refs.read(REF) == name
        current = name


def test_a_lock_of_a_killed_process_is_broken(canonical: GitCanonical, base: str) -> None:
    lock = canonical.path / f"{REF}.lock"
    lock.touch()
    assert Refs(canonical.path, patience=0.0).create(REF, base)
    assert not lock.exists()
    assert git("for-each-ref", git_dir=canonical.path).stderr == b""


@pytest.mark.parametrize("held", [REF, "packed-refs"])
def test_a_dead_lock_keeps_no_ref_from_being_removed(canonical: GitCanonical, base: str, held: str) -> None:
    refs = Refs(canonical.path, patience=0.0)
    refs.create(REF, base)
    git("pack-refs", "--all", git_dir=canonical.path)
    (canonical.path / f"{held}.lock").touch()
    refs.delete(REF)
    assert refs.read(REF) is None


def test_put_goes_wherever_the_ref_is(canonical: GitCanonical, base: str) -> None:
    one, two = commits(canonical, base, 2)
    refs = Refs(canonical.path)
    for name in (one, one, two):
        refs.put("refs/ws/run/tree", name)
        assert refs.list("refs/ws/run/") == {"refs/ws/run/tree": name}


def test_main_moves_only_from_where_it_is_expected(canonical: GitCanonical, base: str) -> None:
    (one,) = commits(canonical, base, 1)
    assert canonical.head() is None
    assert not canonical.set_head(one, base)
    assert canonical.set_head(None, base)
    assert not canonical.set_head(None, one)
    assert canonical.set_head(base, one)
    assert canonical.head() == one


def test_a_pin_is_kept_and_never_moved(canonical: GitCanonical, base: str) -> None:
    (one,) = commits(canonical, base, 1)
    canonical.pin("refs/rhumb/cand/c1", base)
    canonical.pin("refs/rhumb/cand/c1", base)
    with pytest.raises(RuntimeError, match="not at"):
        canonical.pin("refs/rhumb/cand/c1", one)
    canonical.unpin("refs/rhumb/cand/c1")
    canonical.unpin("refs/rhumb/cand/c1")


def test_nothing_is_pinned_that_is_not_there(canonical: GitCanonical, person: PersonGit) -> None:
    with pytest.raises(GitFailed):
        canonical.pin("refs/rhumb/cand/c1", person.head())

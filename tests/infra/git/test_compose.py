"""Composition."""

from collections.abc import Callable

import pytest

from commands.ports.git import Merge, Signature
from infra.git.canonical import GitCanonical
from infra.git.process import git
from tests.infra.git.person_git import PersonGit

Propose = Callable[[str, dict[str, str | None]], str]


def describe(index: int) -> tuple[Signature, str]:
    return Signature("Agent", "a@example.org", 1_700_000_000 + index), f"merge {index}"


def test_the_chain_has_the_changesets_as_parents(canonical: GitCanonical, base: str, propose: Propose) -> None:
    sets = [propose(base, {f"new{n}.txt": f"{n}\n"}) for n in range(3)]
    merged = canonical.compose(base, sets, describe)
    assert merged.conflicts == ()
    assert merged.commit is not None
    assert merged.tree == canonical.tree_of(merged.commit)
    rows = git("rev-list", "--first-parent", "--parents", merged.commit, git_dir=canonical.path).stdout.decode()
    chain = [row.split() for row in rows.splitlines()]
    assert [row[2] for row in chain[:3]] == sets[::-1]
    assert chain[2][1] == base
    assert {"new0.txt", "new1.txt", "new2.txt"} <= set(canonical.paths(merged.commit))


def test_composing_twice_gives_the_same_hash(canonical: GitCanonical, base: str, propose: Propose) -> None:
    sets = [propose(base, {f"new{n}.txt": f"{n}\n"}) for n in range(2)]
    assert canonical.compose(base, sets, describe) == canonical.compose(base, sets, describe)


def test_a_stack_is_the_prefix_of_the_candidate(canonical: GitCanonical, base: str, propose: Propose) -> None:
    first = propose(base, {"src/app.py": "print('one')\n"})
    stack = canonical.compose(base, [first], describe).commit
    assert stack is not None
    second = propose(stack, {"src/app.py": "print('one, then two')\n"})
    merged = canonical.compose(base, [first, second], describe)
    assert merged.conflicts == ()
    assert merged.commit is not None
    assert git("rev-parse", f"{merged.commit}^1", git_dir=canonical.path).stdout.decode().strip() == stack
    assert canonical.read_file(merged.commit, "src/app.py", 100) == b"print('one, then two')\n"


def test_every_conflict_is_named_and_leaves_nothing(canonical: GitCanonical, base: str, propose: Propose) -> None:
    fine = propose(base, {"src/app.py": "print(1)\n", "odd \"name'\n.txt": "a\n"})
    clash = propose(base, {"src/app.py": "print(2)\n"})
    other = propose(base, {"other.txt": "x\n"})
    odd = propose(base, {"odd \"name'\n.txt": "b\n"})
    before = git("count-objects", "-v", git_dir=canonical.path).stdout
    merged = canonical.compose(base, [fine, clash, other, odd], describe)
    assert merged == Merge(None, None, ((1, ("src/app.py",)), (3, ("odd %22name'%0A.txt",))))
    assert git("count-objects", "-v", git_dir=canonical.path).stdout == before


def test_what_merges_only_without_a_named_one_is_named_too(
    canonical: GitCanonical, base: str, propose: Propose
) -> None:
    rows = propose(base, {"rows.txt": "0\n1\n2\n3\n"})
    neighbours = [propose(rows, {"rows.txt": "0\n1\n2\n3\n".replace(f"{n}", "new")}) for n in range(4)]

    merged = canonical.compose(rows, neighbours, describe)

    assert merged.conflicts == tuple((n, ("rows.txt",)) for n in (1, 2, 3))


def test_without_a_changeset_it_is_the_base(canonical: GitCanonical, base: str) -> None:
    assert canonical.compose(base, [], describe) == Merge(base, canonical.tree_of(base), ())


def test_an_empty_changeset_composes(canonical: GitCanonical, base: str, propose: Propose) -> None:
    merged = canonical.compose(base, [propose(base, {})], describe)
    assert merged.commit not in (None, base)
    assert merged.tree == canonical.tree_of(base)


@pytest.mark.parametrize("driver", ["union", "trap"])
def test_what_a_tree_says_about_merging_does_not_count(
    canonical: GitCanonical, person: PersonGit, propose: Propose, driver: str
) -> None:
    person.write(".gitattributes", f"* merge={driver}\n")
    base = person.commit("attributes")
    canonical.fetch(person.path, base, "refs/rhumb/base/1")
    canonical.set_head(None, base)
    sets = [propose(base, {"README.md": f"{n}\n"}) for n in range(2)]
    assert canonical.compose(base, sets, describe).conflicts == ((1, ("README.md",)),)


def test_no_quarantine_is_left(canonical: GitCanonical, base: str, propose: Propose) -> None:
    canonical.compose(base, [propose(base, {"a": "1"})], describe)
    assert not list(canonical.path.glob("quarantine-*"))

"""The matcher of defining files and protected resources."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from domain.judge.glob import PatternSet, matches
from domain.kernel.value import encode_path


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("conftest.py", "conftest.py"),
        ("conftest.py", "a/b/conftest.py"),
        ("conftest.py", "a/ConfTest.PY"),
        ("/conftest.py", "conftest.py"),
        ("tests", "a/tests/b/c.txt"),
        ("tests/", "tests/a"),
        ("tests/**", "tests"),
        ("tests/**", "tests/a/b"),
        ("**/tests/**", "tests/a"),
        ("**/tests/**", "x/y/tests"),
        ("a/**/b", "a/b"),
        ("a/**/b", "a/x/y/b/z"),
        ("a/*/b", "a/x/b"),
        ("test_*.py", "deep/down/test_.py"),
        ("*.test.*", "src/app.test.tsx"),
        ("?.c", "x/%C3%BC.c"),
        ("**", "anything/at/all"),
        ("./db/x", "db/x"),
        ("[id].ts", "app/[id].ts"),
        ("STRASSE", "straße"),
        ("%2A.py", "a/*.py"),
        ("%FF*", "%FFabc"),
        ("*%FF", "abc%FF"),
        ("über", "%C3%BCber"),
        ("a b", "a b"),
        ("100%", "100%25"),
    ],
)
def test_it_covers(pattern: str, path: str) -> None:
    assert matches(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("", "a"),
        ("/", "a"),
        (".", "a"),
        ("conftest.py", "conftest.pyc"),
        ("conftest.py", "xconftest.py"),
        ("/conftest.py", "a/conftest.py"),
        ("tests/**", "a/tests/b"),
        ("tests", "tests.py"),
        ("a/*/b", "a/b"),
        ("a/*/b", "a/x/y/b"),
        ("test_*.py", "test_a/b.py"),
        ("?.c", ".c"),
        ("[id].ts", "i.ts"),
        ("%2A.py", "a.py"),
        ("%3F.py", "a.py"),
        ("a.c", "abc"),
        ("a%2Fb", "a/b"),
        ("*.py", "a.py%0A"),
    ],
)
def test_it_does_not_cover(pattern: str, path: str) -> None:
    assert not matches(pattern, path)


ALPHABET = st.sampled_from("abAB.-")
PATTERNS = st.lists(
    st.text(st.sampled_from("abAB.-*?"), min_size=1, max_size=5) | st.just("**"), min_size=1, max_size=4
)
PATHS = st.lists(st.text(ALPHABET, min_size=1, max_size=4), min_size=1, max_size=4)
ANCHOR = st.sampled_from(["", "/"])


def reference(pattern: str, path: str) -> bool:
    """The same meaning as a regular expression, written down a second time."""
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if not parts:
        return False
    expression = "" if "/" in pattern.rstrip("/") else "(?:[^/]+/)*"
    for part in parts:
        if part == "**":
            expression += "(?:[^/]+/)*"
        else:
            characters = {"*": "[^/]*", "?": "[^/]"}
            expression += "".join(characters.get(c, re.escape(c)) for c in part) + "/"
    return re.fullmatch(expression + "(?:[^/]+/)*", path + "/", re.IGNORECASE) is not None


@given(ANCHOR, PATTERNS, PATHS)
@example("", ["**", "a"], ["b", "a"])
@example("", ["a", "**", "**", "b"], ["a", "a", "b"])
def test_it_means_what_the_regular_expression_means(anchor: str, pattern: list[str], path: list[str]) -> None:
    text = anchor + "/".join(pattern)
    assert matches(text, "/".join(path)) == reference(text, "/".join(path))


@given(st.lists(st.tuples(ANCHOR, PATTERNS).map(lambda p: p[0] + "/".join(p[1])), max_size=6), PATHS.map("/".join))
def test_a_set_covers_what_one_of_its_patterns_covers(patterns: list[str], path: str) -> None:
    assert PatternSet(patterns).covers(path) == any(matches(pattern, path) for pattern in patterns)


@given(st.binary(min_size=1, max_size=30).filter(lambda raw: b"\0" not in raw))
def test_the_encoded_name_of_any_file_covers_that_file(raw: bytes) -> None:
    name = encode_path(raw.replace(b"/", b"_"))
    literal = name.replace("*", "%2A").replace("?", "%3F")
    if name not in (".", ".."):
        assert matches(literal, f"some/where/{name}")
        assert matches(f"/{literal}", f"{name}/below")


def test_a_hostile_pattern_takes_no_exponential_time() -> None:
    """A backtracking matcher would not come back from this."""
    assert not matches("*a" * 60 + "b", "a" * 2_000)
    assert not matches("/".join(["**", "a"] * 40) + "/b", "/".join(["a"] * 400))

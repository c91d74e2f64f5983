"""Values let in for an agent: which of them are secrets, and how they are kept out of logs."""

import random

import pytest

from infra.agents.secret import Redactor, redact, secrets_of


def test_short_values_and_places_are_no_secrets() -> None:
    variables = {"A": "1234567", "B": "12345678", "HOME": "/home/somebody", "LC_ALL": "en_US.UTF-8", "C": "  \n"}
    assert secrets_of(variables) == ("12345678",)


def test_longest_first_each_once() -> None:
    assert secrets_of({"A": "secret-abc", "B": "secret-abc-longer", "C": "secret-abc\n"}) == (
        "secret-abc-longer",
        "secret-abc",
    )


def test_redacts_the_longest_that_fits() -> None:
    text = b"x secret-abc-longer y secret-abc z"
    assert redact(text, ("secret-abc", "secret-abc-longer")) == b"x [redacted] y [redacted] z"


def test_a_pattern_s_characters_are_plain_characters() -> None:
    assert redact(b"a.*b(c axxb", ("a.*b(c",)) == b"[redacted] axxb"


def test_without_secrets_everything_passes_at_once() -> None:
    assert Redactor(()).feed(b"text") == b"text"


def test_values_that_aren_t_text_are_found_too() -> None:
    assert redact(b"x \xffabcdefgh y", ("\udcffabcdefgh",)) == b"x [redacted] y"


@pytest.mark.parametrize("seed", range(20))
def test_wherever_a_stream_is_cut_no_secret_passes(seed: int) -> None:
    chance = random.Random(seed)
    secrets = ("canary-1234", "canary-1234-and-more", "zzzzzzzzz")
    text = b"".join(chance.choice([b"a", b"canary", b"\n", *(s.encode() for s in secrets)]) for _ in range(200))
    redactor, shown, rest = Redactor(secrets), [], text
    while rest:
        size = chance.randint(1, 7)
        shown.append(redactor.feed(rest[:size]))
        rest = rest[size:]
    shown.append(redactor.end())
    # However it is cut, the stream shows what the whole would.
    assert not any(secret.encode() in b"".join(shown) for secret in secrets)
    assert b"".join(shown) == redact(text, secrets)

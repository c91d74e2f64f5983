"""Text that any part may store, paths that survive any bytes, and the one JSON form."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from domain.kernel.value import (
    TEXT_LIMIT,
    Text,
    Value,
    canonical_json,
    clean_text,
    decode_path,
    encode_path,
    sha256_hex,
)

ANY_TEXT = st.text(st.characters(exclude_categories=()) | st.sampled_from("\0\ud800\udfff"), max_size=50)


class Note(Value):
    some_text: Text
    count: int = 0


@given(ANY_TEXT)
def test_any_text_becomes_storable(raw: str) -> None:
    text = clean_text(raw)
    assert "\0" not in text
    text.encode()
    assert clean_text(text) == text


def test_a_surrogate_pair_is_one_character_and_a_lone_one_is_replaced() -> None:
    assert clean_text("\ud83d\ude42") == "🙂"
    assert clean_text("a\ud83db\0c") == "a\ufffdbc"


@given(ANY_TEXT)
def test_a_value_holds_only_storable_text(raw: str) -> None:
    note = Note(some_text=raw)
    assert Note.model_validate_json(note.model_dump_json()) == note
    assert note.some_text == clean_text(raw)


def test_long_text_is_clipped_with_an_ellipsis() -> None:
    assert Note(some_text="x" * TEXT_LIMIT).some_text == "x" * TEXT_LIMIT
    assert Note(some_text="x" * (TEXT_LIMIT + 1)).some_text == "x" * (TEXT_LIMIT - 1) + "…"


def test_markup_and_format_fields_stay_what_they_are() -> None:
    text = "[/b] {0} %s $(x) '; --"
    assert Note(some_text=text).some_text == text


def test_values_are_frozen_strict_about_fields_and_camel_case_in_json() -> None:
    note = Note(some_text="a")
    assert note.model_dump(mode="json") == {"someText": "a", "count": 0}
    assert Note.model_validate({"someText": "a"}) == Note.model_validate({"some_text": "a"}) == note
    with pytest.raises(ValidationError):
        note.count = 1  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Note.model_validate({"someText": "a", "other": 1})
    with pytest.raises(ValidationError):
        Note.model_validate({"someText": 5})


@given(st.binary(max_size=60))
def test_a_path_survives_any_bytes(raw: bytes) -> None:
    encoded = encode_path(raw)
    assert decode_path(encoded) == raw
    assert encoded.isascii()
    assert encoded.isprintable()
    assert encoded.count("/") == raw.count(b"/")


def test_ordinary_names_stay_readable() -> None:
    assert encode_path(b"src/[id]/a b+c.py") == "src/[id]/a b+c.py"
    assert encode_path(b'a"b\\c%\n\xff') == "a%22b%5Cc%25%0A%FF"


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=5))
def test_canonical_json_depends_on_content_only(data: dict[str, object]) -> None:
    turned = dict(reversed(data.items()))
    assert canonical_json(data) == canonical_json(turned)
    assert json.loads(canonical_json(data)) == data


def test_canonical_json_has_no_spaces_and_keeps_letters() -> None:
    assert canonical_json({"b": [1, None], "a": "ü"}) == '{"a":"ü","b":[1,null]}'.encode()
    assert sha256_hex(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

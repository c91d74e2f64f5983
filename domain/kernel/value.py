"""Base of every stored value, and the text that may enter one."""

import hashlib
import json
from typing import Annotated, Any, Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints
from pydantic.alias_generators import to_camel

TEXT_LIMIT: Final = 4_000
"""Characters of a `Text`; longer free text belongs in the object store."""


class Value(BaseModel):
    """A frozen value; camelCase in JSON as in the seeds, unknown fields refused."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        # Built at first use: a command line that needs ten of a hundred classes starts faster.
        defer_build=True,
    )


def clean_text(raw: str) -> str:
    """`raw` without NUL and lone surrogates, which PostgreSQL refuses and pydantic accepts.

    NUL is dropped, a lone surrogate becomes U+FFFD.
    """
    raw = raw.replace("\0", "")
    return raw if raw.isascii() else raw.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _clipped(raw: Any) -> Any:
    if not isinstance(raw, str):
        return raw
    text = clean_text(raw)
    return text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 1] + "…"


Text = Annotated[str, BeforeValidator(_clipped), StringConstraints(max_length=TEXT_LIMIT)]
"""Text at any edge: storable in PostgreSQL, at most `TEXT_LIMIT` characters (clipped with an ellipsis)."""


def encode_path(raw: bytes) -> str:
    """A repository path as percent-encoded bytes; `/` stays, so the result sorts and splits like a path."""
    return quote_from_bytes(raw, safe="/ !#$&'()*+,-.:;<=>?@[]^_`{|}~")


def decode_path(path: str) -> bytes:
    """The bytes of a path made by `encode_path`."""
    return unquote_to_bytes(path)


def canonical_json(data: Any) -> bytes:
    """The one JSON form that is hashed and stored: sorted keys, no spaces, UTF-8."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sha256_hex(data: bytes) -> str:
    """Lower-case hex SHA-256."""
    return hashlib.sha256(data).hexdigest()

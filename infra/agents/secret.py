"""The values that a person lets in for an agent: read late, stored never, searched for everywhere."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from commands.ports.agent import AgentUnavailable

SHORTEST_SECRET: Final = 8
"""Characters; a shorter value is found in innocent text too often to tell anything."""

REDACTED: Final = b"[redacted]"

_NO_SECRETS: Final = frozenset(
    [
        "COLORTERM",
        "EDITOR",
        "HOME",
        "LANG",
        "LANGUAGE",
        "LOGNAME",
        "PWD",
        "SHELL",
        "TERM",
        "TMPDIR",
        "TZ",
        "USER",
        "VISUAL",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
    ]
)
"""Names whose values are places and ways of display, which rightly turn up in files and logs."""


def read_variables(names: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that an agent may see, with their values now.

    Raises:
        AgentUnavailable: one isn't set.
    """
    missing = [name for name in names if name not in environ]
    if missing:
        raise AgentUnavailable(f"not set in the environment: {', '.join(missing)} (named by --agent-env)")
    return {name: environ[name] for name in names}


def secrets_of(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Values that must turn up nowhere, longest first."""
    found = {
        value.strip()
        for name, value in variables.items()
        if name not in _NO_SECRETS and not name.startswith("LC_") and len(value.strip()) >= SHORTEST_SECRET
    }
    return tuple(sorted(found, key=lambda value: (-len(value), value)))


def redact(content: bytes, secrets: Sequence[str]) -> bytes:
    """`content` with `[redacted]` in place of each secret."""
    redactor = Redactor(secrets)
    return redactor.feed(content) + redactor.end()


class Redactor:
    """Redacts a stream: a secret that is cut in two by a chunk's border is found too."""

    def __init__(self, secrets: Sequence[str]) -> None:
        encoded = sorted({os.fsencode(secret) for secret in secrets if secret}, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, encoded))) if encoded else None
        self._kept_back = len(encoded[0]) - 1 if encoded else 0
        self._rest = b""

    def feed(self, chunk: bytes) -> bytes:
        """What can be shown now; what the longest secret could begin in is kept back."""
        if self._pattern is None:
            return chunk
        text, shown, at = self._rest + chunk, [], 0
        # Before this border the text is there to the longest secret's end, so the longest that fits is known.
        border = max(0, len(text) - self._kept_back)
        for found in self._pattern.finditer(text):
            if found.start() >= border:
                break
            shown += [text[at : found.start()], REDACTED]
            at = found.end()
        if at < border:
            shown.append(text[at:border])
            at = border
        self._rest = text[at:]
        return b"".join(shown)

    def end(self) -> bytes:
        """What was kept back."""
        rest, self._rest = self._rest, b""
        return rest if self._pattern is None else self._pattern.sub(REDACTED, rest)


def redacting(on_output: Callable[[bytes], None] | None, redactor: Redactor) -> Callable[[bytes], None] | None:
    """`on_output` behind `redactor`."""
    if on_output is None:
        return None
    show = on_output

    def forward(chunk: bytes) -> None:
        shown = redactor.feed(chunk)
        if shown:
            show(shown)

    return forward

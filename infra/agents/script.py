"""The script of a scripted agent: TOML, or the same as JSON.

[[answers]]                  # the first one that fits is taken
task = "t1"                  # a task's key; without it, any task
attempt = 2                  # without it, any attempt
report = "What was done"
exitCode = 0
costUsd = "0.02"             # without it, the cost is unknown
reserveUsd = "0.05"          # held before the run; without it, the cost
[[answers.actions]]
write = "src/new.py"         # with `text` and, if wished, `executable = true`
text = "print('hello')"
[[answers.actions]]
replace = "src/old.py"       # `find` must be there exactly once
find = "one"
text = "two"
[[answers.actions]]
delete = "README.old"
[[answers.actions]]
run = "make format"          # a shell line, in the sandbox like everything here
"""

import json
import tomllib
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, StringConstraints, ValidationError, model_validator

from commands.ports.agent import AgentInputError
from domain.kernel.money import Micros, micros_from_usd
from domain.kernel.value import Value
from domain.plan import TaskKey

SCRIPT_BYTES: Final = 16 * 1024**2

_MICROS: Final = {
    "costUsd": "costMicros",
    "cost_usd": "costMicros",
    "reserveUsd": "reserveMicros",
    "reserve_usd": "reserveMicros",
}
"""Dollars as people write them, and the micro-dollars that are stored."""


def _inside(raw: str) -> str:
    parts = raw.split("/")
    if raw.startswith("/") or "\0" in raw or any(part in ("", ".", "..") for part in parts):
        raise ValueError("a path must be relative, stay within the workspace and have no empty part, '.' or '..'")
    if parts[0] == ".git" or ".git" in parts:
        raise ValueError("a path must not lie in a .git")
    return raw


Inside = Annotated[str, StringConstraints(min_length=1, max_length=4_096), AfterValidator(_inside)]
ShellLine = Annotated[str, StringConstraints(min_length=1, max_length=100_000)]


class Action(Value):
    """One thing that the agent does; exactly one of write, replace, delete and run."""

    write: Inside | None = None
    replace: Inside | None = None
    delete: Inside | None = None
    run: ShellLine | None = None
    text: str | None = None
    find: Annotated[str, StringConstraints(min_length=1)] | None = None
    executable: bool = False

    @model_validator(mode="after")
    def _is_one_thing(self) -> "Action":
        kinds = [name for name in ("write", "replace", "delete", "run") if getattr(self, name) is not None]
        if len(kinds) != 1:
            raise ValueError("an action is exactly one of write, replace, delete and run")
        needs = {"write": {"text"}, "replace": {"text", "find"}, "delete": set(), "run": set()}[kinds[0]]
        has = {name for name in ("text", "find") if getattr(self, name) is not None}
        if needs != has:
            raise ValueError(f"{kinds[0]} takes {' and '.join(sorted(needs)) or 'nothing else'}")
        if self.executable and kinds[0] != "write":
            raise ValueError("executable belongs to write")
        return self


class Answer(Value):
    """What the agent does in one attempt (or in each that fits)."""

    task: TaskKey | None = None
    attempt: Annotated[int, Field(ge=1)] | None = None
    actions: tuple[Action, ...] = ()
    report: str | None = None
    exit_code: Annotated[int, Field(ge=0, le=255)] = 0
    cost_micros: Micros | None = None
    reserve_micros: Micros | None = None

    @model_validator(mode="before")
    @classmethod
    def _dollars(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        return {_MICROS.get(k, k): _dollars(v) if k in _MICROS else v for k, v in raw.items()}

    def fits(self, key: str, attempt: int) -> bool:
        return self.task in (None, key) and self.attempt in (None, attempt)


def _dollars(raw: Any) -> int:
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        raise ValueError("an amount in dollars is a number")
    return micros_from_usd(str(raw))


class Script(Value):
    """All answers, in order."""

    answers: Annotated[tuple[Answer, ...], Field(min_length=1)]

    def answer(self, key: str, attempt: int) -> Answer | None:
        """The first answer that fits."""
        return next((answer for answer in self.answers if answer.fits(key, attempt)), None)


def read_script(path: Path) -> Script:
    """The script in a file of a person's.

    Raises:
        AgentInputError: it can't be read, is no TOML or JSON, or says something that no script can.
    """
    try:
        with path.open("rb") as file:
            content = file.read(SCRIPT_BYTES + 1)
    except OSError as error:
        raise AgentInputError(f"the script {path} can't be read: {error.strerror}") from error
    if len(content) > SCRIPT_BYTES:
        raise AgentInputError(f"the script {path} is larger than {SCRIPT_BYTES // 1024**2} MiB")
    try:
        text = content.decode()
        document = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except ValueError as error:
        form = "JSON" if path.suffix == ".json" else "TOML"
        raise AgentInputError(f"the script {path} is no {form}: {error}") from error
    try:
        return Script.model_validate(document)
    except ValidationError as error:
        raise AgentInputError(f"the script {path} can't be used: {_problems(error)}") from None


def _problems(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, item['loc'])) or 'script'}: {item['msg']}" for item in error.errors(include_input=False)
    )

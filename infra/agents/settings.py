"""The settings of a Change's agents, as they are stored with it: never the value of a variable."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError

from commands.ports.agent import AgentUnavailable
from domain.kernel.value import Value, canonical_json
from infra.agents.script import Script

VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")]


class AgentBind(Value):
    """A file, folder or socket of the person's that the agent sees: `source` (real path) at `target` inside."""

    source: str
    target: str
    writable: bool = False


class _Common(Value):
    binds: tuple[AgentBind, ...] = ()
    env: tuple[VariableName, ...] = ()


class CommandSettings(_Common):
    """A shell line of the person's, prompt on its standard input."""

    provider: Literal["command"] = "command"
    command: Annotated[str, StringConstraints(min_length=1, max_length=100_000)]


class ScriptedSettings(_Common):
    """The whole script, so that a later process goes on with the same one."""

    provider: Literal["scripted"] = "scripted"
    script: Script


AgentSettings = Annotated[CommandSettings | ScriptedSettings, Field(discriminator="provider")]

_ADAPTER: TypeAdapter[CommandSettings | ScriptedSettings] = TypeAdapter(AgentSettings)


def encode_settings(settings: CommandSettings | ScriptedSettings) -> bytes:
    return canonical_json(settings.model_dump(mode="json", by_alias=True))


def decode_settings(stored: bytes) -> CommandSettings | ScriptedSettings:
    """Settings made by `encode_settings`.

    Raises:
        AgentUnavailable: this code can't read them.
    """
    try:
        return _ADAPTER.validate_json(stored)
    except ValidationError as error:
        fields = ", ".join(".".join(map(str, item["loc"])) for item in error.errors(include_input=False))
        raise AgentUnavailable(f"the stored settings of the agents can't be read by this version ({fields})") from None

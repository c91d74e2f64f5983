"""All providers: from what a person says to stored settings, and from these to an agent."""

from typing import Final

from pydantic import TypeAdapter, ValidationError

from commands.ports.agent import Agent, AgentInputError, AgentRequest
from domain.kernel.value import clean_text
from infra.agents.bind import parse_bind, require_access
from infra.agents.command import CommandAgent
from infra.agents.execution import AgentHost
from infra.agents.script import Script, read_script
from infra.agents.scripted import ScriptedAgent
from infra.agents.settings import (
    AgentBind,
    CommandSettings,
    ScriptedSettings,
    VariableName,
    decode_settings,
    encode_settings,
)

PROVIDERS: Final = ("command", "scripted")

_VARIABLE: TypeAdapter[str] = TypeAdapter(VariableName)


class InstalledAgents:
    """`Agents` on this machine."""

    def __init__(self, host: AgentHost) -> None:
        self._host = host

    def prepare(self, request: AgentRequest) -> bytes:
        binds, env = self._binds(request), self._env(request.env)
        if request.provider == "command":
            return encode_settings(CommandSettings(command=_command(request), binds=binds, env=env))
        if request.provider == "scripted":
            return encode_settings(ScriptedSettings(script=_script(request), binds=binds, env=env))
        raise AgentInputError(f"there is no provider {request.provider!r}: {' or '.join(PROVIDERS)}")

    def open(self, settings: bytes, sandboxed: bool) -> Agent:
        decoded = decode_settings(settings)
        if isinstance(decoded, CommandSettings):
            return CommandAgent(decoded, self._host)
        return ScriptedAgent(decoded, self._host)

    def _binds(self, request: AgentRequest) -> tuple[AgentBind, ...]:
        binds = tuple(parse_bind(text, self._host.home, self._host.own) for text in request.binds)
        targets = [bind.target for bind in binds]
        twice = next((target for target in targets if targets.count(target) > 1), None)
        if twice is not None:
            raise AgentInputError(f"--agent-bind {twice}: named twice")
        if request.sandboxed:
            for bind in binds:
                require_access(bind)
        return binds

    def _env(self, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            try:
                _VARIABLE.validate_python(name)
            except ValidationError:
                shown = name.split("=")[0]
                raise AgentInputError(f"--agent-env {shown!r}: give the name of a variable, without a value") from None
            if name == "PATH" or name.startswith(("RHUMB_", "RHUMBLINE_")):
                raise AgentInputError(f"--agent-env {name}: Rhumbline sets or needs it itself")
            if name not in self._host.environ:
                raise AgentInputError(f"--agent-env {name}: it isn't set in the environment")
        return tuple(dict.fromkeys(names))


def _command(request: AgentRequest) -> str:
    if request.script is not None:
        raise AgentInputError("--script belongs to --provider scripted")
    command = request.command or ""
    if not command.strip():
        raise AgentInputError("--provider command needs --agent-command CMD")
    if clean_text(command) != command:
        raise AgentInputError("--agent-command holds a NUL or bytes that aren't text")
    return command


def _script(request: AgentRequest) -> Script:
    if request.command is not None:
        raise AgentInputError("--agent-command belongs to --provider command")
    if request.script is None:
        raise AgentInputError("--provider scripted needs --script FILE")
    return read_script(request.script)

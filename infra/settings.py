"""Settings of an installation: environment variables, each with a default that works on one machine."""

import os
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Final

from pydantic import ByteSize, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from commands.ports.sandbox import Limits
from domain.kernel.money import MAX_USD, MICROS_PER_USD

PREFIX: Final = "RHUMBLINE_"
MAX_AGENTS: Final = 8
MIN_POOL: Final = 3
"""A rebuild holds one connection and reads by a second; what else the process does needs one, too."""
GIB: Final = 1024**3
MIB: Final = 1024**2


class SettingsError(Exception):
    """A variable of the environment that can't be used; the text names it, says why, and never holds its value."""


def _default_agents() -> int:
    """Agents mostly wait for a model, so two for each processor, but never more than a Change may have."""
    return min(MAX_AGENTS, 2 * (os.cpu_count() or 1))


def _default_home() -> Path:
    import platformdirs

    return Path(platformdirs.user_data_dir("rhumbline", appauthor=False))


class Settings(BaseSettings):
    """Read from `RHUMBLINE_<FIELD>`; `DATABASE_URL` and `KAFKA_BOOTSTRAP_SERVERS` have no prefix. Empty means unset.

    home: where all state lies. workspaces: another place for workspaces. objects_url: an S3-compatible store in
    place of a folder below the home. pool_min, pool_max: connections to the database. max_agents: agents and checks
    at work at once in the whole installation. lease_seconds: how long a process may show no sign of life before another
    takes over what it does; the same for all processes of an installation. budget_usd: the default budget of a Change.
    toolchains: further folders of interpreters for the sandbox, separated as in PATH. Sizes take units (`4GiB`);
    seconds are wall time.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True, hide_input_in_errors=True
    )

    home: Path = Field(default_factory=_default_home)
    workspaces: Path | None = None
    database_url: SecretStr | None = Field(default=None, validation_alias="DATABASE_URL")
    kafka_bootstrap_servers: str | None = Field(default=None, validation_alias="KAFKA_BOOTSTRAP_SERVERS")
    objects_url: str | None = None
    pool_min: Annotated[int, Field(ge=0, le=100)] = 1
    pool_max: Annotated[int, Field(ge=MIN_POOL, le=100)] = 8
    max_agents: Annotated[int, Field(ge=1, le=64)] = Field(default_factory=_default_agents)
    lease_seconds: Annotated[float, Field(ge=1, le=3_600)] = 30.0
    budget_usd: Annotated[Decimal, Field(ge=0, le=MAX_USD)] = Decimal(5)
    toolchains: Annotated[tuple[Path, ...], NoDecode] = ()
    agent_seconds: Annotated[int, Field(ge=1, le=7 * 86_400)] = 3_600
    memory: Annotated[ByteSize, Field(ge=64 * MIB)] = ByteSize(4 * GIB)
    processes: Annotated[int, Field(ge=8, le=100_000)] = 512
    output: Annotated[ByteSize, Field(ge=1024, le=GIB)] = ByteSize(8 * MIB)
    file_size: Annotated[ByteSize, Field(ge=MIB)] = ByteSize(4 * GIB)
    setup_cache: Annotated[ByteSize, Field(ge=0)] = ByteSize(10 * GIB)

    @field_validator("toolchains", mode="before")
    @classmethod
    def _split(cls, raw: object) -> object:
        return tuple(part for part in raw.split(os.pathsep) if part) if isinstance(raw, str) else raw

    @field_validator("home", "workspaces")
    @classmethod
    def _expand(cls, raw: Path | None) -> Path | None:
        return raw.expanduser().absolute() if raw is not None else None

    @field_validator("pool_max")
    @classmethod
    def _holds_the_minimum(cls, raw: int, info: ValidationInfo) -> int:
        if raw < info.data.get("pool_min", 0):
            raise ValueError("smaller than RHUMBLINE_POOL_MIN")
        return raw

    @property
    def budget(self) -> int:
        """The default budget of a Change in micro-dollars."""
        return int(self.budget_usd * MICROS_PER_USD)

    @property
    def agent_limits(self) -> Limits:
        """The bounds of one run of an agent."""
        return self.limits(self.agent_seconds)

    def limits(self, seconds: float) -> Limits:
        """The bounds of one execution that may take `seconds`."""
        return Limits(
            seconds=seconds,
            memory_bytes=int(self.memory),
            processes=self.processes,
            output_bytes=int(self.output),
            file_bytes=int(self.file_size),
        )


def load_settings() -> Settings:
    """The settings that the environment holds now.

    Raises:
        SettingsError: a variable holds something that can't be used.
    """
    try:
        return Settings()
    except ValidationError as error:
        problems = [f"{_variable(item['loc'])}: {item['msg']}" for item in error.errors(include_input=False)]
        raise SettingsError("; ".join(problems)) from None


def _variable(location: tuple[int | str, ...]) -> str:
    name = str(location[0]) if location else "settings"
    return name if name.isupper() else PREFIX + name.upper()

"""Checks, set-up and evidence: what a Verification Plan is made of."""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, StringConstraints

from domain.kernel.event import BlobRef
from domain.kernel.value import Text, Value

DEFAULT_CHECK_SECONDS: Final = 900
DEFAULT_SETUP_SECONDS: Final = 1_800

CheckName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


class CheckSource(StrEnum):
    """Where a check comes from; never from the change that it judges."""

    PERSON = "person"
    SETTINGS = "settings"
    DISCOVERED = "discovered"


class Check(Value):
    """A command that judges a tree: exit code 0 passes. It runs through `sh -c` in a checkout, in the sandbox.

    defining: percent-encoded glob patterns of files that define the check, beside the built-in ones.
    """

    name: CheckName
    command: Annotated[Text, StringConstraints(min_length=1)]
    source: CheckSource
    seconds: Annotated[int, Field(ge=1, le=86_400)] = DEFAULT_CHECK_SECONDS
    defining: tuple[Text, ...] = ()


class Setup(Value):
    """The step that installs dependencies: once per hash of command, lock files and toolchain, cached, read-only.

    outputs: percent-encoded folders that the step makes and that agents and checks see; hosts: the registries that it
    may reach.
    """

    command: Annotated[Text, StringConstraints(min_length=1)]
    outputs: tuple[Text, ...]
    lock_files: tuple[Text, ...] = ()
    hosts: tuple[Text, ...] = ()
    seconds: Annotated[int, Field(ge=1, le=86_400)] = DEFAULT_SETUP_SECONDS


class Variant(StrEnum):
    """Which tree a check ran on: the candidate as it is, or with the base's versions of defining files laid over."""

    AS_IS = "as_is"
    BASE_JUDGES = "base_judges"


class PlannedCheck(Value):
    """One line of a Verification Plan.

    overlay: the changed defining files that the base's versions replace; percent-encoded, and so never clipped, because
    a path that is cut short names another file.
    """

    check: CheckName
    variant: Variant = Variant.AS_IS
    overlay: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Names the line within its candidate."""
        return f"{self.check}:{self.variant}"


class Evidence(Value):
    """What one run of a check of Rhumbline's own showed; only such runs are evidence.

    exit_code is None when the sandbox ended it (`killed`: time, memory, output, cancelled). duration in milliseconds.
    sandboxed is False for `--unsafe-local`.
    """

    check: CheckName
    variant: Variant
    exit_code: int | None
    killed: Text | None = None
    duration_ms: Annotated[int, Field(ge=0)]
    output: BlobRef
    sandboxed: bool = True

    @property
    def passed(self) -> bool:
        return self.exit_code == 0 and self.killed is None

    @property
    def key(self) -> str:
        return f"{self.check}:{self.variant}"

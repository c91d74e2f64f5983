"""The commands of a Budget. Each carries its time and new IDs; see `domain.kernel.event.Command`."""

from typing import Annotated

from pydantic import StringConstraints

from domain.kernel.event import Command
from domain.kernel.money import Micros
from domain.kernel.value import Text
from domain.project.role import Role

Month = Annotated[str, StringConstraints(pattern=r"^[0-9]{4}-(0[1-9]|1[0-2])$")]


class OpenBudget(Command):
    """Idempotent: an open Budget keeps its limit, which only `RaiseLimit` changes."""

    owner: Text
    month: Month
    limit: Micros | None


class ReserveSlice(Command):
    """Hold `amount` for the run, in one transaction with the run's start."""

    run: str
    amount: Micros


class SettleSlice(Command):
    """Replace the slice by what the run cost; None (lost in a crash, or unknown) settles at the full slice."""

    run: str
    cost: Micros | None


class RaiseLimit(Command):
    """Upwards only; None takes the limit away. By the owner itself, or owner and admin of the owning project."""

    limit: Micros | None
    role: Role | None

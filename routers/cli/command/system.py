"""The installation and the machine."""

from enum import StrEnum
from typing import Annotated

import typer


class Form(StrEnum):
    """How state machines are printed."""

    JSON = "json"
    MERMAID = "mermaid"


def register(app: typer.Typer) -> None:
    app.command("replay", short_help="Rebuild or verify the read models.")(replay)
    app.command("machines", short_help="The state machines, from the tables that decide.")(machines)
    app.command("doctor", short_help="What this machine has and lacks.")(doctor)
    app.command("demo", short_help="One goal on a small sample application.")(demo)


def replay(
    context: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Read models; all without a name.")] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Change nothing: compare them with the log and report differences.")
    ] = False,
) -> int:
    """Rebuild read models from the log, beside the live ones."""
    from routers.cli.action import system
    from routers.cli.action.base import Cli

    return system.replay(Cli(context.obj), tuple(names or ()), verify)


def machines(
    context: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="change, task, candidate, release.")] = None,
    form: Annotated[Form, typer.Option("--format", help="json, or mermaid for diagrams.")] = Form.JSON,
) -> int:
    """The state machines, from the tables that decide."""
    from routers.cli.action import system
    from routers.cli.action.base import Cli

    return system.show_machines(Cli(context.obj), form, tuple(names or ()))


def doctor(context: typer.Context) -> int:
    """What this machine has and lacks."""
    from routers.cli.action import system
    from routers.cli.action.base import Cli

    return system.doctor(Cli(context.obj))


def demo(context: typer.Context) -> int:
    """One goal on a small sample application, with a scripted agent: no key, no network."""
    from routers.cli.action import system
    from routers.cli.action.base import Cli

    return system.demo(Cli(context.obj))

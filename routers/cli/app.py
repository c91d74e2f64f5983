"""The command line `rhumb`, built for an installation. Light: `rhumb --help` imports nothing that a command needs."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from routers.cli.command import change, look, run, system
from routers.cli.exits import Exit

if TYPE_CHECKING:
    from routers.cli.session import Installation

EPILOG = (
    "Exit codes: 0 promoted (or done), 1 not promoted or refused, 2 wrong usage or input and nothing changed, "
    "3 waits for a person, 70 a defect of Rhumbline's own, 130 interrupted."
)


class RhumbGroup(TyperGroup):
    """Turns the result of a command into an exit code, and what it raises into words."""

    def invoke(self, ctx: Any) -> None:
        try:
            code = super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("rhumb: interrupted; rhumb list shows where things are", err=True)
            code = Exit.INTERRUPTED
        except BrokenPipeError:
            raise
        except Exception as error:
            if isinstance(error, _control_flow()):
                raise
            code = _tell(ctx.obj, error)
        raise typer.Exit(int(code or 0))


def build(installation: "Installation") -> typer.Typer:
    """The whole command line; nothing of `installation` is touched before a command asks for it."""
    app = typer.Typer(
        name="rhumb",
        cls=RhumbGroup,
        help="Takes one goal to a verified, promoted commit.",
        epilog=EPILOG,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"obj": installation, "help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback()(_root)
    for group in (run, change, look, system):
        group.register(app)
    return app


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=lambda value: _version(value), help="Say which version."),
    ] = False,
) -> None:
    """Takes one goal to a verified, promoted commit."""


def _version(wanted: bool) -> None:
    if not wanted:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        typer.echo(f"rhumb {version('rhumbline')}")
    except PackageNotFoundError:
        typer.echo("rhumb (not installed: run from a checkout)")
    raise typer.Exit


def _control_flow() -> tuple[type[BaseException], ...]:
    """What typer raises to end a command: usage errors with their own words, exits, aborts."""
    return (typer.Exit, typer.Abort, _click_exception())


def _click_exception() -> type[Exception]:
    return next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def _tell(installation: "Installation", error: Exception) -> Exit:
    from routers.cli.errors import tell
    from routers.cli.terminal import Terminal

    return tell(Terminal(), installation, error)

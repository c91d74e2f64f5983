"""The installation itself: its read models, its state machines, the machine that it runs on."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from domain.registry import MACHINES, machines, mermaid
from routers.cli.action import change
from routers.cli.action.base import Cli
from routers.cli.exits import Exit, UsageFault
from routers.cli.view.system import difference_lines, doctor_lines, models_lines

OnProgress = Callable[[str, int, int], None]


def show_machines(cli: Cli, form: str, names: tuple[str, ...]) -> Exit:
    """The transition tables as `json` or `mermaid`; needs no store.

    Raises:
        UsageFault: there is no state machine of that name.
    """
    unknown = [name for name in names if name not in MACHINES]
    if unknown:
        raise UsageFault(f"there is no state machine {unknown[0]!r}: {', '.join(MACHINES)}")
    wanted = names or tuple(MACHINES)
    if form == "json":
        tables = machines()
        cli.terminal.raw((json.dumps({name: tables[name] for name in wanted}, indent=2) + "\n").encode())
    elif len(wanted) == 1:
        cli.terminal.raw(mermaid(wanted[0]).encode())
    else:
        cli.terminal.raw("\n".join(f"%% {name}\n{mermaid(name)}" for name in wanted).encode())
    return Exit.DONE


def doctor(cli: Cli) -> Exit:
    """What the machine has and lacks; 1 if something required is missing."""
    findings = cli.installation.doctor()
    cli.terminal.result(doctor_lines(findings))
    return Exit.DONE if all(f.ok or not f.required for f in findings) else Exit.NOT_PROMOTED


def replay(cli: Cli, names: tuple[str, ...], verify: bool) -> Exit:
    """Rebuild read models, or compare them with the log (1 if they differ)."""
    with cli.session() as session, _bar(cli) as progress:
        if not verify:
            cli.terminal.result(models_lines(session.replay(names, progress), "rebuilt"))
            return Exit.DONE
        compared, differences = session.verify(names, progress)
    cli.terminal.result(models_lines(compared, "compared"))
    if differences:
        cli.terminal.notes(difference_lines(differences))
        return Exit.NOT_PROMOTED
    cli.terminal.result([Text("no difference")])
    return Exit.DONE


def demo(cli: Cli) -> Exit:
    """One goal on a small sample application, with answers from a script."""
    demo = cli.installation.demo()
    cli.terminal.note(f'$ rhumb run "{demo.goal}" --repo {demo.repository} --plan {demo.plan} --script {demo.script}')
    request = change.RunRequest(goal=demo.goal, repository=demo.repository, plan=demo.plan, script=demo.script)
    return change.run(cli, request, as_json=False)


@contextmanager
def _bar(cli: Cli) -> Iterator[OnProgress]:
    """A progress bar on a TTY; otherwise nothing, since the result says it all."""
    if not cli.terminal.err.is_terminal:
        yield lambda _what, _done, _total: None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=cli.terminal.err, redirect_stdout=False, redirect_stderr=False) as bar:
        tasks = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        yield progress

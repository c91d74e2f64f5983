"""Submitting a Change and what a person does to one: each follows it until it ends or waits."""

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commands import people
from commands.checks.resolve import person_checks
from commands.document import single_task_plan
from commands.plan_file import read_plan_file
from commands.ports.agent import AgentRequest
from commands.ports.objects import ObjectMissing
from commands.ports.store import ChangeBusy
from commands.submit import GOAL_LIMIT, Submission, check_goal
from domain.kernel.money import micros_from_usd
from routers.cli.action.base import Cli, find_change
from routers.cli.action.watch import Watch
from routers.cli.exits import Exit, Interrupted, UsageFault
from routers.cli.report import ERASED, ChangeReport, CheckRun, change_report, document, unknown_document
from routers.cli.session import Session
from routers.cli.view.change import failed_lines, promoted_lines, waits_lines
from routers.cli.view.plan import plan_lines
from routers.cli.view.progress import Item, Progress
from routers.cli.view.text import one_line


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What was typed after `rhumb run`. goal `-` is read from standard input; budget in dollars, as typed."""

    goal: str
    repository: Path
    provider: str | None = None
    command: str | None = None
    script: Path | None = None
    plan: Path | None = None
    binds: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    budget: str | None = None
    base: str | None = None
    approve: bool = False
    unsafe_local: bool = False
    allow_red_base: bool = False
    request_id: str | None = None


@dataclass(slots=True)
class Following:
    """A Change that is followed to the end of this command."""

    cli: Cli
    session: Session
    watch: Watch
    change: str
    as_json: bool
    repository: Path | None = None
    after: int = 0
    seed: Progress | None = None

    def finish(self, decided: str | None = None) -> Exit:
        """Follow until nothing more happens without a person, then say how it is.

        decided: what a person did that needs no promotion to have succeeded (`cancelled`, `rejected`).

        Raises:
            Interrupted: Ctrl-C; with `--json` the document has been printed as it was then.
        """
        try:
            self.watch.follow(self.session, self.change, self.after, self.seed)
        except KeyboardInterrupt:
            self._print_what_is_known()
            raise Interrupted(self.change) from None
        except Exception:
            self._print_what_is_known()
            raise
        self.session.catch_up()
        report = self._report()
        if self.as_json:
            self._print_document(report)
        if decided is not None:
            self.cli.terminal.note(f"{report.id} was {decided}; it is {report.status.replace('_', ' ')} now")
            return Exit.DONE
        self._say(report)
        return report.exit

    def _report(self) -> ChangeReport:
        row = self.session.queries.change(self.change)
        if row is None:
            raise RuntimeError(f"the read models don't know {self.change}")
        return change_report(self.session.queries, self.session.ctx.objects, row)

    def _print_document(self, report: ChangeReport) -> None:
        self.cli.terminal.document(document(report))

    def _print_what_is_known(self) -> None:
        """With `--json`: how the Change stands that is no longer followed, or its ID alone if nothing can be read."""
        if not self.as_json:
            return
        try:
            self.session.catch_up()
            known = document(self._report())
        except Exception as error:  # noqa: BLE001 - told, and the failure that led here is raised on by the caller
            self.cli.terminal.warn(f"where the Change stands can't be read: {error}")
            known = unknown_document(self.change)
        self.cli.terminal.document(known)

    def _say(self, report: ChangeReport) -> None:
        terminal = self.cli.terminal
        if report.export_refused is not None:
            terminal.warn(f"the promoted commit isn't in your repository: {report.export_refused}")
        match report.exit:
            case Exit.DONE if self.as_json:
                terminal.note(f"promoted  {report.commit}")
            case Exit.DONE:
                candidate = report.candidate
                base = candidate.base_commit if candidate else report.base_commit
                files = self.session.diff_stat(report.project, base, report.commit or base)
                terminal.result(promoted_lines(report, files, self._where()))
            case Exit.WAITS:
                terminal.notes(waits_lines(report))
            case _:
                terminal.notes(failed_lines(report, [(run, self._output(run)) for run in report.failing]))

    def _output(self, run: CheckRun) -> bytes:
        try:
            return self.session.ctx.objects.get(run.output)
        except ObjectMissing:
            return ERASED.encode()

    def _where(self) -> str | None:
        """The repository as a shell word; None when the person stands in it or it isn't known."""
        if self.repository is None or self.repository.resolve() == Path.cwd():
            return None
        return one_line(shlex.quote(str(self.repository)))


def run(cli: Cli, request: RunRequest, as_json: bool) -> Exit:
    """From a goal to a promoted commit, or why not."""
    goal = check_goal(_goal(request.goal))
    plan = None if request.plan is None else read_plan_file(request.plan, goal)
    checks = person_checks(request.checks)
    budget = cli.installation.default_budget() if request.budget is None else parse_usd(request.budget)
    agent = _agent(request)
    watch = Watch(cli.terminal)
    if request.unsafe_local:
        cli.terminal.warn("--unsafe-local: agents and checks run without any isolation, with all your rights")
    with cli.session(watch.on_output) as session:
        after = session.ctx.writer.events.last_position()
        submitted = session.submit(
            Submission(
                goal=goal,
                repository=request.repository,
                requester=session.actor,
                agent=agent,
                budget=budget,
                base=request.base,
                plan=plan,
                checks=checks,
                approve=request.approve,
                allow_red_base=request.allow_red_base,
                sandboxed=not request.unsafe_local,
                client_request_id=request.request_id,
            )
        )
        for warning in submitted.warnings:
            cli.terminal.warn(warning)
        for note in submitted.notes:
            cli.terminal.note(one_line(note))
        cli.terminal.note(submitted.change)
        return Following(cli, session, watch, submitted.change, as_json, request.repository, after).finish()


def show_plan(cli: Cli, request: RunRequest, as_json: bool) -> Exit:
    """What would be done, without doing or storing anything."""
    goal = check_goal(_goal(request.goal))
    plan = single_task_plan(goal) if request.plan is None else read_plan_file(request.plan, goal)
    if as_json:
        cli.terminal.document(plan.model_dump(mode="json"))
    else:
        cli.terminal.result(plan_lines(plan))
    return Exit.DONE


def approve(cli: Cli, named: str, as_json: bool) -> Exit:
    """Approve where that is required, then promote."""

    def decide(session: Session, row: dict[str, Any]) -> None:
        people.approve(session.ctx, row["id"], session.actor)

    return _decide(cli, named, as_json, decide)


def reject(cli: Cli, named: str, as_json: bool) -> Exit:
    """Reject the waiting candidate."""

    def decide(session: Session, row: dict[str, Any]) -> None:
        people.reject(session.ctx, row["id"], session.actor)

    return _decide(cli, named, as_json, decide, "rejected")


def cancel(cli: Cli, named: str, as_json: bool) -> Exit:
    """End the Change; its agents stop at once, whichever process they run in."""

    def decide(session: Session, row: dict[str, Any]) -> None:
        people.cancel(session.ctx, row["id"], session.actor)

    return _decide(cli, named, as_json, decide, "cancelled")


def resume(cli: Cli, named: str, budget: str | None, as_json: bool) -> Exit:
    """Work on, with a higher budget if one is named; dead-lettered tasks are tried again."""
    micros = None if budget is None else parse_usd(budget)

    def decide(session: Session, row: dict[str, Any]) -> None:
        if micros is not None:
            people.raise_budget(session.ctx, row["id"], session.actor, micros)
        if row["dead_letters"]:
            count = people.retry_dead_letters(session.ctx, row["id"], session.actor)
            cli.terminal.note(f"{count} dead-lettered task{'' if count == 1 else 's'} brought back")

    return _decide(cli, named, as_json, decide)


def parse_usd(text: str) -> int:
    """Micro-dollars.

    Raises:
        UsageFault: not an amount.
    """
    try:
        return micros_from_usd(text)
    except ValueError as error:
        raise UsageFault(f"--budget: {one_line(str(error))}") from None


def _decide(
    cli: Cli,
    named: str,
    as_json: bool,
    decide: Callable[[Session, dict[str, Any]], None],
    decided: str | None = None,
) -> Exit:
    """Carry out what a person decided, and follow the Change from there on."""
    watch = Watch(cli.terminal)
    with cli.session(watch.on_output) as session:
        session.catch_up()
        row = find_change(session.queries, named)
        after = session.ctx.writer.events.last_position()
        if decided is None:
            # Before anything is decided: an agent that finds nothing of what it needs would end the Change.
            session.require_agents(row["id"])
        decide(session, row)
        try:
            session.adopt(row["id"])
        except ChangeBusy as busy:
            # It goes on there; the log tells here what happens to it.
            cli.terminal.note(f"{busy}; following it from here")
        seed = _seed(session, row)
        return Following(cli, session, watch, row["id"], as_json, None, after, seed).finish(decided)


def _seed(session: Session, row: dict[str, Any]) -> Progress:
    tasks = {task["id"]: Item(task["status"], task["updated_at"]) for task in session.queries.tasks(row["id"])}
    return Progress(row["id"], row["status"], row["updated_at"], tasks)


def _goal(typed: str) -> str:
    """The goal as typed, or standard input for `-`, without the line break at its end."""
    if typed != "-":
        return typed
    # One character over the limit is enough to know that it is too long; bytes that aren't UTF-8 are refused later.
    content = sys.stdin.buffer.read((GOAL_LIMIT + 1) * 4)
    return content.decode("utf-8", "surrogateescape").removesuffix("\n").removesuffix("\r")


def _agent(request: RunRequest) -> AgentRequest:
    """Who works on it; the provider follows from `--agent-command` or `--script` where it isn't named.

    Raises:
        UsageFault: none was named.
    """
    provider = request.provider
    if provider is None:
        if request.command is None and request.script is None:
            raise UsageFault(
                "no agent was named: --provider command --agent-command CMD runs a command-line agent, "
                "--provider scripted --script FILE one that answers from a file"
            )
        provider = "command" if request.command is not None else "scripted"
    return AgentRequest(
        provider=provider,
        command=request.command,
        script=request.script,
        binds=request.binds,
        env=request.env,
        sandboxed=not request.unsafe_local,
    )

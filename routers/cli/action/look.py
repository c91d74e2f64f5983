"""Looking at what there is: nothing here changes anything."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from commands.ports.git import ChangedFile
from commands.ports.objects import ObjectMissing
from domain.change.status import CHANGE_TABLE
from domain.kernel.errors import InvalidInput, NotFound
from domain.kernel.event import BlobRef
from projections.run import log_of
from routers.cli.action.base import Cli, find_change
from routers.cli.exits import Exit, UsageFault
from routers.cli.report import ERASED, ChangeReport, CheckRun, change_report, check_runs, document, goal_text
from routers.cli.session import Session
from routers.cli.view.change import change_lines, diff_stat_lines, list_lines
from routers.cli.view.text import one_line


def list_changes(cli: Cli, limit: int, status: str | None, as_json: bool) -> Exit:
    """The Changes, newest first.

    Raises:
        UsageFault: no Change can have that status.
    """
    if status is not None and status not in CHANGE_TABLE.statuses:
        known = ", ".join(CHANGE_TABLE.statuses)
        raise UsageFault(f"--status: no Change is ever {one_line(status)!r}; there are {known}")
    with cli.reading() as session:
        rows = session.queries.changes(limit, status)
        if as_json:
            cli.terminal.document([document(_report(session, row)) for row in rows])
        else:
            cells = [(row, goal_text(session.ctx.objects, row), session.queries.cost(row["id"]).total) for row in rows]
            cli.terminal.result(list_lines(cells))
    return Exit.DONE


def show(cli: Cli, named: str, as_json: bool) -> Exit:
    """All about one Change."""
    with cli.reading() as session:
        report = _report(session, find_change(session.queries, named))
        if as_json:
            cli.terminal.document(document(report))
        else:
            cli.terminal.result(change_lines(report, _files(session, report)))
    return Exit.DONE


def diff(cli: Cli, named: str, stat: bool) -> Exit:
    """What the Change's promoted, or else its latest, candidate differs in from its base.

    Raises:
        NotFound: it has no composed candidate.
    """
    with cli.reading() as session:
        report = _report(session, find_change(session.queries, named))
        candidate = report.candidate
        if candidate is None or candidate.commit is None:
            raise NotFound("composed candidate of", f"{report.id} (it is {report.status}): no diff yet")
        if stat:
            files = session.diff_stat(report.project, candidate.base_commit, candidate.commit)
            cli.terminal.result(diff_stat_lines(files))
        else:
            cli.terminal.raw(session.diff(report.project, candidate.base_commit, candidate.commit))
    return Exit.DONE


@dataclass(frozen=True, slots=True)
class Log:
    """Something that was printed, and by what."""

    title: str
    content: BlobRef | None


def logs(cli: Cli, identifier: str) -> Exit:
    """What an agent (`run_…`), the checks of a candidate (`cand_…`), or all of a Change printed.

    Raises:
        NotFound: nothing has this ID.
        InvalidInput: the ID is of a kind that has no log.
    """
    with cli.reading() as session:
        found = list(_logs(session, identifier))
        for log in found:
            if len(found) > 1:
                cli.terminal.note(f"== {log.title}")
            cli.terminal.raw(_content(session, log))
        if not found:
            cli.terminal.note("nothing has run yet")
    return Exit.DONE


def _logs(session: Session, identifier: str) -> Iterator[Log]:
    queries = session.queries
    if identifier.startswith("run_"):
        yield _run_log(_known("run", identifier, queries.run(identifier)))
    elif identifier.startswith("cand_"):
        _known("candidate", identifier, queries.candidate(identifier))
        yield from _check_logs(identifier, check_runs(queries.evidence(identifier)))
    elif identifier.startswith(("tsk_", "prj_", "rel_", "agt_", "cs_")):
        raise InvalidInput(f"{identifier}: logs are of runs (run_…), candidates (cand_…) and Changes (chg_…)")
    else:
        change = find_change(queries, identifier)["id"]
        yield from _check_logs("base", check_runs(queries.base_evidence(change)))
        yield from map(_run_log, queries.runs(change))
        for candidate in queries.candidates(change):
            yield from _check_logs(candidate["id"], check_runs(queries.evidence(candidate["id"])))


def _run_log(row: dict[str, Any]) -> Log:
    return Log(f"{row['id']}: {row['status']}", log_of(row))


def _check_logs(on: str, runs: tuple[CheckRun, ...]) -> Iterator[Log]:
    for run in runs:
        judged = " (judged by the base's files)" if run.base_judged else ""
        yield Log(f"{on}: {run.name}{judged}, {'passed' if run.passed else 'failed'}", run.output)


def _content(session: Session, log: Log) -> bytes:
    if log.content is None:
        return b"(it hasn't ended yet, or left no log)\n"
    try:
        return session.ctx.objects.get(log.content)
    except ObjectMissing:
        return f"{ERASED}\n".encode()


def _known(kind: str, identifier: str, row: dict[str, Any] | None) -> dict[str, Any]:
    if row is None:
        raise NotFound(kind, identifier)
    return row


def _report(session: Session, row: dict[str, Any]) -> ChangeReport:
    return change_report(session.queries, session.ctx.objects, row)


def _files(session: Session, report: ChangeReport) -> tuple[ChangedFile, ...] | None:
    candidate = report.candidate
    if candidate is None or candidate.commit is None:
        return None
    return session.diff_stat(report.project, candidate.base_commit, candidate.commit)

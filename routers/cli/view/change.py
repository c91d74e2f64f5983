"""What is shown of a Change: in a list, in full, at its end, and when it waits or failed."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from commands.ports.git import ChangedFile
from domain.change.status import ChangeStatus
from domain.kernel.money import show_usd
from routers.cli.report import CandidateReport, ChangeReport, CheckRun, TaskReport
from routers.cli.view import time
from routers.cli.view.layout import (
    BAD,
    COMMAND,
    DIM,
    GOOD,
    Line,
    columns,
    heading,
    indented,
    join,
    plain,
    status,
    styled,
)
from routers.cli.view.progress import short_task
from routers.cli.view.text import last_lines, one_line, path

GOAL_IN_LIST: Final = 60
SHORT_COMMIT: Final = 10
SHOWN_FILES: Final = 30
SHOWN_OUTPUT_LINES: Final = 20
BAR: Final = 20

_CODE: Final = re.compile(r"[a-z0-9_]+")


def list_lines(rows: Sequence[tuple[dict[str, Any], str, int | None]]) -> list[Line]:
    """One line for each row of `changes` with its goal and cost, newest first as given."""
    if not rows:
        return [plain('there is no Change yet: rhumb run "GOAL" --repo PATH makes one')]
    cells: list[Sequence[str | Line]] = [[heading(h) for h in ("CHANGE", "STATUS", "COST", "SINCE", "GOAL")]]
    cells += [
        [
            row["id"],
            status(row["status"]),
            show_usd(cost),
            time.moment(row["created_at"]),
            one_line(goal, GOAL_IN_LIST),
        ]
        for row, goal, cost in rows
    ]
    return columns(cells)


def change_lines(report: ChangeReport, files: Sequence[ChangedFile] | None) -> list[Line]:
    """Everything that is known about one Change. files: the diff stat of its candidate, None without one."""
    lines = [join(heading(report.id), "  ", status(report.status))]
    lines += facts(report)
    if files is not None:
        lines += section("Changed", diff_stat_lines(files))
    lines += section("Tasks", task_lines(report.tasks))
    lines += section("Checks on the base", check_lines(report.base_checks))
    for candidate in report.candidates:
        lines += section(_candidate_title(candidate), check_lines(candidate.checks))
    lines += section("Timeline", timeline_lines(report))
    return lines


def facts(report: ChangeReport, with_commit: bool = True) -> list[Line]:
    """Names and values, without those that there are not."""
    pairs: list[tuple[str, str | Line | None]] = [
        ("goal", one_line(report.goal, 200)),
        ("reason", None if report.reason is None else words(report.reason)),
        ("risk tier", report.risk_tier),
        ("commit", report.commit if with_commit else None),
        ("branch", report.branch),
        ("not exported", None if report.export_refused is None else one_line(report.export_refused)),
        ("generation", None if report.generation is None else str(report.generation)),
        ("cost", cost_text(report)),
        ("sandbox", None if report.sandboxed else styled("none (--unsafe-local)", BAD)),
        ("files to look at", ", ".join(map(path, report.gate_files)) or None),
    ]
    return indented(columns([(styled(name, DIM), value) for name, value in pairs if value is not None]))


def cost_text(report: ChangeReport) -> str:
    """The cost of the budget; an unknown one is said to be so."""
    budget = show_usd(report.budget)
    if report.cost is not None:
        return f"{show_usd(report.cost)} of {budget}"
    known = f"; {show_usd(report.known_cost)} of it known" if report.known_cost else ""
    return f"unknown of {budget} (the agent doesn't say what it costs{known})"


def task_lines(tasks: Iterable[TaskReport]) -> list[Line]:
    return columns(
        [
            (
                short_task(task.id),
                task.kind,
                status(task.status),
                f"{task.attempts} attempt{'' if task.attempts == 1 else 's'}",
                words(task.detail or task.reason or ""),
            )
            for task in tasks
        ]
    )


def check_lines(checks: Iterable[CheckRun]) -> list[Line]:
    """The evidence: what was run, whether it passed, its exit code, how long it took."""
    return columns(
        [
            (
                styled("passed", GOOD) if run.passed else styled("failed", BAD),
                one_line(run.name),
                f"ended by the sandbox: {run.killed}" if run.killed else f"exit code {run.exit_code}",
                time.duration(run.duration_ms),
                _remarks(run),
            )
            for run in sorted(checks, key=lambda run: (run.name, run.variant))
        ]
    )


def diff_stat_lines(files: Sequence[ChangedFile]) -> list[Line]:
    """As `git diff --stat`: a line for each file and a sum."""
    if not files:
        return [plain("no file differs")]
    largest = max(((f.added or 0) + (f.removed or 0) for f in files), default=0)
    rows = [(path(f.path), _kind(f.kind), _count(f), _bar(f, largest)) for f in files[:SHOWN_FILES]]
    lines = columns(rows)
    if len(files) > SHOWN_FILES:
        lines.append(styled(f"… and {len(files) - SHOWN_FILES} more", DIM))
    added, removed = sum(f.added or 0 for f in files), sum(f.removed or 0 for f in files)
    noun = "file" if len(files) == 1 else "files"
    unit = "line" if added == 1 else "lines"
    return [
        *lines,
        plain(f"{len(files)} {noun} changed, {added} {unit} added, {removed} removed"),
    ]


def timeline_lines(report: ChangeReport) -> list[Line]:
    """When what happened, from the request on."""
    return columns(
        [
            (
                styled(time.clock(row["at"]), DIM),
                styled(time.since(report.created_at, row["at"]), DIM),
                one_line(row["sentence"]),
            )
            for row in report.timeline
        ]
    )


def section(title: str, content: list[Line]) -> list[Line]:
    """A headed, indented block after a blank line; nothing without content."""
    return [plain(""), heading(title), *indented(content)] if content else []


def promoted_lines(report: ChangeReport, files: Sequence[ChangedFile], repository: str | None) -> list[Line]:
    """The end of a promoted Change."""
    lines = [
        join(styled("promoted", GOOD), f"  {report.commit}"),
        *facts(report, with_commit=False),
        *section("Changed", diff_stat_lines(files)),
        *section("Evidence", check_lines(report.candidate.checks if report.candidate else ())),
        *section("Timeline", timeline_lines(report)),
    ]
    return [*lines, *section("Next", next_lines(report, repository))]


def next_lines(report: ChangeReport, repository: str | None) -> list[Line]:
    """The commands that a person would go on with."""
    where = f"git -C {repository} " if repository else "git "
    commands = [f"rhumb diff {report.id}"]
    if report.branch is not None:
        commands.insert(0, f"{where}merge {report.branch}")
    return [styled(command, COMMAND) for command in commands]


def failed_lines(report: ChangeReport, outputs: Sequence[tuple[CheckRun, bytes]]) -> list[Line]:
    """Why it wasn't promoted: the reason, the end of what the failing checks printed, and where the rest is."""
    lines = [join(f"{report.id} wasn't promoted: ", _why(report))]
    if report.promoted:
        lines = [join(f"{report.id} was promoted as {report.commit}, but its release failed: ", _why(report))]
    for task in report.tasks:
        if task.status == "failed":
            lines.append(plain(f"  {short_task(task.id)} failed: {words(task.detail or task.reason or '')}"))
    candidate = report.candidate
    if candidate is not None and candidate.status == "rejected" and (why := candidate.detail or candidate.reason):
        lines.append(plain(f"  {candidate.id} was rejected: {words(why)}"))
    for run, output in outputs:
        lines += output_block(run, output)
    return [*lines, *_where_the_rest_is(report)]


def output_block(run: CheckRun, output: bytes) -> list[Line]:
    """The end of what a check printed."""
    shown = last_lines(output, SHOWN_OUTPUT_LINES)
    how = f"ended by the sandbox ({run.killed})" if run.killed else f"exit code {run.exit_code}"
    title = styled(f"  {one_line(run.name)}: {how}{', no output' if not shown else ''}", BAD)
    return [title, *[styled(f"    {line}", DIM) for line in shown]]


def waits_lines(report: ChangeReport) -> list[Line]:
    """What a waiting Change waits for, and the command that goes on."""
    lines = [join(f"{report.id} waits for a person: ", _why(report))]
    if report.gate_files:
        lines.append(plain(f"  files to look at: {', '.join(map(path, report.gate_files))}"))
    return [*lines, *[join("  ", styled(command, COMMAND), f"  {what}") for command, what in ways_on(report)]]


def ways_on(report: ChangeReport) -> list[tuple[str, str]]:
    """Commands and what they do, the likely one first."""
    change = report.id
    if report.status == ChangeStatus.AWAITING_APPROVAL:
        ways = [
            (f"rhumb diff {change}", "shows it"),
            (f"rhumb approve {change}", "promotes it"),
            (f"rhumb reject {change}", "rejects it"),
        ]
    elif report.status == ChangeStatus.BUDGET_BLOCKED:
        ways = [
            (f"rhumb resume {change} --budget USD", f"raises its budget (now {show_usd(report.budget)}) and goes on")
        ]
    elif report.status == ChangeStatus.BLOCKED:
        ways = [(f"rhumb resume {change} --budget USD", "raises its budget, which composes it again")]
    elif report.dead_letters:
        ways = [(f"rhumb resume {change}", "tries its dead-lettered tasks again")]
    else:
        ways = [(f"rhumb resume {change}", "goes on with it")]
    return [*ways, (f"rhumb why {change}", "says what led here")]


def words(reason: str) -> str:
    """A code of ours (`base_red`) as words; a sentence stays as it is, since it may name files."""
    return reason.replace("_", " ") if _CODE.fullmatch(reason) else one_line(reason)


def _where_the_rest_is(report: ChangeReport) -> list[Line]:
    commands = [(f"rhumb why {report.id}", "says what led here")]
    candidate = report.candidate
    if candidate is not None and candidate.checks:
        commands.append((f"rhumb logs {candidate.id}", "shows all that its checks printed"))
    elif report.base_checks:
        commands.append((f"rhumb logs {report.id}", "shows all that the checks and agents printed"))
    commands += [
        (f"rhumb logs {task.last_run}", "shows what the agent printed")
        for task in report.tasks
        if task.last_run is not None and task.status == "failed"
    ]
    return [join("  ", styled(command, COMMAND), f"  {what}") for command, what in commands]


def _why(report: ChangeReport) -> Line:
    return styled(words(report.reason or report.status), "bold")


def _candidate_title(candidate: CandidateReport) -> str:
    commit = f", commit {candidate.commit[:SHORT_COMMIT]}" if candidate.commit else ""
    why = candidate.detail or candidate.reason
    return f"{candidate.id}: {candidate.status}{commit}{f' ({words(why)})' if why else ''}"


def _remarks(run: CheckRun) -> str:
    remarks = ["judged by the base's files"] if run.base_judged else []
    return ", ".join([*remarks, *([] if run.sandboxed else ["without a sandbox"])])


def _kind(kind: str) -> str:
    return {"A": "new", "D": "deleted", "T": "type"}.get(kind, "")


def _count(file: ChangedFile) -> str:
    return "binary" if file.added is None or file.removed is None else f"+{file.added} -{file.removed}"


def _bar(file: ChangedFile, largest: int) -> Line:
    added, removed = file.added or 0, file.removed or 0
    scale = min(1.0, BAR / largest) if largest else 0.0
    plus, minus = _scaled(added, scale), _scaled(removed, scale)
    return join(styled("+" * plus, GOOD), styled("-" * minus, BAD))


def _scaled(count: int, scale: float) -> int:
    return max(1, int(count * scale)) if count else 0

"""After a promotion: canonical's ref follows the log, and the person gets the branch."""

from pathlib import Path
from typing import Any

from commands.perform.performance import Performance
from commands.ports.git import RepositoryError
from commands.unit import Unit
from domain.change.command import RecordExport
from domain.kernel.value import decode_path
from domain.project.command import RecordRefMove
from domain.project.state import ProjectState


def branch_of(change: str) -> str:
    """The branch on which a promoted commit arrives in the person's repository."""
    return f"rhumbline/{change}"


def perform_ref(performance: Performance) -> None:
    """Set canonical's main to what the log says now, in either direction, keeping what was there under refs/lost."""
    ctx, effect = performance.ctx, performance.effect
    lease = ctx.leases.acquire(f"project:{effect.project}")
    if lease is None:
        raise RuntimeError("another process moves this project's ref")
    try:
        canonical = ctx.canonicals.open(effect.project)
        project: ProjectState = ctx.writer.state(effect.project)
        was = canonical.head()
        lost = None
        if was is not None and was != project.commit and project.generation_of(was) is None:
            # Somebody moved main by hand: what was there is kept.
            lost = f"refs/lost/{was}"
            canonical.pin(lost, was)
        if was != project.commit and not canonical.set_head(was, project.commit):
            raise RuntimeError("main moved meanwhile")

        def work(unit: Unit, bookkeeping: dict[str, Any]) -> None:
            generation = int(effect.payload["generation"])
            command = RecordRefMove(
                **bookkeeping, generation=generation, commit=project.history[generation].commit, was=was, lost=lost
            )
            unit.decide(effect.project, command)

        performance.record(work)
    finally:
        ctx.leases.release(lease)


def perform_export(performance: Performance) -> None:
    """Bring the promoted commit to the person's repository as a branch of its own.

    A repository that can't take it (gone, read-only, another branch of that name) is recorded with the reason: the
    promotion stands, and the commit stays in canonical.
    """
    ctx, effect = performance.ctx, performance.effect
    assert effect.change is not None
    change, commit = effect.change, str(effect.payload["commit"])
    project = ctx.writer.state(effect.project)
    repository = Path(str(decode_path(project.repository), "utf-8", "surrogateescape"))
    refused = None
    try:
        ctx.people.export_branch(repository, ctx.canonicals.open(effect.project).path, branch_of(change), commit)
    except RepositoryError as error:
        refused = str(error)

    def work(unit: Unit, bookkeeping: dict[str, Any]) -> None:
        command = RecordExport(
            **bookkeeping,
            candidate=str(effect.payload["candidate"]),
            branch=branch_of(change),
            commit=commit,
            refused=refused,
        )
        unit.decide(change, command)

    performance.record(work)

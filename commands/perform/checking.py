"""Running checks: only these runs are evidence, whatever an agent says."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from commands.context import Context, Deferred
from commands.perform.performance import Performance
from commands.perform.room import require_room
from commands.ports.git import Canonical
from commands.ports.sandbox import Bind, Execution, Sandbox
from commands.unit import Unit
from domain.change.command import RecordEvidence
from domain.check import Check, Evidence, Variant


@dataclass(frozen=True, slots=True)
class Judged:
    """What a check runs on: a commit, with the versions of `overlay` in `base` laid over."""

    commit: str
    variant: Variant = Variant.AS_IS
    base: str | None = None
    overlay: tuple[str, ...] = ()


def perform_check(performance: Performance) -> None:
    """Judge the candidate by one line of its Verification Plan and record the Evidence."""
    ctx, effect = performance.ctx, performance.effect
    assert effect.change is not None
    state = ctx.writer.state(effect.change)
    candidate = state.candidates[effect.payload["candidate"]]
    line = next(
        (p for p in candidate.plan if (p.check, p.variant) == (effect.payload["check"], effect.payload["variant"])),
        None,
    )
    if line is None or not candidate.is_live:
        return
    check = next(c for c in state.checks if c.name == line.check)
    canonical = ctx.canonicals.open(effect.project)
    sandbox = ctx.sandbox(state.sandboxed)
    binds = performance.setup_binds(state.setup, canonical, state.base_commit, sandbox)
    tree = Judged(candidate.commit, line.variant, candidate.base_commit, line.overlay)
    evidence = run_check(performance, canonical, sandbox, check, tree, binds, state.sandboxed)
    if performance.cancel.is_set():
        raise Deferred("the process is stopping", 0)

    def outcome(unit: Unit, bookkeeping: dict[str, Any]) -> None:
        policy = unit.state(effect.project).policy
        command = RecordEvidence(**bookkeeping, candidate=candidate.id, evidence=evidence, policy=policy)
        unit.decide(state.id, command)

    performance.record(outcome)


def run_check(
    performance: Performance,
    canonical: Canonical,
    sandbox: Sandbox,
    check: Check,
    tree: Judged,
    binds: Sequence[Bind],
    sandboxed: bool,
) -> Evidence:
    """One run of one check on a fresh checkout."""
    ctx = performance.ctx
    with checkout(ctx, canonical, sandbox, tree) as folder:
        outcome = sandbox.run(
            Execution(
                argv=("/bin/sh", "-c", check.command),
                workspace=folder,
                binds=tuple(binds),
                env={"CI": "true"},
                limits=replace(ctx.bounds.check, seconds=float(check.seconds)),
                on_output=lambda chunk: performance.lines(check.name, chunk),
            ),
            performance.cancel,
        )
        if not outcome.ok:
            require_room(folder)
    return Evidence(
        check=check.name,
        variant=tree.variant,
        exit_code=outcome.exit_code,
        killed=None if outcome.killed is None else outcome.killed.value,
        duration_ms=int(outcome.duration * 1000),
        output=ctx.objects.put(outcome.output),
        sandboxed=sandboxed,
    )


@contextmanager
def checkout(
    ctx: Context,
    canonical: Canonical,
    sandbox: Sandbox,
    tree: Judged,
) -> Iterator[Path]:
    """A folder with the files of `tree`, owned by the sandbox's user, removed afterwards."""
    ctx.scratch.mkdir(parents=True, exist_ok=True, mode=0o700)
    holder = Path(tempfile.mkdtemp(prefix="check-", dir=ctx.scratch))
    folder = holder / "tree"
    folder.mkdir()
    try:
        canonical.checkout(tree.commit, folder, tree.base if tree.overlay else None, tree.overlay)
        sandbox.own(folder)
        yield folder
    finally:
        sandbox.remove(folder)
        holder.rmdir()

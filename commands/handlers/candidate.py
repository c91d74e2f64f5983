"""Candidates: composing the completed work anew whenever there is something to verify."""

from commands.context import Context, handled_message, handling_of, message_meta
from commands.ports.store import Handling, Message
from commands.unit import Unit
from domain.change.command import CreateCandidate, MarkStale
from domain.change.status import CandidateStatus, ChangeStatus


def create(ctx: Context, message: Message) -> Handling:
    """A candidate of all completed work on canonical as it stands now."""
    assert message.change is not None
    change = message.change

    def work(unit: Unit) -> Handling:
        now = ctx.clock()
        canonical = unit.state(unit.state(change).project)
        events = unit.decide(
            change,
            CreateCandidate(
                **message_meta(message, now), base_generation=canonical.generation, base_commit=canonical.commit
            ),
        )
        handling = handling_of(events)
        unit.commit(handled=(handled_message(message, now, handling),))
        return handling

    return ctx.writer.transact(work)


def recompose(ctx: Context, message: Message) -> Handling:
    """Canonical moved: what stands on an earlier base is stale, and a new candidate takes its place."""
    assert message.change is not None
    change = message.change

    def work(unit: Unit) -> Handling:
        now = ctx.clock()
        canonical = unit.state(unit.state(change).project)
        events = list(unit.decide(change, MarkStale(**message_meta(message, now), generation=canonical.generation)))
        state = unit.state(change)
        stale = [c for c in state.candidates.values() if c.status == CandidateStatus.STALE]
        live = [c for c in state.candidates.values() if c.is_live]
        if state.status == ChangeStatus.VERIFYING and stale and not live:
            events += unit.decide(
                change,
                CreateCandidate(
                    **message_meta(message, now),
                    base_generation=canonical.generation,
                    base_commit=canonical.commit,
                    recomposes=stale[-1].id,
                ),
            )
        handling = handling_of(events)
        unit.commit(handled=(handled_message(message, now, handling),))
        return handling

    return ctx.writer.transact(work)

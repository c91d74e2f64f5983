"""Promotion: requested on the Change, then the compare-and-swap on Project and Change in one transaction."""

from typing import Literal

from commands.context import Context, handled_message, handling_of, message_meta
from commands.ports.store import Handling, Message
from commands.unit import Unit
from domain.change.command import ApproveCandidate, RecordPromotion, RefusePromotion, RequestPromotion
from domain.change.status import ChangeStatus
from domain.kernel.errors import DomainError
from domain.policy import Policy
from domain.project.command import AdvanceCanonical
from domain.project.error import NotAllowed, PolicyForbids, StaleBase
from domain.project.role import Role


def approve_in_advance(ctx: Context, message: Message) -> Handling:
    """Carry out the approval that the requester gave with the request; the role is the one held now."""
    assert message.change is not None
    change, candidate = message.change, str(message.payload["candidate"])

    def work(unit: Unit) -> Handling:
        now = ctx.clock()
        role = role_of(unit, change, message.actor)
        events = unit.decide(
            change,
            ApproveCandidate(**message_meta(message, now), candidate=candidate, role=role, in_advance=True),
        )
        handling = handling_of(events)
        unit.commit(handled=(handled_message(message, now, handling),))
        return handling

    return ctx.writer.transact(work)


def request(ctx: Context, message: Message) -> Handling:
    assert message.change is not None
    change = message.change
    trigger: Literal["auto", "person"] = "person" if message.payload["trigger"] == "person" else "auto"

    def work(unit: Unit) -> Handling:
        now = ctx.clock()
        events = unit.decide(
            change,
            RequestPromotion(
                **message_meta(message, now),
                candidate=str(message.payload["candidate"]),
                trigger=trigger,
                role=role_of(unit, change, message.actor),
                policy=policy_of(unit, change),
            ),
        )
        handling = handling_of(events)
        unit.commit(handled=(handled_message(message, now, handling),))
        return handling

    return ctx.writer.transact(work)


def advance(ctx: Context, message: Message) -> Handling:
    """The compare-and-swap. Policy and the approver's role are checked at the Project version it appends to.

    A refusal returns the Change to its status before.
    """
    assert message.change is not None
    change, candidate = message.change, str(message.payload["candidate"])

    def work(unit: Unit) -> Handling:
        now = ctx.clock()
        bookkeeping = message_meta(message, now)
        if unit.state(change).status != ChangeStatus.PROMOTING:
            unit.commit(handled=(handled_message(message, now, Handling.ALREADY),))
            return Handling.ALREADY
        approver = message.actor if message.payload["trigger"] == "person" else None
        refusal = _swap(unit, change, candidate, approver, bookkeeping)
        if refusal is not None:
            canonical = unit.state(unit.state(change).project)
            stale = isinstance(refusal, StaleBase)
            unit.decide(
                change,
                RefusePromotion(
                    **bookkeeping,
                    candidate=candidate,
                    reason=str(refusal),
                    generation=canonical.generation if stale else None,
                ),
            )
        unit.commit(handled=(handled_message(message, now, Handling.DONE),))
        return Handling.DONE

    return ctx.writer.transact(work)


def _swap(
    unit: Unit, change: str, candidate: str, approver: str | None, bookkeeping: dict[str, object]
) -> DomainError | None:
    """Advance canonical and record the promotion; the refusal if the base is stale or the right to it is gone."""
    state = unit.state(change)
    chosen = state.candidates[candidate]
    head = unit.head(change)
    try:
        unit.decide(
            state.project,
            AdvanceCanonical(
                **bookkeeping,
                candidate=candidate,
                change=change,
                base_generation=chosen.base_generation,
                base_commit=chosen.base_commit,
                commit=chosen.commit,
                change_head=head,
                approver=approver,
                tier=state.gate_tier,
            ),
        )
    except (StaleBase, NotAllowed, PolicyForbids) as refusal:
        return refusal
    unit.decide(
        change,
        RecordPromotion(
            **bookkeeping,
            candidate=candidate,
            generation=unit.state(state.project).generation,
            commit=chosen.commit,
            change_head=head,
        ),
    )
    return None


def role_of(unit: Unit, change: str, actor: str) -> Role | None:
    """The actor's role in the Change's project; None for the system and for who isn't a member."""
    project = unit.state(unit.state(change).project)
    role: Role | None = project.members.get(actor)
    return role


def policy_of(unit: Unit, change: str) -> Policy:
    """The policy in force in the Change's project."""
    policy: Policy = unit.state(unit.state(change).project).policy
    return policy

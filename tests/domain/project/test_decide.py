"""Who belongs to a Project, and what becomes canonical."""

import pytest

from domain.kernel.errors import ImpossibleHistory, InvalidInput, NotFound, UnknownEvent
from domain.kernel.event import Command, Event, Head
from domain.plan import RiskTier
from domain.policy import DEFAULT_POLICY, Policy
from domain.project.command import (
    AddMember,
    AdvanceCanonical,
    CreateProject,
    ImportCommit,
    RecordRefMove,
    RemoveMember,
    SetPolicy,
)
from domain.project.decide import PROJECT
from domain.project.error import LastOwner, NotAllowed, PolicyForbids, StaleBase
from domain.project.event import (
    CanonicalAdvanced,
    CanonicalImported,
    CanonicalRefMoved,
    ImportRelation,
    MemberAdded,
    MemberRemoved,
    PolicySet,
    ProjectCreated,
)
from domain.project.role import Role
from domain.run.event import TurnRecorded
from tests.domain.bookkeeping import COMMIT, OTHER_COMMIT, OWNER, by
from tests.support.decider import scenarios

given = scenarios(PROJECT)

ID = "prj_00000000-0000-5000-8000-000000000001"
HEAD = Head(version=7, hash="d" * 64)
STRICT = Policy(name="strict", auto_promote_risk_tiers=(), human_gate_risk_tiers=tuple(RiskTier))

CREATED = ProjectCreated(project=ID, repository="/r", branch="main", commit=COMMIT, owner=OWNER, policy=DEFAULT_POLICY)


def create(**changed: object) -> CreateProject:
    fields = {"project": ID, "repository": "/r", "branch": "main", "commit": COMMIT, "owner": OWNER}
    return CreateProject.model_validate(by() | fields | changed)


def advance(generation: int = 0, base: str = COMMIT, **changed: object) -> AdvanceCanonical:
    fields = {
        "candidate": "cand_1",
        "change": "chg_1",
        "base_generation": generation,
        "base_commit": base,
        "commit": OTHER_COMMIT,
        "change_head": HEAD,
        "approver": None,
    }
    return AdvanceCanonical.model_validate(by("system:promotion") | fields | changed)


def advanced(generation: int = 1, commit: str = OTHER_COMMIT, n: int = 1) -> CanonicalAdvanced:
    return CanonicalAdvanced(
        generation=generation,
        commit=commit,
        candidate=f"cand_{n}",
        change=f"chg_{n}",
        change_head=HEAD,
        approver=None,
    )


class TestCreating:
    def test_it_begins_at_generation_0(self) -> None:
        state = given().when(create()).then(CREATED)
        assert (state.id, state.generation, state.commit, state.members) == (ID, 0, COMMIT, {OWNER: Role.OWNER})

    def test_the_same_repository_and_branch_are_the_same_project(self) -> None:
        given(CREATED).when(create(commit=OTHER_COMMIT, owner="usr_other")).then_nothing()

    @pytest.mark.parametrize("changed", [{"repository": "/s"}, {"branch": "dev"}])
    def test_another_repository_under_the_same_id_is_refused(self, changed: dict[str, str]) -> None:
        given(CREATED).when(create(**changed)).then_raises(InvalidInput, "another repository or branch")

    @pytest.mark.parametrize(
        "command",
        [
            AddMember(**by(), user="usr_a", role=Role.MEMBER),
            RemoveMember(**by(), user="usr_a"),
            SetPolicy(**by(), policy=STRICT),
            ImportCommit(**by(), expected_generation=0, commit=COMMIT, relation=ImportRelation.AHEAD),
            advance(),
            RecordRefMove(**by(), generation=0, commit=COMMIT, was=None, lost=None),
        ],
        ids=lambda command: type(command).__name__,
    )
    def test_nothing_happens_in_a_project_that_is_not_there(self, command: Command) -> None:
        given().when(command).then_raises(NotFound)


class TestMembers:
    def test_an_owner_adds_a_member_and_changes_its_role(self) -> None:
        added = MemberAdded(user="usr_a", role=Role.MEMBER)
        given(CREATED).when(AddMember(**by(), user="usr_a", role=Role.MEMBER)).then(added)
        given(CREATED, added).when(AddMember(**by(), user="usr_a", role=Role.ADMIN)).then(
            MemberAdded(user="usr_a", role=Role.ADMIN)
        )

    @pytest.mark.parametrize("actor", ["usr_member", "usr_stranger"])
    def test_only_owners_and_admins_change_members(self, actor: str) -> None:
        member = MemberAdded(user="usr_member", role=Role.MEMBER)
        given(CREATED, member).when(AddMember(**by(actor), user="usr_b", role=Role.MEMBER)).then_raises(NotAllowed)
        given(CREATED, member).when(RemoveMember(**by(actor), user=OWNER)).then_raises(NotAllowed)
        given(CREATED, member).when(RemoveMember(**by(actor), user="usr_nobody")).then_raises(NotAllowed)

    def test_an_admin_neither_makes_nor_changes_nor_removes_an_owner(self) -> None:
        before = (CREATED, MemberAdded(user="usr_admin", role=Role.ADMIN), MemberAdded(user="usr_b", role=Role.OWNER))
        given(*before).when(AddMember(**by("usr_admin"), user="usr_c", role=Role.OWNER)).then_raises(NotAllowed)
        given(*before).when(AddMember(**by("usr_admin"), user="usr_b", role=Role.MEMBER)).then_raises(NotAllowed)
        given(*before).when(RemoveMember(**by("usr_admin"), user="usr_b")).then_raises(NotAllowed)
        given(*before).when(AddMember(**by("usr_admin"), user="usr_c", role=Role.ADMIN)).then(
            MemberAdded(user="usr_c", role=Role.ADMIN)
        )

    def test_the_last_owner_stays(self) -> None:
        admin = MemberAdded(user="usr_admin", role=Role.ADMIN)
        given(CREATED, admin).when(RemoveMember(**by(), user=OWNER)).then_raises(LastOwner)
        given(CREATED, admin).when(AddMember(**by(), user=OWNER, role=Role.MEMBER)).then_raises(LastOwner)

    def test_one_of_two_owners_goes(self) -> None:
        second = MemberAdded(user="usr_b", role=Role.OWNER)
        given(CREATED, second).when(RemoveMember(**by("usr_b"), user=OWNER)).then(MemberRemoved(user=OWNER))

    def test_a_member_leaves_by_itself(self) -> None:
        member = MemberAdded(user="usr_member", role=Role.MEMBER)
        given(CREATED, member).when(RemoveMember(**by("usr_member"), user="usr_member")).then(
            MemberRemoved(user="usr_member")
        )

    def test_what_is_so_already_is_no_event(self) -> None:
        given(CREATED).when(AddMember(**by(), user=OWNER, role=Role.OWNER)).then_nothing()
        given(CREATED).when(RemoveMember(**by(), user="usr_a")).then_nothing()


class TestPolicy:
    def test_it_is_set_as_a_whole(self) -> None:
        state = given(CREATED).when(SetPolicy(**by(), policy=STRICT)).then(PolicySet(policy=STRICT))
        assert state.policy == STRICT

    def test_a_member_may_not(self) -> None:
        member = MemberAdded(user="usr_member", role=Role.MEMBER)
        given(CREATED, member).when(SetPolicy(**by("usr_member"), policy=STRICT)).then_raises(NotAllowed)


class TestCompareAndSwap:
    def test_a_candidate_on_canonical_becomes_canonical(self) -> None:
        state = given(CREATED).when(advance()).then(advanced())
        assert (state.generation, state.commit, state.promoted_changes()) == (1, OTHER_COMMIT, ("chg_1",))

    @pytest.mark.parametrize(("generation", "base"), [(1, COMMIT), (0, OTHER_COMMIT), (0, "")])
    def test_a_base_that_is_not_canonical_is_stale(self, generation: int, base: str) -> None:
        given(CREATED).when(advance(generation, base)).then_raises(StaleBase)

    def test_a_base_that_was_canonical_is_stale(self) -> None:
        given(CREATED, advanced()).when(advance(candidate="cand_2", change="chg_2")).then_raises(
            StaleBase, "verified on generation 0, canonical is at generation 1 now"
        )

    def test_the_same_commit_on_an_earlier_generation_is_stale(self) -> None:
        """Generation and commit must both be canonical's: a revert leads back to a commit, never to a generation."""
        back = advanced(2, COMMIT, 2)
        given(CREATED, advanced(), back).when(advance(0, COMMIT, candidate="cand_3")).then_raises(StaleBase)

    def test_the_same_candidate_again_is_no_event_also_much_later(self) -> None:
        later = advanced(2, "e" * 40, 2)
        given(CREATED, advanced(), later).when(advance()).then_nothing()

    def test_the_same_candidate_as_another_commit_is_refused(self) -> None:
        given(CREATED, advanced()).when(advance(commit="f" * 40)).then_raises(InvalidInput)
        given(CREATED, advanced()).when(advance(change="chg_9")).then_raises(InvalidInput)

    @pytest.mark.parametrize("role", [Role.OWNER, Role.ADMIN])
    def test_an_approver_that_manages_the_project(self, role: Role) -> None:
        member = MemberAdded(user="usr_a", role=role)
        expected = advanced().model_copy(update={"approver": "usr_a"})
        given(CREATED, member).when(advance(approver="usr_a")).then(expected)

    @pytest.mark.parametrize(
        "event", [MemberAdded(user="usr_a", role=Role.MEMBER), MemberRemoved(user="usr_a")], ids=["member", "removed"]
    )
    def test_the_approver_s_role_counts_as_it_is_now(self, event: Event) -> None:
        admin = MemberAdded(user="usr_a", role=Role.ADMIN)
        given(CREATED, admin, event).when(advance(approver="usr_a")).then_raises(NotAllowed, "usr_a")

    def test_the_policy_counts_as_it_is_now(self) -> None:
        given(CREATED).when(advance(tier=RiskTier.LOW)).then(advanced())
        strict = PolicySet(policy=STRICT)
        given(CREATED, strict).when(advance(tier=RiskTier.LOW)).then_raises(PolicyForbids, "strict")
        given(CREATED, strict).when(advance(tier=RiskTier.LOW, approver=OWNER)).then(
            advanced().model_copy(update={"approver": OWNER})
        )


class TestImports:
    def import_(self, generation: int = 0, **changed: object) -> ImportCommit:
        fields = {"expected_generation": generation, "commit": "e" * 40, "relation": "ahead"}
        return ImportCommit.model_validate(by() | fields | changed)

    def test_a_commit_ahead_is_the_next_generation(self) -> None:
        given(CREATED).when(self.import_()).then(
            CanonicalImported(generation=1, commit="e" * 40, relation=ImportRelation.AHEAD)
        )

    def test_a_diverged_commit_names_what_it_lacks(self) -> None:
        state = (
            given(CREATED, advanced())
            .when(self.import_(1, relation="diverged", lacks=("chg_1",)))
            .then(CanonicalImported(generation=2, commit="e" * 40, relation=ImportRelation.DIVERGED, lacks=("chg_1",)))
        )
        assert state.promoted_changes() == ()
        assert state.promoted_changes(1) == ("chg_1",)

    def test_canonical_itself_is_no_import(self) -> None:
        given(CREATED, advanced()).when(self.import_(0, commit=OTHER_COMMIT)).then_nothing()

    def test_a_comparison_with_an_earlier_generation_is_stale(self) -> None:
        given(CREATED, advanced()).when(self.import_(0)).then_raises(StaleBase)

    def test_what_it_lacks_must_be_there(self) -> None:
        given(CREATED).when(self.import_(relation="diverged", lacks=("chg_9",))).then_raises(InvalidInput, "chg_9")
        given(CREATED, advanced()).when(self.import_(1, lacks=("chg_1",))).then_raises(InvalidInput, "every promoted")

    def test_a_stranger_imports_nothing(self) -> None:
        given(CREATED).when(self.import_(actor="usr_stranger")).then_raises(NotAllowed)
        given(CREATED).when(self.import_(actor="system:intake")).then(
            CanonicalImported(generation=1, commit="e" * 40, relation=ImportRelation.AHEAD)
        )


class TestRefMoves:
    def test_a_move_is_recorded_once(self) -> None:
        command = RecordRefMove(**by(), generation=1, commit=OTHER_COMMIT, was="e" * 40, lost="refs/lost/e")
        moved = CanonicalRefMoved(generation=1, commit=OTHER_COMMIT, was="e" * 40, lost="refs/lost/e")
        given(CREATED, advanced()).when(command).then(moved)
        given(CREATED, advanced(), moved).when(command).then_nothing()

    @pytest.mark.parametrize(("generation", "commit"), [(1, COMMIT), (2, OTHER_COMMIT)])
    def test_main_only_goes_where_the_log_says(self, generation: int, commit: str) -> None:
        command = RecordRefMove(**by(), generation=generation, commit=commit, was=None, lost=None)
        given(CREATED, advanced()).when(command).then_raises(InvalidInput)


class TestEvolve:
    def test_the_newest_generation_of_a_commit(self) -> None:
        state = PROJECT.fold((CREATED, advanced(), advanced(2, COMMIT, 2)))
        assert state is not None
        assert (state.generation_of(COMMIT), state.generation_of(OTHER_COMMIT), state.generation_of("9")) == (
            2,
            1,
            None,
        )

    @pytest.mark.parametrize(
        "events",
        [(advanced(),), (CREATED, CREATED), (CREATED, advanced(2)), (CREATED, advanced(), advanced())],
        ids=["no beginning", "two beginnings", "gap", "repetition"],
    )
    def test_an_impossible_history_is_never_guessed_over(self, events: tuple[Event, ...]) -> None:
        with pytest.raises(ImpossibleHistory):
            PROJECT.fold(events)

    def test_an_unknown_event_is_never_skipped(self) -> None:
        with pytest.raises(UnknownEvent):
            PROJECT.fold((CREATED, TurnRecorded(turn=1, tree=None, cost=None)))

"""Real repositories, the real sandbox."""

import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commands.ports.git import Signature
from commands.ports.sandbox import Execution, Outcome, Sandbox
from infra.git.canonical import GitCanonical
from infra.git.workspace import GitWorkspace
from infra.sandbox.bubblewrap import BubblewrapSandbox
from infra.sandbox.probe import probe
from infra.sandbox.settings import SandboxSettings
from tests.infra.git.person_git import PersonGit

AGENT = Signature("An agent", "agent@example.org", 1_700_000_000)


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    settings = SandboxSettings.from_environment()
    missing = [finding for finding in probe(settings) if not finding.ok]
    if missing:
        pytest.skip("; ".join(f"{finding.name}: {finding.detail}" for finding in missing))
    return BubblewrapSandbox(settings)


@pytest.fixture(scope="session")
def first_commit(tmp_path_factory: pytest.TempPathFactory) -> PersonGit:
    made = PersonGit.create(tmp_path_factory.mktemp("first") / "person")
    made.write("README.md", "hello\n")
    made.write("src/app.py", "print('hello')\n")
    made.commit("first")
    return made


@pytest.fixture
def person(tmp_path: Path, first_commit: PersonGit) -> PersonGit:
    """A person's repository with one commit on `main`."""
    shutil.copytree(first_commit.path, tmp_path / "person")
    made = PersonGit(tmp_path / "person")
    made.git("update-index", "-q", "--refresh")
    return made


@pytest.fixture
def canonical(tmp_path: Path, sandbox: Sandbox) -> GitCanonical:
    return GitCanonical(tmp_path / "canonical.git", tmp_path / "workspaces", sandbox, "installation-1")


@pytest.fixture
def base(canonical: GitCanonical, person: PersonGit) -> str:
    """The person's commit, imported."""
    commit = person.head()
    canonical.fetch(person.path, commit, "refs/rhumb/base/1")
    return commit


Work = Callable[[str], GitWorkspace]


@pytest.fixture
def workspace(canonical: GitCanonical, base: str) -> Iterator[GitWorkspace]:
    opened = canonical.open_workspace("run_a_t1_1", base)
    yield opened
    opened.close()


@pytest.fixture
def agent(sandbox: Sandbox) -> Callable[[GitWorkspace, str], Outcome]:
    """Runs a shell script as an agent would, in the workspace."""

    def run(workspace: GitWorkspace, script: str) -> Outcome:
        outcome = sandbox.run(Execution(argv=("/bin/sh", "-euc", script), workspace=workspace.folder))
        assert outcome.ok, outcome.output
        return outcome

    return run


@pytest.fixture
def propose(canonical: GitCanonical) -> Callable[..., str]:
    """Writes files in a fresh workspace and returns the ChangeSet's commit, pinned."""
    numbers = itertools.count(1)

    def make(base: str, files: dict[str, str | None]) -> str:
        run = f"run_p_{next(numbers)}"
        opened = canonical.open_workspace(run, base)
        for name, content in files.items():
            place = opened.folder / name
            if content is None:
                place.unlink()
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(content)
        commit = canonical.commit_tree(opened.snapshot(), [base], AGENT, AGENT, run)
        canonical.pin(f"refs/rhumb/cs/{run}", commit)
        opened.close()
        return commit

    return make

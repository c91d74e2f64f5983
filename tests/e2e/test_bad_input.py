"""Input that can't be meant: exit code 2, a sentence that says what is wrong, and nothing stored or touched."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.postgres import TEMPLATE, SharedPostgres, database
from tests.support.repository import commit_all, git, make_repository, write
from tests.support.rhumb import Ended, RhumbHere

FILES = {"value.txt": "one\n", "check.sh": "grep -q . value.txt\n"}
AGENT = ("--agent-command", "echo two > value.txt")
CHECK = ("--check", "sh check.sh")
FINE = (*AGENT, *CHECK)


@pytest.fixture(scope="module")
def here(shared_postgres: SharedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RhumbHere]:
    """One home for all these tests; what is refused leaves it as it was."""
    with database(shared_postgres, TEMPLATE) as url:
        yield RhumbHere(tmp_path_factory.mktemp("home"), {"DATABASE_URL": url})


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repo", FILES)


def traces(repository: Path) -> tuple[str, ...]:
    """Everything in the repository's folder that a command could have changed: names, and what git keeps."""
    files = sorted(str(path.relative_to(repository)) for path in repository.rglob("*"))
    refs = (path for path in repository.glob(".git/**/*") if path.is_file())
    return (*files, *(f"{path}: {path.read_bytes()!r}" for path in sorted(refs)))


def stored(here: RhumbHere) -> object:
    """How many events, commands and effects there are."""
    tables = (
        "SELECT (SELECT count(*) FROM stored_events), (SELECT count(*) FROM effects), (SELECT count(*) FROM commands)"
    )
    with psycopg.connect(here.env["DATABASE_URL"]) as connection:
        return connection.execute(tables).fetchone()


def refused(
    here: RhumbHere, repository: Path, *arguments: str, said: str, goal: str = "Do it", stdin: bytes = b""
) -> str:
    """Run, and insist on exit 2, a sentence on standard error, an empty standard output and no trace; the sentence."""
    before = traces(repository) if repository.is_dir() else ()
    events = stored(here)

    ended = here("run", goal, "--repo", str(repository), "--json", *arguments, stdin=stdin, code=2)

    assert ended.out == ""
    assert said in ended.err
    assert "Traceback" not in ended.err
    told = [line for line in ended.err.splitlines() if line.startswith("rhumb: ")]
    assert len(told) == 1 or ended.err.splitlines()[-1].startswith("Error: ")
    assert stored(here) == events
    assert (traces(repository) if repository.is_dir() else ()) == before
    return ended.err


def promoted(ended: Ended) -> dict[str, object]:
    assert ended.code == 0, ended.err
    assert ended.document["status"] == "completed"
    return ended.document


# -- goals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goal", "stdin", "said"),
    [
        ("", b"", "the goal is empty"),
        (" \t\n", b"", "the goal is empty"),
        ("-", b"", "the goal is empty"),
        ("g" * 100_000, b"", "100,000 characters"),
        ("-", b"g" * 100_000, "characters, at most 20,000"),
        ("-", b"with NUL \0 in it", "NUL"),
        ("lone surrogate \udcff", b"", "bytes that aren't UTF-8"),
        ("\ud800", b"", "no text"),
        ("-", b"\xff\xfe", "bytes that aren't UTF-8"),
    ],
)
def test_a_goal_that_is_no_goal(here: RhumbHere, repo: Path, goal: str, stdin: bytes, said: str) -> None:
    refused(here, repo, *FINE, goal=goal, stdin=stdin, said=said)


def test_a_goal_of_markup_escapes_and_format_strings_is_only_text(here: RhumbHere, repo: Path) -> None:
    goal = "[/b] [bold red]x[/] [link=http://x]y[/link] \x1b[31mred\x1b]0;title\x07 {0} %s $(id) `id` ../../x \u202egnp"

    change = str(promoted(here.run(goal, repo, *FINE))["change"])

    for command in ("show", "why", "list", "diff"):
        ended = here(command, *([] if command == "list" else [change]), code=0)
        assert "\x1b" not in ended.out + ended.err
        assert "\u202e" not in ended.out + ended.err
    shown = here("show", change, code=0).out
    assert "[/b] [bold red]x[/] [link=http://x]y[/link]" in shown
    assert "{0} %s $(id) `id` ../../x" in shown


def test_a_goal_of_the_longest_length_works(here: RhumbHere, repo: Path) -> None:
    promoted(here("run", "-", "--repo", str(repo), "--json", *FINE, stdin="ü" * 20_000))


# -- repositories ------------------------------------------------------------------------------------------------


def clone(repository: Path, target: Path, *options: str) -> Path:
    url = repository.as_uri()
    allow = ("-c", "protocol.file.allow=always", "-c", "uploadpack.allowFilter=true")
    git(repository, "config", "uploadpack.allowFilter", "true")
    git(repository.parent, *allow, "clone", "-q", *options, url, str(target))
    return target


def missing(repo: Path) -> Path:
    return repo.parent / "nowhere"


def a_file(repo: Path) -> Path:
    return repo / "value.txt"


def not_git(repo: Path) -> Path:
    folder = repo.parent / "plain"
    folder.mkdir()
    return folder


def unborn(repo: Path) -> Path:
    folder = repo.parent / "unborn"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def shallow(repo: Path) -> Path:
    commit_all_again(repo)
    return clone(repo, repo.parent / "shallow", "--depth", "1")


def partial(repo: Path) -> Path:
    return clone(repo, repo.parent / "partial", "--filter=blob:none")


def with_submodule(repo: Path) -> Path:
    other = make_repository(repo.parent / "other", {"x": "x"})
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "sub")
    git(repo, "commit", "-q", "-m", "Submodule")
    return repo


def line_feed(repo: Path) -> Path:
    return repo.rename(repo.parent / "line\nfeed")


def sha256(repo: Path) -> Path:
    folder = repo.parent / "sha256"
    folder.mkdir()
    git(folder, "init", "-q", "--object-format=sha256")
    write(folder / "x", "x")
    commit_all(folder, "x")
    return folder


def detached(repo: Path) -> Path:
    git(repo, "checkout", "-q", "--detach")
    return repo


def damaged(repo: Path) -> Path:
    for file in (repo / ".git" / "objects").glob("??/*"):
        file.unlink()
    return repo


def worktree_of_nothing(repo: Path) -> Path:
    folder = repo.parent / "linked"
    git(repo, "worktree", "add", "-q", "-b", "other", str(folder))
    shutil.rmtree(repo)
    return folder


def commit_all_again(repo: Path) -> None:
    write(repo / "more.txt", "more\n")
    commit_all(repo, "More")


Make = Callable[[Path], Path]
UNUSABLE: dict[str, tuple[Make, str]] = {
    "missing": (missing, "doesn't exist"),
    "a file": (a_file, "is a file"),
    "not git": (not_git, "isn't a git repository"),
    "unborn": (unborn, "no commit yet"),
    "shallow": (shallow, "git fetch --unshallow"),
    "partial": (partial, "make a full clone"),
    "submodules": (with_submodule, "submodules"),
    "SHA-256": (sha256, "SHA-256"),
    "detached": (detached, "--base"),
    "line feed": (line_feed, "a line feed in the path"),
    "damaged": (damaged, "damaged"),
    "worktree of nothing": (worktree_of_nothing, "is gone"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_repository_that_cannot_be_used(here: RhumbHere, repo: Path, name: str) -> None:
    make, said = UNUSABLE[name]
    folder = make(repo)
    err = refused(here, folder, *FINE, said=said)
    assert folder.name.split("\n")[0] in err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to another user")
def test_another_users_repository(here: RhumbHere, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (repo, *repo.rglob("*")):
        os.chown(path, 12345, 12345)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    ended = here.run("Do it", repo, *FINE, code=2)
    assert ended.out == ""
    assert "belongs to another user" in ended.err
    assert f"safe.directory {repo}" in ended.err


ODD_NAMES = [b"with space", "ünï".encode(), b"-dash", b"qu'o\"te", b"[bold]", b"bytes \xff\xfe", b"co:lon"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_of_repositories_work(here: RhumbHere, repo: Path, tmp_path: Path, name: bytes) -> None:
    folder = Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name)))  # noqa: PTH118 - of bytes
    repo.rename(folder)

    document = promoted(here.run("Do it", folder, *FINE))

    assert git(folder, "show", f"{document['branch']}:value.txt") == "two"
    assert "\x1b" not in here("show", str(document["change"]), code=0).out


def test_forms_of_repositories_that_work(here: RhumbHere, repo: Path, tmp_path: Path) -> None:
    write(repo / "deep" / "er" / "x", "x\n")
    commit_all(repo, "Deep")
    linked, bare = tmp_path / "linked", tmp_path / "bare.git"
    git(repo, "worktree", "add", "-q", "-b", "other", str(linked))
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(bare))

    for place, repository in ((repo / "deep" / "er", repo), (linked, repo), (bare, bare), (repo / ".git", repo)):
        document = promoted(here.run("Do it", place, *AGENT[:1], "date +%s%N > value.txt", *CHECK))
        assert git(repository, "rev-parse", str(document["branch"])) == document["commit"]

    git(repo, "checkout", "-q", "--detach")
    promoted(here.run("Do it", repo, "--base", "main", *AGENT, *CHECK))


def test_a_read_only_repository_keeps_the_promotion_and_says_so(here: RhumbHere, repo: Path) -> None:
    heads = repo / ".git" / "refs" / "heads"
    write(heads / "rhumbline", "not a folder")

    ended = here.run("Do it", repo, *FINE, code=0)

    assert ended.document["status"] == "completed"
    assert "isn't in your repository" in ended.err


# -- checks and settings -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", ["nope", "--all", "HEAD^{tree}", "", "a\nb", "\udcff"])
def test_an_unknown_base(here: RhumbHere, repo: Path, base: str) -> None:
    refused(here, repo, *FINE, f"--base={base}", said="has no commit")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("[checks\n", "no TOML"),
        ("\udcff", "no TOML"),
        ('[check]\nx = "true"\n', "there is no such key"),
        ('[checks.x]\nrun = "true"\ntimeuot = 2\n', "there is no such key"),
        ("[checks]\nx = 1\n", "[checks] x"),
        ('[checks]\nx = ""\n', "[checks"),
        ('[checks.x]\nrun = "true"\ntimeout = 0\n', "timeout"),
        ('[checks]\n"../x" = "true"\n', "name"),
        ('[setup]\nrun = "true"\n', "outputs"),
        ('[setup]\nrun = "true"\noutputs = ["../x"]\n', "outputs"),
        ('[setup]\nrun = "true"\noutputs = ["x"]\nhosts = ["http://x/"]\n', "hosts"),
        ("", "check"),
    ],
)
def test_settings_of_the_repository_that_cannot_be_used(here: RhumbHere, repo: Path, settings: str, said: str) -> None:
    write(repo / ".rhumbline.toml", settings.encode(errors="surrogateescape"))
    commit_all(repo, "Settings")
    err = refused(here, repo, *AGENT, said=said)
    assert ".rhumbline.toml" in err or not settings


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((*FINE, "--check", ""), "--check needs a command"),
        ((*FINE, "--check", " \n"), "--check needs a command"),
        ((*FINE, "--check", "a\udcff"), "--check"),
        ((*AGENT, *("--check", "true") * 33), "at most 32"),
        ((*FINE, "--budget", "abc"), "--budget"),
        ((*FINE, "--budget=-1"), "--budget"),
        ((*FINE, "--budget", "nan"), "--budget"),
        ((*FINE, "--budget", "inf"), "--budget"),
        ((*FINE, "--budget", "1e99"), "--budget"),
        ((*FINE, "--budget", ""), "--budget"),
        ((*FINE, "--no-such"), "No such option"),
        ((*FINE, "--approve=maybe"), "--approve"),
        ((*FINE, "--provider", "none"), "no provider 'none'"),
        (CHECK, "no agent was named"),
        ((*CHECK, "--provider", "command"), "needs --agent-command"),
        ((*CHECK, "--agent-command", " "), "needs --agent-command"),
        ((*CHECK, "--agent-command", "a\udcff"), "--agent-command"),
        ((*CHECK, "--provider", "scripted"), "needs --script"),
        ((*CHECK, "--script", "nowhere.toml"), "nowhere.toml"),
        ((*CHECK, "--script", "/"), "the script /"),
        ((*CHECK, "--script", "x", *AGENT), "belongs to"),
        ((*FINE, "--agent-bind", "/nowhere"), "--agent-bind /nowhere"),
        ((*FINE, "--agent-bind", ""), "--agent-bind"),
        ((*FINE, "--agent-bind", "/"), "too much"),
        ((*FINE, "--agent-bind", "~"), "too much"),
        ((*FINE, "--agent-bind", "/usr/bin/env", "--agent-bind", "/usr/bin/env"), "twice"),
        ((*FINE, "--agent-env", "NOT_SET_AT_ALL"), "NOT_SET_AT_ALL"),
        ((*FINE, "--agent-env", "A=b"), "without a value"),
        ((*FINE, "--agent-env", ""), "--agent-env"),
        ((*FINE, "--agent-env", "RHUMBLINE_HOME"), "RHUMBLINE_HOME"),
        ((*FINE, "--request-id", ""), "--request-id"),
        ((*FINE, "--request-id", "x" * 100_000), "--request-id"),
        ((*FINE, "--request-id", "a\udcff"), "--request-id"),
    ],
)
def test_options_that_cannot_be_meant(here: RhumbHere, repo: Path, options: tuple[str, ...], said: str) -> None:
    refused(here, repo, *options, said=said)


def test_rhumblines_own_home_is_not_let_in(here: RhumbHere, repo: Path) -> None:
    refused(here, repo, *FINE, "--agent-bind", str(here.home), said="Rhumbline's own state")


@pytest.mark.parametrize(
    "content", ["", "answers = 1", "[[answers]]\nnope = 1", "{", "\udcff", '[[answers]]\ncostUsd = "nan"']
)
def test_a_script_that_is_none(here: RhumbHere, repo: Path, tmp_path: Path, content: str) -> None:
    script = tmp_path / "script.toml"
    write(script, content.encode(errors="surrogateescape"))
    refused(here, repo, *CHECK, "--script", str(script), said="script.toml")


def plan(*keys: str, kind: str = "implement", **depends: str) -> str:
    """A Work Graph of tasks with these keys; `t1="t2"` makes t1 depend on t2."""
    return json.dumps(
        {
            "tasks": [
                {
                    "key": k,
                    "title": k,
                    "kind": kind,
                    "instructions": k,
                    "dependsOn": [depends[k]] if k in depends else [],
                }
                for k in keys
            ]
        }
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (plan("t1", "t2", t1="t2", t2="t1"), "in a circle: t1 → t2 → t1"),
        (plan("t1", t1="t9"), "depends on t9, which the plan doesn't have"),
        (plan(*(f"t{n}" for n in range(13))), "at most 12"),
        (plan("t1", "t1"), "two tasks have the key t1"),
        (plan("t1", kind="review"), "at least one task of kind implement"),
        (plan("t1", kind="sudo"), "kind"),
        (plan("../x"), "key"),
        ("", "isn't a mapping"),
        ("tasks: [", "no YAML (line"),
        ("tasks: !!python/object/apply:os.system [id]", "no YAML"),
        ("a: &a [x]\ntasks: *a", "aliases"),
        ("title: 2020-13-45", "no YAML"),
        ("title: !!int x", "no YAML"),
        ("title: " + "9" * 5000, "no YAML"),
        ("\0", "no YAML"),
        ("\udcff", "no YAML"),
        ("[" * 5000, "no YAML"),
        ("x" * (1024**2 + 1), "larger than"),
    ],
)
def test_a_plan_that_is_no_work_graph(here: RhumbHere, repo: Path, tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "plan.yaml"
    write(file, content.encode(errors="surrogateescape"))
    err = refused(here, repo, *FINE, "--plan", str(file), said=said)
    assert len(err) < 2_000


@pytest.mark.parametrize("file", ["nowhere.yaml", "/", "\udcff"])
def test_a_plan_that_cannot_be_read(here: RhumbHere, repo: Path, file: str) -> None:
    refused(here, repo, *FINE, "--plan", file, said="can't be read")


@pytest.mark.parametrize("command", ["show", "diff", "why", "approve", "reject", "cancel", "resume", "logs"])
@pytest.mark.parametrize("named", ["", "x", "chg_0000", "../x", "a\udcff", "[/b]", "0" * 100_000, "%s", "' OR 1=1 --"])
def test_an_id_of_nothing(here: RhumbHere, command: str, named: str) -> None:
    ended = here(command, "--", named)
    assert ended.code == 2
    assert ended.out == ""
    assert "Traceback" not in ended.err
    assert len(ended.err) < 2_000


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("RHUMBLINE_BUDGET_USD", "much"),
        ("RHUMBLINE_MAX_AGENTS", "0"),
        ("RHUMBLINE_HOME", "/dev/null"),
        ("RHUMBLINE_MEMORY", "lots"),
        ("DATABASE_URL", "nonsense"),
    ],
)
def test_a_setting_that_cannot_be_used(here: RhumbHere, repo: Path, variable: str, value: str) -> None:
    other = RhumbHere(here.home, {**here.env, variable: value})
    ended = other.run("Do it", repo, *FINE, code=2)
    assert ended.out == ""
    assert variable in ended.err


# -- a machine without a sandbox -----------------------------------------------------------------------------------


@pytest.fixture
def no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """bubblewrap is there, and refuses."""
    from infra.sandbox import binary, bubblewrap, probe

    def refuses(_wanted: Path | None = None) -> Path:
        return Path("/bin/false")

    for module in (binary, bubblewrap, probe):
        monkeypatch.setattr(module, "find_bwrap", refuses)


@pytest.mark.usefixtures("no_sandbox")
def test_without_a_sandbox_nothing_runs(here: RhumbHere, repo: Path) -> None:
    err = refused(here, repo, *FINE, said="--unsafe-local")
    assert "rhumb doctor" in err


@pytest.mark.usefixtures("no_sandbox")
def test_without_a_sandbox_a_person_can_go_on_and_everything_says_so(here: RhumbHere, repo: Path) -> None:
    ended = here.run("Do it", repo, *FINE, "--unsafe-local", code=0)

    assert "without any isolation" in ended.err
    change = str(promoted(ended)["change"])
    assert "without a sandbox" in here("show", change, code=0).out


def test_names_that_are_no_text_work_from_end_to_end(here: RhumbHere, repo: Path, tmp_path: Path) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text(
        'for name in (b"sp ace", b"new\\nline", b"\\xff\\xfe", b"-rf", b"q\'\\"", b"\\x1b[31m"):\n open(name, "w")\n'
    )

    document = promoted(
        here.run("Do it", repo, "--agent-command", f"python3 {agent}", "--agent-bind", str(agent), *CHECK)
    )

    change = str(document["change"])
    for command in ("show", "why"):
        assert json.loads(here(command, change, "--json", code=0).out)
        assert "\x1b" not in here(command, change, code=0).out
    diff = here("diff", change, code=0).out
    assert r'"b/\377\376"' in diff
    assert "\x1b" not in diff

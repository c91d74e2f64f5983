"""Names that git reserves: at least all that git itself refuses."""

import pytest

from infra.git.names import has_git_directory_name, is_git_directory_name, is_gitmodules_name
from infra.git.process import GitFailed, git
from tests.infra.git.person_git import PersonGit

RESERVED = (
    ".git",
    ".GIT",
    ".gIt",
    "git~1",
    "GIT~1",
    ".git.",
    ".git ",
    ".git. .",
    ".git::$INDEX_ALLOCATION",
    "git~1:x",
    ".g\u200cit",
    "\ufeff.git",
    ".gi\u206ft",
    "x\\.git",
    ".git\\x",
)
ALLOWED = (
    ".gitignore",
    ".github",
    "git",
    "gitx",
    ".git-blame-ignore-revs",
    "a.git",
    "git~2",
    ".gitmodules",
    "x~1",
    "…git",
)


@pytest.mark.parametrize("name", RESERVED + ALLOWED)
def test_whatever_git_refuses_is_reserved(person: PersonGit, name: str) -> None:
    blob = person.git("rev-parse", "HEAD:README.md")
    row = f"100644 {blob}\tsub/{name}\0".encode()
    try:
        git("update-index", "-z", "--index-info", git_dir=person.path / ".git", stdin=row)
        listed = git("ls-files", "-z", git_dir=person.path / ".git").stdout
        refused_by_git = name.encode() not in listed
    except GitFailed:
        refused_by_git = True
    assert is_git_directory_name(name.encode()) == (name in RESERVED)
    assert has_git_directory_name(f"sub/{name}/x".encode()) == (name in RESERVED)
    assert refused_by_git <= (name in RESERVED)


def test_gitmodules_in_other_spellings() -> None:
    assert all(map(is_gitmodules_name, (b".gitmodules", b".GITModules", b".gitmodules .")))
    assert not any(map(is_gitmodules_name, (b"gitmodules", b".gitmodules.txt", b"\xff")))

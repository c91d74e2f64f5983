"""How an agent could make a check pass without being right, and the line of the plan that finds it out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.check import Check, CheckSource, PlannedCheck, Variant
from domain.judge import ChangedPath, defining_files, verification_plan


def check(command: str, *defining: str, name: str = "tests") -> Check:
    return Check(name=name, command=command, source=CheckSource.PERSON, defining=defining)


def changed(*files: str) -> tuple[ChangedPath, ...]:
    """`"M src/app.py"`, sorted by path as a diff is."""
    return tuple(ChangedPath(path=file[2:], kind=file[0]) for file in sorted(files, key=lambda file: file[2:]))


PRODUCT = "M src/app.py"

TRICKS = [
    ("a failing test deleted", "pytest", "D tests/test_app.py"),
    ("a failing test emptied", "pytest", "M tests/test_app.py"),
    ("a test outside of tests/", "pytest", "M src/app/test_app.py"),
    ("a test named the other way", "pytest", "D src/app_test.py"),
    ("a conftest that exits 0", "pytest", "A conftest.py"),
    ("a conftest further down", "pytest", "A src/app/conftest.py"),
    ("a conftest that turned into a link", "pytest", "T conftest.py"),
    ("addopts in pyproject.toml", "pytest", "M pyproject.toml"),
    ("PYTEST_ADDOPTS in tox.ini", "pytest", "A tox.ini"),
    ("a configuration that wins over others", "pytest", "A pytest.ini"),
    ("its hidden twin", "pytest", "A .pytest.ini"),
    ("its new name", "pytest", "A pytest.toml"),
    ("a plugin in setup.cfg", "pytest", "M setup.cfg"),
    ("a plugin's entry point", "python -m pytest", "A evil.dist-info/entry_points.txt"),
    ("an old entry point", "python -m pytest", "A evil.egg-info/entry_points.txt"),
    ("a .pth file", "pytest", "A lib/evil.pth"),
    ("sitecustomize", "python -m pytest", "A sitecustomize.py"),
    ("usercustomize", "python -m pytest", "A usercustomize.py"),
    ("a runner of its own", "python -m pytest", "A pytest.py"),
    ("a runner as a package", "python -m pytest", "A pytest/__main__.py"),
    ("a compiled runner", "python -m pytest", "A pytest.cpython-311-x86_64-linux-gnu.so"),
    ("unittest of its own", "python -m unittest", "A unittest/__init__.py"),
    ("what the runner imports", "python -m pytest", "A json.py"),
    ("what the runner imports, as a package", "python -m pytest", "A argparse/__init__.py"),
    ("what the runner imports, from src", "pytest", "A src/inspect.py"),
    ("what the runner imports, compiled", "python -m pytest", "A json.so"),
    ("a runner in the folder that it runs in", "cd backend && python -m pytest", "M backend/pytest.py"),
    ("what it imports, in the folder that it runs in", "cd backend && python -m pytest", "A backend/json.py"),
    ("what it imports, from a folder on the path", "PYTHONPATH=lib:vendor pytest", "A vendor/json.py"),
    ("a helper of tests in the folder that it runs in", "cd backend && pytest", "M backend/test/helper.py"),
    ("a compiled file in the place of source", "pytest", "A src/__pycache__/app.cpython-311.pyc"),
    ("a helper of the tests", "pytest", "M tests/helpers.py"),
    ("data of the tests", "pytest", "M tests/data/expected.json"),
    ("tests/__init__.py", "pytest", "A tests/__init__.py"),
    ("the folder of tests as a link", "pytest", "A tests"),
    ("upper case", "pytest", "M Tests/Helpers.py"),
    ("a virtual environment of its own", "pytest", "A .venv/bin/pytest"),
    ("test: true", "npm test", "M package.json"),
    ("a package further down", "npm test", "M packages/a/package.json"),
    ("NODE_OPTIONS in .npmrc", "npm test", "A .npmrc"),
    ("jest's configuration", "npx jest", "A jest.config.js"),
    ("jest's configuration as JSON", "npx jest", "M jest.config.json"),
    ("vitest's configuration", "vitest run", "M vitest.config.ts"),
    ("vite's configuration", "vitest run", "M vite.config.mts"),
    ("mocha's configuration", "mocha", "A .mocharc.cjs"),
    ("a transform", "npx jest", "A babel.config.js"),
    ("a test", "npx jest", "D src/app.test.tsx"),
    ("a spec", "npx jest", "M src/app.spec.ts"),
    ("a snapshot", "npx jest", "M src/__snapshots__/app.test.ts.snap"),
    ("a mock", "npx jest", "A __mocks__/fs.js"),
    ("a committed runner", "npx jest", "A node_modules/jest/index.js"),
    ("pnpm's hooks", "pnpm test", "A .pnpmfile.cjs"),
    ("a runner of yarn", "yarn test", "M .yarn/releases/yarn-4.cjs"),
    ("Cargo.toml", "cargo test", "M Cargo.toml"),
    ("a build script", "cargo test", "A build.rs"),
    ("a runner of cargo's configuration", "cargo test", "A .cargo/config.toml"),
    ("an integration test", "cargo test", "D tests/it.rs"),
    ("go.mod", "go test ./...", "M go.mod"),
    ("TestMain", "go test ./...", "A pkg/main_test.go"),
    ("a vendored module", "go test ./...", "M vendor/x/y.go"),
    ("test data", "go test ./...", "M pkg/testdata/golden.txt"),
    ("a target", "make test", "M Makefile"),
    ("a makefile that wins over others", "make test", "A GNUmakefile"),
    ("an included makefile", "make test", "M build/rules.mk"),
    ("what a target runs", "make test", "A conftest.py"),
    ("what a target runs, in another language", "make test", "M package.json"),
    ("a script that a target runs", "make test", "M scripts/run_tests.sh"),
    ("a script in the command", "sh run.sh", "M run.sh"),
    ("a script in the command, from a folder", "cd ci && sh run.sh", "M ci/run.sh"),
    ("a script that became a folder", "sh run.sh", "A run.sh/x"),
    ("a configuration in the command", "pytest -c ci/custom.cfg", "M ci/custom.cfg"),
    ("a module in the command", "python -m tools.check", "M tools/check.py"),
    ("a plugin in the command", "pytest -p plug", "A plug.py"),
    ("the settings", "pytest", "M .rhumbline.toml"),
    ("the settings, whatever the runner", "cargo test", "M .rhumbline.toml"),
    ("anything, of a command that isn't known", "sh run.sh", "M conftest.py"),
    ("anything else, of a command that isn't known", "./check", "M Cargo.toml"),
]


@pytest.mark.parametrize(("command", "file"), [pytest.param(*trick[1:], id=trick[0]) for trick in TRICKS])
def test_the_base_judges_too(command: str, file: str) -> None:
    files = ["D run.sh", file] if file.startswith("A run.sh/") else [file]
    overlay = tuple(sorted(name[2:] for name in files))
    assert verification_plan([check(command)], changed(PRODUCT, *files)) == (
        PlannedCheck(check="tests"),
        PlannedCheck(check="tests", variant=Variant.BASE_JUDGES, overlay=overlay),
    )


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("pytest", PRODUCT),
        ("pytest", "A src/app/new.py"),
        ("pytest", "M README.md"),
        ("pytest", "M package.json"),
        ("pytest", "M contest.py"),
        ("pytest", "M json.py"),
        ("pytest", "A app/json.py"),
        ("pytest", "A html/index.html"),
        ("pytest", "A src/app/__init__.py"),
        ("pytest", "M src/latest_news.py"),
        ("pytest src", "M src/app.py"),
        ("cargo test", "M src/lib.rs"),
        ("cargo test", "M pyproject.toml"),
        ("go test ./...", "M pkg/main.go"),
        ("npx jest", "M src/index.ts"),
        ("make test", "M src/app.c"),
        ("make test", "M install.sh"),
        ("sh run.sh", "M src/lib.rs"),
    ],
)
def test_what_is_judged_is_never_laid_over(command: str, file: str) -> None:
    """The base's version of product code would judge nothing."""
    assert verification_plan([check(command)], changed(file)) == (PlannedCheck(check="tests"),)


def test_a_folder_of_tests_that_moved() -> None:
    files = changed(PRODUCT, "D tests/test_app.py", "D tests/data.json", "A checks/test_app.py", "A checks/data.json")
    assert defining_files(check("pytest"), files) == (
        "checks/test_app.py",
        "tests/data.json",
        "tests/test_app.py",
    )


def test_a_link_above_the_tests_goes_too() -> None:
    """`pkg` became a link: laid over as it is, the base's test would be written through it."""
    files = changed("A pkg", "D pkg/test_app.py", "D pkg/app.py")
    assert defining_files(check("pytest"), files) == ("pkg", "pkg/test_app.py")


def test_a_folder_in_the_place_of_a_test_goes_too() -> None:
    files = changed("D run.sh", "A run.sh/a/b")
    assert defining_files(check("sh run.sh"), files) == ("run.sh", "run.sh/a/b")


def test_a_check_s_own_defining_files() -> None:
    files = changed("M ci/policy.json", "M other/policy.json")
    assert defining_files(check("pytest", "ci/*.json"), files) == ("ci/policy.json",)
    assert defining_files(check("pytest"), files) == ()


def test_names_that_are_not_utf_8() -> None:
    files = changed("M tests/%FF%0A.py", "M src/%FF.py")
    assert defining_files(check("pytest"), files) == ("tests/%FF%0A.py",)


def test_a_long_name_is_never_cut_short() -> None:
    path = "%C3%BC" * 1_000 + "/conftest.py"
    assert verification_plan([check("pytest")], changed(f"A {path}"))[1].overlay == (path,)


def test_the_order_is_that_of_the_checks_and_each_has_its_own_overlay() -> None:
    checks = [check("go test ./...", name="go"), check("pytest", name="py"), check("cargo test", name="rust")]
    assert verification_plan(checks, changed("M go.mod", "M conftest.py", "A a_test.go", PRODUCT)) == (
        PlannedCheck(check="go"),
        PlannedCheck(check="go", variant=Variant.BASE_JUDGES, overlay=("a_test.go", "go.mod")),
        PlannedCheck(check="py"),
        PlannedCheck(check="py", variant=Variant.BASE_JUDGES, overlay=("conftest.py",)),
        PlannedCheck(check="rust"),
    )


def test_without_checks_there_is_no_plan() -> None:
    assert verification_plan([], changed(PRODUCT)) == ()


PATHS = st.lists(
    st.sampled_from(["tests", "src", "app.py", "conftest.py", "Makefile", "json.py", "a%FF"]), min_size=1, max_size=3
).map("/".join)
FILES = st.lists(st.builds(ChangedPath, PATHS, st.sampled_from("AMDT")), unique_by=lambda file: file.path)
COMMANDS = st.sampled_from(["pytest", "make test", "sh run.sh", "cargo test"])


@given(COMMANDS, FILES)
def test_every_overlay_is_sorted_and_part_of_the_change(command: str, files: list[ChangedPath]) -> None:
    plan = verification_plan([check(command)], files)
    assert plan == verification_plan([check(command)], files[::-1])
    assert [line.variant for line in plan] in ([Variant.AS_IS], [Variant.AS_IS, Variant.BASE_JUDGES])
    for line in plan:
        assert list(line.overlay) == sorted(set(line.overlay))
        assert set(line.overlay) <= {file.path for file in files}
        assert bool(line.overlay) == (line.variant is Variant.BASE_JUDGES)


@given(COMMANDS, FILES, FILES)
def test_more_changes_never_shrink_an_overlay(command: str, some: list[ChangedPath], more: list[ChangedPath]) -> None:
    both = list({file.path: file for file in (*more, *some)}.values())
    assert set(defining_files(check(command), some)) <= set(defining_files(check(command), both))

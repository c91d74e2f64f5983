"""Settings from the environment, and the folders of a home."""

import os
import stat
from pathlib import Path

import pytest

from domain.kernel.money import micros_from_usd
from infra.home import open_home
from infra.settings import MAX_AGENTS, MIN_POOL, Settings, SettingsError, load_settings


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*os.environ]:
        if name.startswith(("RHUMBLINE_", "DATABASE_URL", "KAFKA_")):
            monkeypatch.delenv(name)


def test_defaults_work_on_one_machine() -> None:
    settings = load_settings()
    assert settings.home.is_absolute()
    assert settings.home.name == "rhumbline"
    assert settings.database_url is None
    assert settings.budget == micros_from_usd("5")
    assert 1 <= settings.max_agents <= MAX_AGENTS
    assert settings.agent_limits.seconds == 3_600


def test_reads_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {
        "RHUMBLINE_HOME": str(tmp_path),
        "RHUMBLINE_BUDGET_USD": "2.50",
        "RHUMBLINE_MEMORY": "2GiB",
        "RHUMBLINE_TOOLCHAINS": f"/opt/a{os.pathsep}{os.pathsep}/opt/with space",
        "RHUMBLINE_MAX_AGENTS": "3",
        "RHUMBLINE_AGENT_SECONDS": "60",
        "DATABASE_URL": "postgresql://me:canary@localhost/db",
        "KAFKA_BOOTSTRAP_SERVERS": "localhost:9092",
    }.items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert settings.home == tmp_path
    assert settings.budget == 2_500_000
    assert settings.agent_limits.memory_bytes == 2 * 1024**3
    assert settings.toolchains == (Path("/opt/a"), Path("/opt/with space"))
    assert (settings.max_agents, settings.agent_seconds) == (3, 60)
    assert settings.kafka_bootstrap_servers == "localhost:9092"
    assert "canary" not in repr(settings)


def test_an_empty_variable_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "")
    monkeypatch.setenv("RHUMBLINE_BUDGET_USD", "")
    assert load_settings().database_url is None
    assert load_settings().budget == micros_from_usd("5")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RHUMBLINE_MAX_AGENTS", "canary"),
        ("RHUMBLINE_MAX_AGENTS", "0"),
        ("RHUMBLINE_BUDGET_USD", "-1"),
        ("RHUMBLINE_BUDGET_USD", "NaN"),
        ("RHUMBLINE_MEMORY", "canary"),
        ("RHUMBLINE_AGENT_SECONDS", "1e99"),
        ("RHUMBLINE_POOL_MAX", "2"),
    ],
)
def test_names_a_variable_that_can_t_be_used_but_not_its_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=name) as refused:
        load_settings()
    assert "canary" not in str(refused.value)


def test_the_pool_s_bounds_fit_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RHUMBLINE_POOL_MIN", "9")
    with pytest.raises(SettingsError, match="RHUMBLINE_POOL_MAX"):
        load_settings()


def test_a_pool_of_three_connections_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RHUMBLINE_POOL_MAX", "3")
    assert load_settings().pool_max == MIN_POOL


def test_a_home_with_odd_characters_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    home = open_home(Settings(home=tmp_path / "my home's" / 'a "b"'))
    folders = [home.root, home.postgres, home.objects, home.setup, home.logs, home.run, home.workspaces]
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}
    assert home.canonical("prj_1") == home.root / "canonical" / "prj_1.git"
    assert open_home(Settings(home=home.root)) == home


def test_a_home_is_canonical(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert open_home(Settings(home=tmp_path / "link")).root == tmp_path.resolve() / "real"


def test_a_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o755)
    (tmp_path / "home").chmod(0o755)
    home = open_home(Settings(home=tmp_path / "home"))
    assert stat.S_IMODE(home.root.stat().st_mode) == 0o755
    assert stat.S_IMODE(home.objects.stat().st_mode) == 0o700


def test_workspaces_may_lie_elsewhere(tmp_path: Path) -> None:
    home = open_home(Settings(home=tmp_path / "home", workspaces=tmp_path / "fast disk"))
    assert home.workspaces == tmp_path.resolve() / "fast disk"


@pytest.mark.parametrize("place", [Path("/"), Path.home()])
def test_a_home_is_a_folder_of_its_own(place: Path) -> None:
    with pytest.raises(SettingsError, match="RHUMBLINE_HOME"):
        open_home(Settings(home=place))


def test_a_file_is_no_home(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(SettingsError, match="can't be made"):
        open_home(Settings(home=tmp_path / "file"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_somebody_else_s_folder_is_no_home(tmp_path: Path) -> None:
    os.chown(tmp_path, 12_345, 12_345)
    with pytest.raises(SettingsError, match="belongs to another user"):
        open_home(Settings(home=tmp_path))

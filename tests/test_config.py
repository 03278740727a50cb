"""Settings: later wins, and what is wrong is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from hisa.cli import cli
from hisa.config import EnvironmentSettings, load, preset_sources
from hisa.errors import ConfigError

PRESETS = ("hisa-paper", "gta1")


def test_later_wins(tmp_path: Path) -> None:
    file = tmp_path / "hisa.toml"
    file.write_text("[run]\nmax_steps = 7\nseed = 3\n[state]\nrefine_every = 9\n")
    settings = load(
        file,
        ["run.max_steps=11", "models.planner.model=gpt-5"],
        overrides={"run": {"max_steps": 13}},
        environ={"HISA_RUN__SEED": "4", "HISA_STATE__REFINE_EVERY": "3", "HISA_OTHER": "x"},
    )
    assert (settings.run.max_steps, settings.run.seed) == (13, 4)
    assert settings.state.refine_every == 3
    assert settings.models.planner.model == "gpt-5"


@pytest.mark.parametrize(
    ("assignment", "reason"),
    [
        ("run.max_step=3", "run.max_step: no such setting"),
        ("nothing.at.all=3", "nothing: no such setting"),
        ("run.max_steps=0", "run.max_steps = 0"),
        ("run.max_steps=many", "run.max_steps = 'many'"),
        ("run.confirm=maybe", "'auto', 'always' or 'never'"),
        ("max_steps", "a.b=c"),
        ("run=3", "run = 3"),
        (
            "models.state.timeout=900",
            "models.state sets timeout but no model: set models.state.model",
        ),
    ],
)
def test_wrong_setting_is_named(assignment: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(None, [assignment], environ={})
    assert reason in str(caught.value)
    assert caught.value.fix


def test_a_roles_section_may_name_the_offline_model_and_follows_nobody() -> None:
    settings = load(None, ["models.planner.model=m", "models.state.model=offline"], environ={})
    assert settings.models.state is not None
    assert settings.models.state.model == "offline"
    assert load(None, ["models.planner.timeout=9"], environ={}).models.judge is None


@pytest.mark.parametrize("text", ["[run]\nmax_steps = 'x'\n", "[run\n"])
def test_a_bad_file_leaves_the_command_that_lists_settings_usable(
    tmp_path: Path, text: str
) -> None:
    file = tmp_path / "hisa.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(file, environ={})
    assert str(file) in str(caught.value)
    for words in (["settings"], ["settings", "--json"]):
        listed = CliRunner().invoke(cli, ["--config", str(file), *words])
        assert listed.exit_code == 2
        assert "max_steps" in listed.stdout
        assert listed.stderr.startswith(f"hisa: {caught.value}")
        assert "printed the defaults instead" in listed.stderr
    assert CliRunner().invoke(cli, ["settings"]).exit_code == 0
    with pytest.raises(ConfigError):
        CliRunner().invoke(cli, ["--config", str(file), "doctor"], catch_exceptions=False)


def test_a_bad_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "hisa.toml"
    with pytest.raises(ConfigError, match="No such file"):
        load(file, environ={})
    file.write_text("[run\n")
    with pytest.raises(ConfigError, match="not valid TOML"):
        load(file, environ={})


@pytest.mark.parametrize(
    ("kind", "family", "value", "throw_away"),
    [
        ("desktop", "desktop", "", True),
        ("desktop:osworld", "desktop", "osworld", True),
        ("desktop:", "package", "desktop:", True),
        ("display=:0", "display", ":0", False),
        ("screen", "screen", "", False),
        ("screen:2", "screen", "2", False),
        ("screen:", "package", "screen:", True),
        ("guest=http://a:5000,b=http://c", "guest", "http://a:5000,b=http://c", False),
        ("vm:minimal", "vm", "minimal", True),
        ("form=x", "package", "form=x", True),
        ("vm:", "package", "vm:", True),
        ("desktops", "package", "desktops", True),
    ],
)
def test_an_environments_kind_is_read_in_one_place(
    kind: str, family: str, value: str, throw_away: bool
) -> None:
    settings = EnvironmentSettings(kind=kind)
    assert (settings.family, settings.value, settings.throw_away) == (family, value, throw_away)


def test_a_guest_that_can_be_reverted_is_thrown_away() -> None:
    remote = {"revert": "revert {name}"}
    settings = EnvironmentSettings.model_validate({"kind": "guest=http://a", "remote": remote})
    assert settings.throw_away


@pytest.mark.parametrize("name", PRESETS)
def test_every_setting_of_a_preset_has_its_place_in_the_paper(name: str) -> None:
    sources = preset_sources(name)
    tree = load(assignments=[f"preset={name}"], environ={}).model_dump(mode="json")
    assert tree["preset"] == name
    for path, (value, source) in sources.items():
        here = tree
        for key in path.split("."):
            here = here[key]
        assert here == value, path
        assert re.match(r"(\d|[A-E]\b|table \d)", source), path


def test_the_presets_are_the_papers() -> None:
    paper, gta1 = (load(assignments=[f"preset={name}"], environ={}) for name in PRESETS)
    assert paper.models.grounder is not None
    assert (paper.grounder.kind, paper.models.grounder.model) == ("vision", "HelloKKMe/GTA1-7B")
    assert (paper.state.roi, paper.state.refine_every, paper.state.window) == ("exact", 5, 5)
    assert (paper.patterns.embedder, paper.tools.allow) == ("bge-m3", ())
    assert paper.tasks.instructions == "abstract"
    assert (gta1.planner.samples, gta1.planner.scaling) == (8, "constant")
    assert gta1.models.grounder is not None


def test_a_preset_gives_way_to_a_file_a_variable_and_a_flag(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('preset = "gta1"\n[planner]\nsamples = 4\n[run]\nmax_steps = 9\n')
    settings = load(file, ["planner.scaling=frugal"], environ={"HISA_RUN__MAX_STEPS": "7"})
    assert (settings.planner.samples, settings.planner.scaling) == (4, "frugal")
    assert settings.run.max_steps == 7
    assert settings.grounder.kind == "vision"
    assert load(file, ["preset=hisa-paper"], environ={}).state.roi == "exact"


def test_an_unknown_preset_is_named_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match="preset 'gta2': there are gta1, hisa-paper"):
        load(assignments=["preset=gta2"], environ={})


def test_settings_cite_the_preset_only_for_unchanged_values() -> None:
    words = ["--preset", "hisa-paper", "--set", "state.refine_every=7", "settings"]
    lines = CliRunner().invoke(cli, words).output.splitlines()
    assert 'patterns.embedder = "bge-m3"  # hisa-paper: 4.3: BGE-M3, dimension 1024' in lines
    assert "state.refine_every = 7" in lines


@pytest.mark.parametrize("command", [[], ["run"]])
def test_help_names_the_presets(command: list[str]) -> None:
    shown = CliRunner().invoke(cli, [*command, "--help"]).output
    assert all(name in shown for name in PRESETS)


def test_the_address_of_a_role_in_a_variable_waits_for_a_model() -> None:
    """A container knows where its servers are; which of them a run uses is said elsewhere."""
    environ = {"HISA_MODELS__GROUNDER__BASE_URL": "http://grounder:8000/v1"}
    assert load(environ=environ).models.grounder is None
    chosen = load(assignments=["models.grounder.model=UI-TARS"], environ=environ).models.grounder
    assert chosen is not None
    assert (chosen.model, chosen.base_url) == ("UI-TARS", "http://grounder:8000/v1")
    paper = load(assignments=["preset=hisa-paper"], environ=environ).models.grounder
    assert paper is not None
    assert paper.base_url == "http://grounder:8000/v1"
    with pytest.raises(ConfigError, match="no model"):
        load(assignments=["models.grounder.base_url=http://grounder:8000/v1"], environ={})

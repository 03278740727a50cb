"""What a newcomer meets: wrong keys, wrong names, places that cannot be written, counts."""

from __future__ import annotations

from pathlib import Path

import pytest

import hisa
from hisa.cli import main
from hisa.config import Settings, load
from hisa.errors import ConfigError, UsageError
from hisa.tasks.taskfile import load_task
from hisa.testing import FakeEnvironment, ScriptedModel
from hisa.tools.base import Tool
from hisa.tools.builtin import bash_execution
from hisa.tools.offer import offered_text
from hisa.tools.registry import ToolRegistry

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("text", "place", "keys"),
    [
        ("check:\n  - file: ~/a\n    contians: b", "line 4: check.0.contians", "'contains'"),
        ("setup:\n  - runn: b", "line 3: setup.0.runn", "'run'"),
        ("setup:\n  - write: {path: a, txt: b}", "line 3: setup.0.write.txt", "'text'"),
        ("chekc: []", "line 2: chekc", "'check'"),
    ],
)
def test_a_wrong_key_is_named_with_the_keys_of_its_level(
    tmp_path: Path, text: str, place: str, keys: str
) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(f"instruction: x\n{text}\n")
    with pytest.raises(UsageError) as caught:
        load_task(file)
    assert f"{place}: " in str(caught.value)
    assert f"did you mean {keys}" in str(caught.value)


def test_a_setting_is_named_with_the_place_that_gave_it(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text("[run]\nseed = 1\n\n[state]\nrefine_every = 'often'\n")
    with pytest.raises(ConfigError, match=rf"{file}: state\.refine_every"):
        load(file, environ={})
    with pytest.raises(ConfigError, match=r"^HISA_STATE__REFINE_EVERY: state\."):
        load(file, environ={"HISA_STATE__REFINE_EVERY": "never"})
    with pytest.raises(ConfigError, match=r"^--set: state\."):
        load(file, ["state.refine_every=no"], environ={})


@pytest.mark.parametrize(("words", "near"), [(["rnu", "x"], "'run'"), (["tols"], "'tools'")])
def test_a_command_that_is_none_brings_the_nearest(
    capsys: pytest.CaptureFixture[str], words: list[str], near: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert near in capsys.readouterr().err


def test_commands_are_not_offered_where_a_machine_runs_none() -> None:
    tools = [Tool(bash_execution)]
    with_it = ToolRegistry(tools, capabilities=("execute",))
    assert with_it.find("bash_execution") is not None
    without = ToolRegistry(tools, capabilities=("elements",))
    assert without.find("bash_execution") is None


async def test_a_run_is_read_by_the_text_of_its_path(tmp_path: Path) -> None:
    model = ScriptedModel(['{"thought": "t", "tool": "termination", "input": "done"}'])
    result = await hisa.run(
        "Do nothing.",
        model=model,
        environment=FakeEnvironment(),
        settings=Settings(run={"folder": tmp_path}),
    )
    run = hisa.load_run(str(result.folder))
    assert run.folder == result.folder


def test_change_table_rows_name_existing_paths() -> None:
    text = (ROOT / "AGENTS.md").read_text("utf-8").split("## You want to change …")[1]
    rows = [line.split("|")[2:-1] for line in text.split("\n## ")[0].splitlines() if "`" in line]
    assert len(rows) > 9
    for file, setting, test, page in rows:
        for path in (file, test, page):
            assert (ROOT / path.strip(" `")).exists(), path
        value: object = Settings()
        names = setting.strip(" `").split(".")
        for name in names:
            assert hasattr(value, name), setting
            value = getattr(value, name)


def test_a_tool_of_ones_own_comes_with_its_first_line() -> None:
    async def weigh_parcel(name: str) -> str:
        """Weigh a parcel by its name."""
        return name

    tools = [Tool(weigh_parcel), *(_made_tool(number) for number in range(41))]
    text = offered_text(tools, room=400)
    assert "Weigh a parcel by its name" in text


def _made_tool(number: int) -> Tool:
    async def write_cell(cell: str) -> str:
        """Write a cell."""
        return cell

    write_cell.__module__, write_cell.__name__ = "hisa.made", f"made_{number}"
    return Tool(write_cell)

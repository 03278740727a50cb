"""A user's own prompt files: which are taken, what is refused, and where a run says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import hisa
from hisa.cli import cli
from hisa.cli.findings import prompts
from hisa.config import PromptSettings, Settings
from hisa.errors import ConfigError
from hisa.events import Event, Noted
from hisa.machine.agent_folders import fresh_folder
from hisa.protocols import ModelRequest, Task
from hisa.runs.log import RunLog
from hisa.runs.run_reader import load_run
from hisa.testing import FakeEnvironment, FunctionModel, tool_call
from hisa.text.prompts import Prompts, data_folder, own_prompts, render
from hisa.wiring.prompt_parts import open_prompts, write_prompts

SHIPPED = data_folder("prompts")


def write_prompt(folder: Path, name: str, text: str | bytes) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def edit_prompt(name: str, *changes: tuple[str, str]) -> str:
    text = (SHIPPED / name).read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def answer(request: ModelRequest) -> str:
    ending = tool_call("termination", "It is done.")
    return ending if request.role == "planner" else "Succeeded. It did."


async def run_with(own_folder: Path, folder: Path) -> tuple[FunctionModel, hisa.RunResult]:
    model = FunctionModel(answer)
    settings = Settings.model_validate(
        {
            "prompts": {"folder": own_folder},
            "run": {"folder": folder},
            "patterns": {"enabled": False},
        }
    )
    result = await hisa.run("Wait.", settings=settings, model=model, environment=FakeEnvironment())
    return model, result


async def test_a_sentence_of_ones_own_reaches_the_planner_and_the_other_files_are_ours(
    tmp_path: Path,
) -> None:
    text = edit_prompt("planner.md", ("How to work:", "How to work:\n- Never open the trash."))
    folder = write_prompt(tmp_path / "own", "planner.md", b"\xef\xbb\xbf" + text.encode())
    write_prompt(folder, ".planner.md.swp", "an editor's")
    model, result = await run_with(folder, tmp_path / "runs")
    system = model.requests[0].text
    assert "- Never open the trash." in system
    assert system.startswith("# Global planner")
    manifest = load_run(result.folder).manifest
    shipped = Prompts().hashes
    assert set(manifest.prompts) == set(shipped)
    assert [n for n, h in manifest.prompts.items() if h != shipped[n]] == ["planner.md"]
    assert manifest.settings["prompts"] == {"folder": str(folder)}
    assert render("judge", picture=True, must_pick=True), "after the run, the files that ship"


async def test_two_runs_at_once_have_each_their_own_prompts(tmp_path: Path) -> None:
    folders = [
        write_prompt(
            tmp_path / name, "planner.md", edit_prompt("planner.md", ("How to", f"{name}. How to"))
        )
        for name in ("quick", "slow")
    ]
    runs = (run_with(folder, tmp_path / "runs") for folder in folders)
    texts = [model.requests[0].text for model, _ in await asyncio.gather(*runs)]
    assert [("quick. How to" in text, "slow. How to" in text) for text in texts] == [
        (True, False),
        (False, True),
    ]


def test_a_run_that_goes_on_with_other_prompts_says_which(tmp_path: Path) -> None:
    strict, mild = ("# Judge", "# Judge\nBe strict."), ("# Judge", "# Judge\nBe mild.")
    folder = write_prompt(tmp_path / "own", "judge.md", edit_prompt("judge.md", strict))
    events: list[Event] = []
    with RunLog.create(tmp_path / "runs", Task("t", "Wait."), settings={}) as log:
        for _ in range(2):
            write_prompts(Prompts(folder).hashes, log, events.append)
        assert events == []
        write_prompt(folder, "judge.md", edit_prompt("judge.md", mild))
        write_prompts(Prompts(folder).hashes, log, events.append)
    (noted,) = events
    assert isinstance(noted, Noted)
    assert noted.text == "changed since the run began: judge.md"


WRONG: dict[str, tuple[str, str | bytes, str, str]] = {
    "unknown": ("planer.md", "Hello.", "no prompt is called 'planer.md'", "planner.md"),
    "empty": ("judge.md", " \n", "judge.md is empty", "judge.md"),
    "comment": ("judge.md", "{# later #}\n", "judge.md is empty", "judge.md"),
    "unknown value": (
        "judge.md",
        edit_prompt("judge.md", ("# Judge", "# Judge of {{ name }}")),
        "judge.md uses {{ name }}",
        "{{ must_pick }}",
    ),
    "no UTF-8": ("judge.md", b"# Gr\xfc\xdfe", "judge.md cannot be read as UTF-8", "judge.md"),
    "unclosed": (
        "judge.md",
        edit_prompt("judge.md", ("{% else %}", "{% else")),
        "judge.md, line ",
        "judge.md",
    ),
    "unknown filter": (
        "judge.md",
        "{{ picture | shout }}",
        "judge.md, line 1: No filter named 'shout'",
        "judge.md",
    ),
}


@pytest.mark.parametrize("case", WRONG)
async def test_a_file_that_cannot_be_used_ends_the_run_before_its_first_step(
    case: str, tmp_path: Path
) -> None:
    name, text, message, allowed = WRONG[case]
    place = write_prompt(tmp_path / "own", name, text)
    with pytest.raises(ConfigError) as caught:
        await run_with(place, tmp_path / "runs")
    assert message in str(caught.value)
    assert str(place) in str(caught.value)
    assert allowed in f"{caught.value} {caught.value.fix}"


def folder_in_it(folder: Path) -> Path:
    (folder / "judge.md").mkdir(parents=True)
    return folder


def written_by_an_agent(_: Path) -> Path:
    folder = fresh_folder()
    write_prompt(folder, "judge.md", edit_prompt("judge.md"))
    return folder


@pytest.mark.parametrize(
    ("make_folder", "message"),
    [
        (lambda folder: folder, "No such file"),
        (folder_in_it, "judge.md is not a file"),
        (written_by_an_agent, "an agent's commands may have written it"),
    ],
)
def test_a_folder_that_cannot_be_used_is_named(
    make_folder: Callable[[Path], Path],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = make_folder(tmp_path / "own")
    opened = open_prompts(PromptSettings(folder=folder))
    with pytest.raises(ConfigError, match=message) as caught:
        opened.__enter__()
    assert str(folder) in str(caught.value)


def test_a_prompt_runs_no_code(tmp_path: Path) -> None:
    text = edit_prompt("judge.md", ("# Judge", "# Judge {{ picture.__class__.__mro__ }}"))
    chosen = Prompts(write_prompt(tmp_path, "judge.md", text))
    with own_prompts(chosen), pytest.raises(ConfigError, match="unsafe"):
        render("judge", picture=True, must_pick=True)


def test_the_doctor_lists_the_files_that_differ(tmp_path: Path) -> None:
    write_prompt(tmp_path, "judge.md", edit_prompt("judge.md", ("# Judge", "# Judge\nBe strict.")))
    write_prompt(tmp_path, "best_run.md", edit_prompt("best_run.md"))
    settings = PromptSettings(folder=tmp_path)
    ships, same, differs = prompts(settings)
    assert str(SHIPPED) in ships.detail
    assert (same.name, differs.name) == ("best_run.md", "judge.md")
    assert "same as shipped" in same.detail
    assert "tokens more than the shipped one" in differs.detail
    write_prompt(tmp_path, "plan.md", "x")
    _, refused = prompts(settings)
    assert (refused.ok, refused.needed) == (False, True)
    assert "(did you mean 'planner.md'?)" in refused.detail


def test_the_settings_show_the_folder(tmp_path: Path) -> None:
    shown = CliRunner().invoke(cli, ["--set", f"prompts.folder={tmp_path}", "settings"]).output
    assert f'prompts.folder = "{tmp_path}"' in shown

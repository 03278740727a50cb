from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hisa.cli.runs import runs
from hisa.config import RunSettings, Settings
from hisa.errors import UsageError
from tests.runs.sample import TASK, build


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    build(root)
    return root


def call(root: Path, *args: str) -> Result:
    settings = Settings(run=RunSettings(folder=root))
    result = CliRunner().invoke(runs, list(args), obj=settings, env={"COLUMNS": "120"})
    if result.exception is not None:
        raise result.exception
    return result


def test_ls_prints_a_table_or_json(root: Path, tmp_path: Path) -> None:
    assert "succeeded" in call(root, "ls").output
    (row,) = json.loads(call(root, "ls", "--json").output)
    assert (row["status"], row["task"]["id"], row["score"]) == ("succeeded", TASK.id, 1.0)
    assert "no runs in" in call(tmp_path, "ls").output
    assert json.loads(call(tmp_path, "ls", "--json").output) == []


def test_ls_shows_newest_first_and_leaves_damaged_ones_out_loudly(tmp_path: Path) -> None:
    first, second = build(tmp_path), build(tmp_path, finish=False)
    for folder, name in ((first, "20200101-000000-aaaa"), (second, "20200101-000001-bbbb")):
        folder.rename(tmp_path / name)
    (tmp_path / "20200101-000002-cccc").mkdir()
    (tmp_path / "20200101-000002-cccc" / "run.json").write_text("{")
    lines = call(tmp_path, "ls").output.splitlines()
    assert lines[0].startswith("skipped: ")
    assert [line.split()[1] for line in lines[2:]] == ["unfinished", "succeeded"]


def test_show_in_its_four_forms(root: Path) -> None:
    assert TASK.instruction[:60] in call(root, "show").output
    assert len(json.loads(call(root, "show", "--json").output)["steps"]) == 11
    assert "tool: bash_execution" in call(root, "show", "latest", "--step", "4").output
    events = call(root, "show", "--events").output.splitlines()
    assert [json.loads(events[n])["type"] for n in (0, -1)] == ["run_started", "run_finished"]
    only = call(root, "show", "--events", "--step", "6").output.splitlines()
    assert {json.loads(line)["step"] for line in only} == {6}


def test_report_prints_the_path_of_the_page(root: Path, tmp_path: Path) -> None:
    path = Path(call(root, "report").output.strip())
    assert path.name == "report.html"
    assert path.parent.parent == root
    other = tmp_path / "page.html"
    assert Path(call(root, "report", "latest", "-o", str(other)).output.strip()) == other
    assert other.stat().st_size > 50_000


def test_a_wrong_id_is_an_operators_error(root: Path) -> None:
    with pytest.raises(UsageError, match="no run is called 'nope'"):
        call(root, "show", "nope")
    with pytest.raises(UsageError, match="is not a run id"):
        call(root, "report", "../../etc")


@pytest.mark.process
def test_importing_the_command_loads_nothing_heavy() -> None:
    script = "import sys, hisa.cli.runs; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert not {"pydantic", "jinja2", "rich", "PIL"} & set(result.stdout.split())

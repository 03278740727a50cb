"""The five scripts of `examples/python`: what each brings takes part, and where they are quoted."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from hisa.actions import Click
from hisa.agent import RunResult
from hisa.runs.run_reader import Run, load_run
from hisa.screen.geometry import Point

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted((ROOT / "examples" / "python").glob("*.py"))
PAGES = (ROOT / "examples" / "README.md", ROOT / "docs" / "adding.md")
CHANGES = re.findall(
    r"^## (.+?)\n.*?^```python\n(.*?)^```$",
    (ROOT / "docs" / "first_changes.md").read_text("utf-8"),
    re.M | re.S,
)
_MOST = 10
"""Lines of a script, imports apart."""


@pytest.fixture
def run_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], dict[str, object]]:
    """Runs a script in an empty folder, and returns its names."""
    monkeypatch.chdir(tmp_path)
    return lambda name: runpy.run_path(str(ROOT / "examples" / "python" / f"{name}.py"))


def the_run(folder: Path) -> Run:
    (run,) = (folder / "runs").iterdir()
    return load_run(run)


def test_an_own_tool_is_called_and_its_answer_is_read(
    run_script: Callable[[str], dict[str, object]], tmp_path: Path
) -> None:
    names = run_script("own_tool")
    assert isinstance(names["result"], RunResult)
    assert names["result"].status == "succeeded"
    (acted,) = (step.acted for step in the_run(tmp_path).steps[:1])
    assert acted is not None
    assert (acted.tool, acted.output) == ("lookup_price", "19.90")


def test_an_own_grounder_says_where_a_click_goes(
    run_script: Callable[[str], dict[str, object]], tmp_path: Path
) -> None:
    form = run_script("own_grounder")["form"]
    assert getattr(form, "acted") == [Click(Point(640, 360, "screen"))]  # noqa: B009
    assert the_run(tmp_path).status == "succeeded"


def test_own_environment_is_used_and_its_screen_changes(
    run_script: Callable[[str], dict[str, object]], tmp_path: Path
) -> None:
    run_script("own_environment")
    run = the_run(tmp_path)
    assert (run.status, run.manifest.environment) == ("succeeded", "slides")
    first, second = (step.before for step in run.steps)
    assert first is not None
    assert second is not None
    assert first.image != second.image


def test_own_model_serves_every_role(
    run_script: Callable[[str], dict[str, object]], tmp_path: Path
) -> None:
    form = run_script("own_model")["form"]
    assert getattr(form, "text") == "Ada"  # noqa: B009
    assert set(the_run(tmp_path).manifest.models.values()) == {"answer"}


def test_an_own_hook_refuses_and_the_planner_reads_why(
    run_script: Callable[[str], dict[str, object]], tmp_path: Path
) -> None:
    names = run_script("own_hook")
    assert getattr(names["form"], "acted") == []  # noqa: B009
    requests = getattr(names["plans"], "requests")  # noqa: B009
    assert "nothing is saved here: leave the form as it is" in requests[1].text
    assert the_run(tmp_path).status == "infeasible"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_has_at_most_ten_lines_without_its_imports(script: Path) -> None:
    tree = ast.parse(script.read_text("utf-8"))
    apart = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom | ast.Expr)]
    docs, *apart = apart  # what the script prints is a line of it
    apart = [docs, *(node for node in apart if not isinstance(node, ast.Expr))]
    left_out = {line for node in apart for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    lines = script.read_text("utf-8").splitlines()
    counted = [text for number, text in enumerate(lines, 1) if number not in left_out and text]
    assert len(counted) <= _MOST, counted


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_a_page_quotes_the_scripts_as_they_are(page: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
    scripts = {path.stem: path.read_text("utf-8") for path in SCRIPTS}
    assert len(scripts) == 5
    assert blocks[:5] == [
        scripts[f"own_{part}"] for part in ("tool", "grounder", "environment", "model", "hook")
    ]


@pytest.mark.parametrize(("title", "text"), CHANGES, ids=[title for title, _ in CHANGES])
def test_first_change_prints_the_output_in_its_comment(
    title: str,
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "change.py"
    script.write_text(text, "utf-8")
    runpy.run_path(str(script))
    expected = re.findall(r"^print\(.*\)  # (.+)$", text, re.M)
    assert expected, title
    assert capsys.readouterr().out.splitlines() == expected
    assert not re.search(r"\._[a-z]", text), "a private name"

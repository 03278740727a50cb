"""The self-test tells whether a grounder answers as its format reads."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from click.testing import CliRunner

from hisa.cli import cli
from hisa.grounder.formats import open_format
from hisa.plugins.reading.grounder_test import SelfTest, drawn_screen, run_self_test
from hisa.protocols import ModelRequest, TextPart
from hisa.screen.geometry import Size
from hisa.testing.model_server import FakeServer
from hisa.testing.scripted import FunctionModel

SIZE = Size(1920, 1080)
Written = Callable[[float, float], str]


def build_model(written: Written, size: Size = SIZE) -> FunctionModel:
    """A model that sees well, and writes places in its own way."""
    _, targets = drawn_screen(size)
    middles = {target.description: target.middle for target in targets}

    def answer(request: ModelRequest) -> str:
        text_part = request.messages[-1].parts[-1]
        assert isinstance(text_part, TextPart)
        (middle,) = (at for words, at in middles.items() if text_part.text.endswith(words))
        return written(middle.x + 3, middle.y - 2)

    return FunctionModel(answer)


async def run_test(written: Written, form: str = "gta1") -> SelfTest:
    return await run_self_test(build_model(written), open_format(form), SIZE)


def pair(x: float, y: float) -> str:
    return f"({x:.6g},{y:.6g})"


@pytest.mark.parametrize(
    ("form", "written"),
    [
        ("gta1", pair),
        ("thousand", lambda x, y: pair(1000 * x / 1920, 1000 * y / 1080)),
        ("unit", lambda x, y: pair(x / 1920, y / 1080)),
        ("ui-tars-1.5", lambda x, y: f"Thought: there.\nAction: click(start_box='{pair(x, y)}')"),
        ("opencua", lambda x, y: f"```python\npyautogui.click(x={x}, y={y})\n```"),
        ("holo", lambda x, y: f'{{"action": "click_absolute", "x": {x}, "y": {y}}}'),
    ],
)
async def test_a_grounder_that_answers_as_its_format_reads_is_fine(
    form: str, written: Written
) -> None:
    result = await run_test(written, form)
    assert result.ok
    assert (result.questions, result.refused, result.hits) == (8, 0, 8)
    assert result.error == pytest.approx(3.6, abs=0.5)
    assert result.describe(form) == f"8 of 8 buttons hit by the format {form!r}, median error 4 px"


async def test_another_convention_hits_nothing() -> None:
    result = await run_test(lambda x, y: pair(1000 * x / 1920, 1000 * y / 1080))
    assert (result.ok, result.hits, result.refused) == (False, 0, 0)
    result = await run_test(lambda x, y: f"click(start_box='{pair(x, y)}')")
    assert (result.ok, result.refused) == (False, 8)


def doctor(server: FakeServer) -> tuple[int, str]:
    ran = CliRunner().invoke(
        cli,
        [
            *("--set", "models.grounder.model=GTA1-7B"),
            *("--set", f"models.grounder.base_url={server.url}", "doctor", "--grounder"),
        ],
        env={"OPENAI_API_KEY": "x"},
        standalone_mode=False,
    )
    (line,) = (line for line in ran.output.splitlines() if "grounder's points" in line)
    after = ran.output.partition(line)[2].lstrip("\n").partition("\n")[0]
    return ran.return_value, line + after


@pytest.mark.process
def test_doctor_reports_grounder_accuracy_and_the_fix() -> None:
    _, targets = drawn_screen(Size(1280, 720))
    middles = [target.middle for target in targets]
    with FakeServer([pair(at.x, at.y) for at in middles]) as server:
        _, line = doctor(server)
    assert "ok  grounder's points" in line
    assert "8 of 8 buttons hit by the format 'gta1', median error 0 px" in line
    relative = [pair(1000 * at.x / 1280, 1000 * at.y / 720) for at in middles]
    with FakeServer(relative) as server:
        code, line = doctor(server)
    assert code == 3
    assert "NO  grounder's points" in line
    assert "try: another grounder.format" in line

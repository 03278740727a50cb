"""The self-test names the convention that a grounder answers in."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from click.testing import CliRunner

from hisa.cli import cli
from hisa.grounder.formats import open_format, smart_resize
from hisa.plugins.reading.grounder_test import SelfTest, drawn_screen, run_self_test
from hisa.protocols import ModelRequest, TextPart
from hisa.screen.geometry import Size
from hisa.testing.model_server import FakeServer
from hisa.testing.scripted import FunctionModel

SIZE = Size(1920, 1080)
SERVER = smart_resize(SIZE, min_pixels=3_136, max_pixels=1_003_520)
Written = Callable[[float, float], str]


def answering(written: Written, size: Size = SIZE) -> FunctionModel:
    """A model that sees well, and writes places in its own way."""
    _, targets = drawn_screen(size)
    middles = {target.description: target.middle for target in targets}

    def answer(request: ModelRequest) -> str:
        asked = request.messages[-1].parts[-1]
        assert isinstance(asked, TextPart)
        (middle,) = (at for words, at in middles.items() if asked.text.endswith(words))
        return written(middle.x + 3, middle.y - 2)

    return FunctionModel(answer)


async def tried(written: Written, form: str = "gta1") -> SelfTest:
    return await run_self_test(answering(written), open_format(form), SIZE)


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
    found = await tried(written, form)
    assert found.ok
    assert (found.asked, found.refused, found.hits, found.fits) == (8, 0, 8, "")
    assert found.error == pytest.approx(3.6, abs=0.5)
    assert found.words(form) == f"8 of 8 buttons hit by the format {form!r}, median error 4 px"


@pytest.mark.parametrize(
    ("written", "words", "form"),
    [
        (lambda x, y: pair(1000 * x / 1920, 1000 * y / 1080), "0 to 1000 of each side", "thousand"),
        (lambda x, y: pair(x / 1920, y / 1080), "0 to 1 of each side", "unit"),
        (lambda x, y: pair(100 * x / 1920, 100 * y / 1080), "0 to 100 of each side", ""),
        (lambda x, y: pair(y, x), "y before x, in pixels", ""),
        (
            lambda x, y: pair(SERVER.width * x / 1920, SERVER.height * y / 1080),
            "pixels of a picture that the server made smaller, 1316x728",
            "",
        ),
        (
            lambda x, y: f"click(start_box='{pair(1000 * x / 1920, 1000 * y / 1080)}')",
            "0 to 1000 of each side, written as one click(start_box='(x,y)')",
            "ui-tars",
        ),
        (
            lambda x, y: f'{{"x": {x}, "y": {y}}}',
            'pixels of the picture, written as one object with "x" and "y"',
            "holo",
        ),
        (
            lambda x, y: f"pyautogui.click(x={x / 1920}, y={y / 1080})",
            "0 to 1 of each side, written as one pyautogui.click",
            "opencua-relative",
        ),
    ],
)
async def test_another_convention_is_named_with_the_format_or_what_else_helps(
    written: Written, words: str, form: str
) -> None:
    found = await tried(written)
    assert not found.ok
    assert words in found.fits
    assert found.format == form
    assert bool(found.fix) == (not form)
    assert f"the answers fit {words}" in found.words("gta1")


async def test_the_wrong_format_for_a_family_is_named_too() -> None:
    found = await tried(pair, "thousand")
    assert (found.ok, found.format) == (False, "gta1")
    assert found.fits.startswith("pixels of the picture")


async def test_a_model_that_sees_badly_is_not_told_to_take_the_format_it_has() -> None:
    """Five buttons are hit, and three missed in the same convention."""
    found = await tried(lambda x, y: pair(x, y) if x < 1400 else pair(x, 1079 - y))
    assert (found.ok, found.hits) == (False, 5)
    assert (found.fits, found.format, found.fix) == ("", "", "")


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
def test_doctor_says_what_the_grounder_answers_and_what_to_set() -> None:
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
    assert "the answers fit 0 to 1000 of each side" in line
    assert "try: --set grounder.format=thousand" in line

"""Picture sizes and answers of vision-language grounders."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from hisa.errors import ConfigError, NotFound
from hisa.grounder.formats import FORMATS, GTA1Format, open_format, smart_resize
from hisa.models.profiles import find
from hisa.protocols import ImagePart, TextPart
from hisa.screen.geometry import Size
from hisa.screen.observation import Screenshot

NAMES = sorted({*FORMATS, "holo", "opencua", "opencua-relative", "ui-tars", "ui-tars-1.5"})
OWN_WORDS = ("pixels", "thousand", "unit")
"""Those that no family was trained with; ``test_trained_words.py`` has the others."""
QWEN_MAX, SMALL_MAX, GTA1_MAX, MIN = 12_845_056, 1_003_520, 8_847_360, 3_136


@pytest.mark.parametrize(
    ("size", "roomy", "tight"),
    [
        (Size(1280, 720), Size(1288, 728), Size(1288, 728)),
        (Size(1366, 768), Size(1372, 756), Size(1316, 728)),
        (Size(1920, 1080), Size(1932, 1092), Size(1316, 728)),
        (Size(2560, 1440), Size(2548, 1428), Size(1316, 728)),
        (Size(3840, 2160), Size(3836, 2156), Size(1316, 728)),
        (Size(1522, 1022), Size(1512, 1008), Size(1204, 812)),
    ],
)
def test_sizes_of_known_servers(size: Size, roomy: Size, tight: Size) -> None:
    assert smart_resize(size, min_pixels=MIN, max_pixels=QWEN_MAX) == roomy
    assert smart_resize(size, min_pixels=MIN, max_pixels=GTA1_MAX) == roomy
    assert smart_resize(size, min_pixels=MIN, max_pixels=SMALL_MAX) == tight


def test_gta1_prompt_names_the_size_that_is_sent() -> None:
    screenshot = Screenshot(Image.new("RGB", (1280, 720), "white"))
    shown, (system, user) = GTA1Format().prepare(screenshot, "the Save button")
    assert shown == Size(1280, 720)
    (text,) = system.parts
    assert isinstance(text, TextPart)
    assert "height 728 and width 1288" in text.text
    picture, question = user.parts
    assert question == TextPart("the Save button")
    assert isinstance(picture, ImagePart)
    sent = picture.image.pixels
    assert sent.size == (1288, 728)
    assert sent.crop((0, 0, 1280, 720)).tobytes() == screenshot.pixels.tobytes()
    assert sent.crop((1280, 0, 1288, 728)).getextrema() == ((0, 0),) * 3
    assert sent.crop((0, 720, 1288, 728)).getextrema() == ((0, 0),) * 3


def test_formats_open_by_name() -> None:
    for name in NAMES:
        assert open_format(name).name == name
    with pytest.raises(ConfigError, match="known are auto, gelato, gta1, holo, opencua"):
        open_format("nosuch")


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("HelloKKMe/GTA1-7B", "gta1"),
        ("ByteDance-Seed/UI-TARS-1.5-7B", "ui-tars-1.5"),
        ("bytedance/UI-TARS-7B-DPO", "ui-tars"),
        ("HelloKKMe/GTA1-32B", "opencua"),
        ("Salesforce/GTA1-7B-2507", "gta1"),
        ("xlangai/OpenCUA-7B", "opencua"),
        ("xlangai/OpenCUA-32B", "opencua"),
        ("xlangai/OpenCUA-A3B", "opencua-relative"),
        ("Hcompany/Holo1.5-7B", "holo"),
        ("mlfoundations/Gelato-30B-A3B", "gelato"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "gta1"),
        ("Qwen/Qwen3-VL-8B-Instruct", "thousand"),
        ("zai-org/GLM-4.5V", "thousand"),
        ("moonshotai/Kimi-VL-A3B-Instruct", "unit"),
        ("anything", "gta1"),
    ],
)
def test_the_format_follows_the_models_name(model: str, name: str) -> None:
    profile = find(model)
    assert open_format("auto", profile.coordinates, profile.grounding).name == name


FAMILIES = [
    ("gta1", "({x}, {y})"),
    ("pixels", "({x},{y})"),
    ("thousand", "({x},{y})"),
    ("unit", "({x},{y})"),
    ("gelato", "({x},{y})"),
    ("ui-tars", "({x},{y})"),
    ("opencua", "({x},{y})"),
    ("holo", '{{"action": "click_absolute", "x": {x}, "y": {y}}}'),
    ("ui-tars", "Thought: I see it at (1,2).\nAction: click(start_box='({x},{y})')"),
    ("ui-tars", "click(start_box='<|box_start|>({x},{y})<|box_end|>')"),
    ("ui-tars-1.5", "Action: left_double(start_box='<point>{x} {y}</point>')"),
    ("ui-tars-1.5", "Action: click(point='<point>{x} {y}</point>')"),
    ("opencua", "```python\npyautogui.click(x={x}, y={y})\n```"),
    ("opencua", "## Thought:\nIt is there.\n```python\npyautogui.click(x={x}, y={y})\n```"),
    ("opencua", "## Action:\nClick it.\n\n## Code:\n```code\npyautogui.click(x={x}, y={y})\n```"),
    ("opencua", "pyautogui.doubleClick({x}, {y})"),
    ("opencua-relative", "```python\npyautogui.click(x={x}, y={y})\n```"),
]  # fmt: skip
EDGES = {
    "thousand": 1000.0,
    "gelato": 1000.0,
    "ui-tars": 1000.0,
    "unit": 1.0,
    "opencua-relative": 1.0,
}


@given(
    st.sampled_from(FAMILIES),
    st.integers(200, 5000),
    st.integers(200, 5000),
    st.floats(0, 0.99),
    st.floats(0, 0.99),
)
def test_a_place_on_the_screen_comes_back_through_every_format(
    family: tuple[str, str], width: int, height: int, right: float, down: float
) -> None:
    """Within half a pixel of what the resizing and the digits of the answer allow."""
    name, written = family
    form = open_format(name)
    screen = Size(width, height)
    picture = Screenshot.from_rgb(screen, bytes(3 * width * height))
    shown, _ = form.prepare(picture, "x")
    x, y = right * width, down * height  # where it is on the screen
    edge = EDGES.get(name)
    in_x, in_y = (
        (x * shown.width / width, y * shown.height / height)
        if edge is None
        else (x / width * edge, y / height * edge)
    )
    point = form.parse(written.format(x=f"{in_x:.6f}", y=f"{in_y:.6f}"), shown)
    assert abs(point.x * width / shown.width - x) <= 0.5
    assert abs(point.y * height / shown.height - y) <= 0.5


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "(10,20) (30,40)",
        "click(start_box='(1,2)')\n\nclick(start_box='(3,4)')",
        "Action: drag(start_box='(1,2)', end_box='(3,4)')",
        "Action: type(content='(1,2)')",
        "Action: finished()",
        "click(start_box='__import__(\"os\")')",
        "pyautogui.click(x=1, y=2)\npyautogui.click(x=3, y=4)",
        "pyautogui.click(x=1, y=2, clicks=2)",
        "```python\nimport os\npyautogui.click(x=1, y=2)\n```",
        "computer.terminate(status='failure')",
        '{"action": "write", "x": 1, "y": 2}',
        '{"x": true, "y": 2}',
        '{"x": 1e400, "y": 2}',
        '{"x": NaN, "y": 2}',
        '{"x": -1, "y": 2}',
        '{"x": "1", "y": "2"}',
        '[{"x": 1, "y": 2}]',
        "[" * 100_000,
        "(99999,99999)",
    ],
)
def test_format_refuses_a_reply_without_a_single_point(name: str, text: str) -> None:
    with pytest.raises(NotFound):
        open_format(name).parse(text, Size(1288, 728))


@pytest.mark.parametrize("name", OWN_WORDS)
def test_prompt_requests_the_form_that_the_format_reads(name: str) -> None:
    form = open_format(name)
    shown, (system, _) = form.prepare(Screenshot(Image.new("RGB", (300, 200))), "the OK button")
    (text,) = system.parts
    assert isinstance(text, TextPart)
    form_text = text.text.partition("exactly in this form:\n")[2].partition("\n")[0]
    filled = form_text.replace("…", "0.5").replace("(x,y)", "(0.5,0.5)")
    assert form.parse(filled, shown).x > 0

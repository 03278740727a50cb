"""What leaves for a trained grounder is what its authors published, byte by byte."""

from __future__ import annotations

from typing import Any

import pytest
from PIL import Image

from hisa.config import Settings
from hisa.grounder.formats import open_format
from hisa.grounder.vision import VisionGrounder
from hisa.models.budget import Budget
from hisa.models.open_models import open_models
from hisa.models.spending import Ledger
from hisa.protocols import TextPart
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import Observation, Screenshot
from hisa.testing.model_server import FakeServer
from tests.grounder.scenes import call

PICTURE = "the picture"
GELATO_30B = "mlfoundations/Gelato-30B-A3B"
HOLO_7B = "Hcompany/Holo1.5-7B"
TARS_1_5 = "ByteDance-Seed/UI-TARS-1.5-7B"
TARS_1 = "bytedance-research/UI-TARS-7B-DPO"
OPENCUA_A3B = "xlangai/OpenCUA-A3B"
OPENCUA_7B = "xlangai/OpenCUA-7B"
GTA1_32B = "HelloKKMe/GTA1-32B"
GTA1_7B = "HelloKKMe/GTA1-7B"
GTA1 = (
    "You are an expert UI element locator. Given a GUI image and a user's element description, "
    "provide the coordinates of the specified element as a single (x,y) point. The image "
    "resolution is height 728 and width 1288. For elements with area, return the center point."
    "\n\nOutput the coordinate pair exactly:\n(x,y)"
)
GELATO = (
    "You are an expert UI element locator. Given a GUI image and a user's element description, "
    "provide the coordinates of the specified element as a single (x,y) point. For elements with "
    "area, return the center point.\n\nOutput the coordinate pair exactly:\n(x,y)"
)
OPENCUA = (
    "You are a GUI agent. You are given a task and a screenshot of the screen. You need to "
    "perform a series of pyautogui actions to complete the task."
)
UI_TARS = (
    "Output only the coordinate of one point in your response. What element matches the following "
    "task: the Save button"
)
UI_TARS_1_5 = (
    "You are a GUI agent. You are given a task and your action history, with screenshots. You need "
    "to perform the next action to complete the task. \n\n## Output Format\n\nAction: ...\n\n\n"
    "## Action Space\nclick(point='<point>x1 y1</point>'')\n\n## User Instruction\nthe Save button"
)
HOLO = (
    "Localize an element on the GUI image according to the provided target and output a click "
    "position.\n * You must output a valid JSON following the format: {'description': 'Click at "
    "absolute coordinates.', 'properties': {'action': {'const': 'click_absolute', 'default': "
    "'click_absolute', 'title': 'Action', 'type': 'string'}, 'x': {'description': 'The x "
    "coordinate, number of pixels from the left edge.', 'title': 'X', 'type': 'integer'}, 'y': "
    "{'description': 'The y coordinate, number of pixels from the top edge.', 'title': 'Y', "
    "'type': 'integer'}}, 'required': ['x', 'y'], 'title': 'ClickAbsoluteAction', 'type': 'object'}"
    "\n Your target is:\nthe Save button"
)
PUBLISHED = {
    GTA1_7B: [("system", GTA1), ("user", PICTURE, "the Save button")],
    "Salesforce/GTA1-7B-2507": [("system", GTA1), ("user", PICTURE, "the Save button")],
    GTA1_32B: [("system", OPENCUA), ("user", PICTURE, "the Save button")],
    OPENCUA_7B: [("system", OPENCUA), ("user", PICTURE, "the Save button")],
    OPENCUA_A3B: [("system", OPENCUA), ("user", PICTURE, "the Save button")],
    TARS_1: [("user", PICTURE, UI_TARS)],
    TARS_1_5: [("user", PICTURE, UI_TARS_1_5)],
    HOLO_7B: [("user", PICTURE, HOLO)],
    GELATO_30B: [("system", GELATO), ("user", PICTURE, "the Save button")],
}
REPLIES = [
    (GTA1_7B, "(640,360)", Point(640, 360)),
    (GTA1_32B, "```python\npyautogui.click(x=640, y=360)\n```", Point(640, 360)),
    (GTA1_32B, "(640, 360)", Point(640, 360)),
    (OPENCUA_7B, "pyautogui.click(x=640, y=360)", Point(640, 360)),
    (OPENCUA_A3B, "pyautogui.click(x=0.25, y=0.75)", Point(320, 540)),
    (TARS_1, "(235,512)", Point(300.8, 368.64)),
    (TARS_1, "<|box_start|>(235,512)<|box_end|>", Point(300.8, 368.64)),
    (TARS_1_5, "Action: click(point='<point>640 360</point>')", Point(640, 360)),
    (TARS_1_5, "Action: click(start_box='(640,360)')", Point(640, 360)),
    (HOLO_7B, '{"action": "click_absolute", "x": 640, "y": 360}', Point(640, 360)),
    (GELATO_30B, "(250, 750)", Point(320, 540)),
]


async def ground_with(model: str, reply: str, size: Size) -> tuple[Point, dict[str, Any]]:
    """Where the grounder of that model clicks, and the request that the server got."""
    screenshot = Screenshot(Image.new("RGB", (size.width, size.height), "white"))
    observation = Observation(screenshot, size)
    with FakeServer([reply]) as server:
        tree = {"models": {"grounder": {"model": model, "base_url": server.url, "max_retries": 0}}}
        settings = Settings.model_validate(tree)
        opened = open_models(
            settings.models, settings.planner, lambda _: None, Budget(), Ledger(), environ={}
        )
        async with opened as models:
            profile = models.profiles["grounder"]
            form = open_format("auto", profile.coordinates, profile.grounding)
            grounder = VisionGrounder(models["grounder"], form, emit=lambda _: None)
            (place,) = (await grounder.resolve(call("the Save button"), observation)).places
    (request,) = server.requests
    return place.point, request.body


def readable(message: dict[str, Any]) -> tuple[str, ...]:
    """The role and the texts of a message in order, each picture as one word."""
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts = (part["text"] if part["type"] == "text" else PICTURE for part in parts)
    return message["role"], *texts


@pytest.mark.parametrize("model", PUBLISHED)
async def test_the_request_holds_the_published_words_in_the_published_order(model: str) -> None:
    known = {name: reply for name, reply, _ in REPLIES}
    _, request = await ground_with(model, known.get(model, "(640,360)"), Size(1280, 720))
    assert [readable(message) for message in request["messages"]] == PUBLISHED[model]


@pytest.mark.parametrize(("model", "reply", "point"), REPLIES)
async def test_a_published_form_of_reply_becomes_the_right_pixel(
    model: str, reply: str, point: Point
) -> None:
    place, _ = await ground_with(model, reply, Size(1280, 720))
    assert (place.x, place.y) == pytest.approx((point.x, point.y))


def test_braces_in_a_description_stay_as_they_are() -> None:
    form = open_format("gta1")
    picture = Screenshot(Image.new("RGB", (1288, 728)))
    _, (_, user) = form.prepare(picture, "the {width} and {description} fields")
    assert user.parts[-1] == TextPart("the {width} and {description} fields")

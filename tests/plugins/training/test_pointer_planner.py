"""A trained policy in a run: its prompts, its replies, and what an accessibility tree becomes."""

from __future__ import annotations

from pathlib import Path

import pytest

from hisa.config import ModelSettings, Settings
from hisa.errors import ConfigError, InvalidReply, ModelUnavailable
from hisa.models.client_kinds import kind_name
from hisa.plugins.training.base import Item
from hisa.plugins.training.pointer_planner import POINTER, PointerForm, PointerModel, look_of
from hisa.protocols import Message, ModelRequest, StateView, Task, TextPart
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Element, Observation, Screenshot

_INSTRUCTION = 'Enter "Ada" and press "ok".'


def _element(role: str, box: tuple[int, int, int, int], name: str = "", **more: object) -> Element:
    left, top, right, bottom = box
    return Element(role, name, BoundingBox(left, top, right, bottom, "screen"), **more)  # type: ignore[arg-type]


def _page() -> Observation:
    """The tree of a page as Chromium tells it, on a screen twice as large as the picture."""
    editable = frozenset({"editable", "focused", "showing"})
    elements = (
        _element("document web", (0, 0, 1280, 720), "Page", parent=-1),
        _element("section", (0, 0, 320, 420), parent=0),
        _element("section", (0, 0, 320, 100), text=_INSTRUCTION, parent=1),
        _element("static", (6, 6, 300, 30), _INSTRUCTION, parent=2),
        _element("section", (0, 100, 320, 420), parent=1),
        _element("static", (4, 104, 80, 120), "words between", parent=4),
        _element("label", (4, 124, 118, 148), parent=4),
        _element("static", (4, 124, 118, 148), "User  name", parent=6),
        _element("entry", (0, 168, 160, 210), text="Ad", states=editable, parent=4),
        _element("check box", (0, 210, 16, 226), "yes", states=frozenset({"checked"}), parent=4),
        _element("section", (16, 210, 80, 226), text="link", parent=4),
        _element("static", (16, 210, 80, 226), "link", parent=10),
        _element("push button", (160, 315, 320, 420), "ok", parent=4),
        _element("push button", (0, 500, 40, 540), "below the area", parent=4),
    )
    picture = Screenshot.from_rgb(Size(640, 360), bytes(640 * 360 * 3))
    return Observation(picture, Size(1280, 720), elements=elements)


def _ask_form(form: PointerForm) -> str:
    text, schema = form.ask(Task("t", _INSTRUCTION), _page(), StateView())
    assert schema is None
    return text


def test_accessibility_tree_becomes_the_items_of_the_document() -> None:
    look, _ = look_of(_page(), _INSTRUCTION)
    assert [(item.role, item.name) for item in look.items] == [
        ("label", "User name"),
        ("entry", ""),
        ("check box", "yes"),
        ("static", "link"),
        ("push button", "ok"),
    ]
    assert look.items[1] == Item(
        "entry", "", (0, 0.4, 0.5, 0.1), value="Ad", focused=True, takes_text=True
    )
    assert look.items[2].checked
    assert look.items[4].box == (0.5, 0.75, 0.5, 0.25)


def test_acts_become_calls_at_the_middle_of_their_elements() -> None:
    form = PointerForm()
    _ask_form(form)
    click = form.read('{"act": "click", "item": 4, "word": -1}')
    assert (click.tool, click.input) == ("gui_action", "pyautogui.click(120, 184)")
    assert click.thought == 'click: push button "ok"'
    typed = form.read('{"act": "type", "item": 1, "word": 2}')
    assert str(typed.input).split("\n") == [
        "pyautogui.click(40, 94)",
        "pyautogui.press('end')",
        "pyautogui.write('Ada')",
    ]
    assert form.read('{"act": "done"}').tool == "termination"


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "click",
        '{"act": "click", "item": 9}',
        '{"act": "type", "item": 4, "word": 0}',
        '{"act": "drag", "item": 1}',
        '{"act": "click", "item": 1, "x": 3}',
        "[" * 5000,
    ],
)
def test_replies_that_are_no_act_are_refused(reply: str) -> None:
    form = PointerForm()
    _ask_form(form)
    with pytest.raises(InvalidReply):
        form.read(reply)


def test_the_model_chooses_its_planner_by_itself_and_is_shown_elements() -> None:
    settings = Settings()
    name = kind_name(settings.planner.kind, PointerModel.profile)
    assert name in ("pointer", "chat")  # chat: a package from before it is installed
    settled = POINTER.fit_settings(
        settings.planner, PointerModel.profile, lists=True, is_named=False
    )
    assert (settled.sees, POINTER.grounder) == ("elements", "elements")
    with pytest.raises(ConfigError):
        POINTER.fit_settings(settings.planner, PointerModel.profile, lists=False, is_named=False)


async def test_a_reply_has_the_acts_log_probability_and_the_policys_version(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs PyTorch: make test-train")
    from hisa.plugins.training.pointer_policy import PointerPolicy

    policy = PointerPolicy.fresh(0, width=16, layers=1)
    policy.version = 7
    policy.save(tmp_path / "p.safetensors")
    settings = ModelSettings(model=f"pointer:{tmp_path}/p.safetensors", temperature=1, seed=5)
    form = PointerForm()
    question = (
        Message("system", (TextPart(form.system),)),
        Message("user", (TextPart(_ask_form(form)),)),
    )
    reply = await PointerModel(settings).complete(ModelRequest("planner", question))
    policy.reseed(5)
    (choice,) = policy.choose([look_of(_page(), _INSTRUCTION)[0]])
    assert form.read(reply.text) is not None
    assert reply.policy == "7"
    assert reply.tokens is not None
    assert reply.tokens.logprobs == pytest.approx((choice.logprob,))
    with pytest.raises(ModelUnavailable):
        await PointerModel(settings).complete(ModelRequest("judge", question[:1]))
    with pytest.raises(ConfigError):
        PointerModel(settings.model_copy(update={"temperature": 0.7}))

"""A core without a matcher: marks, formats and vision; the rest is refused by name."""

from __future__ import annotations

import pytest

from hisa.config import GrounderSettings, ModelsSettings
from hisa.errors import ConfigError, NotFound
from hisa.grounder.marks import Marks
from hisa.grounder.plain_names import NamesGrounder
from hisa.grounder.vision import VisionGrounder
from hisa.machine import plugins
from hisa.models.profiles import find
from hisa.protocols import Grounder, Model, Role, Task
from hisa.screen.geometry import Point
from hisa.screen.observation import Window
from hisa.testing import ScriptedModel
from hisa.wiring import build_grounder

from .scenes import call, element, scene

SHOWN = frozenset({"showing", "enabled"})
FORM = scene(
    element("text", "Host", (120, 60, 200, 24), states=SHOWN, window="Form"),
    element("push button", "Apply", (40, 200, 80, 30), states=SHOWN, window="Form"),
    element("push button", "Cancel", (140, 200, 80, 30), states=SHOWN, window="Form"),
    element("push button", "Print", (400, 200, 80, 30), states=SHOWN, window="Behind"),
    windows=(Window("1", "Behind", "a"), Window("2", "Form", "a", active=True)),
)


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No package announces anything."""
    monkeypatch.setattr(plugins, "points", lambda _group: ())


def build(kind: str = "auto", model: str = "offline", own: bool = False) -> Grounder:
    chosen = ModelsSettings.model_validate(
        {"planner": {"model": model}, **({"grounder": {"model": model}} if own else {})}
    )
    settings = GrounderSettings.model_validate({"kind": kind, "format": "gta1"})
    answers = ScriptedModel(["2"])
    models: dict[Role, Model] = {"planner": answers, "grounder": answers}
    return build_grounder(settings, chosen, models, lambda event: event, seer=find(model))


async def test_grounder_without_matcher_resolves_plain_names_only() -> None:
    grounder = build("elements")
    assert isinstance(grounder, NamesGrounder)
    grounded = await grounder.resolve(call('the "Apply" button'), FORM)
    assert grounded.places[0].point == Point(80, 215)
    with pytest.raises(NotFound, match=r"right of Apply.*no package announces a matcher"):
        await grounder.resolve(call("the button right of Apply"), FORM)


def test_pointing_model_grounds_alone_and_a_cascade_is_refused() -> None:
    assert isinstance(build(model="gta1-7b", own=True), VisionGrounder)
    with pytest.raises(ConfigError, match=r"'cascade'.*announces a matcher"):
        build("cascade", "gta1-7b", own=True)


def test_marks_list_the_elements_of_the_window_in_front() -> None:
    marks = Marks()
    lines = marks.build_list(Task("t", "Apply it."), FORM).split("\n")
    assert [line for line in lines if "button" in line] == ['2 button "Apply"', '3 button "Cancel"']
    place = marks.find("element: 3")
    assert place is not None
    assert place.point == Point(180, 215)

"""The suite of every grounder, for OpenCUA and GTA1-32B: code, in pixels of the picture."""

from __future__ import annotations

import pytest

from hisa.events import Event
from hisa.grounder.formats import open_format
from hisa.grounder.vision import VisionGrounder
from hisa.models.profiles import find
from hisa.protocols import ModelRequest
from hisa.testing.scripted import FunctionModel
from tests.grounder.test_conformance import (  # noqa: F401
    Setup,
    seeing_model,
    test_a_call_without_slots_comes_back_as_it_is,
    test_a_description_becomes_a_place_in_image_space,
    test_an_empty_description_is_not_found,
    test_success_is_recorded,
    test_the_call_itself_stays_for_the_record,
    test_two_slots_become_two_places,
    test_what_is_not_there_is_not_found,
)


def coding_model(request: ModelRequest) -> str:
    point = seeing_model(request)
    return f"```python\npyautogui.click{point}\n```" if point.startswith("(") else point


@pytest.fixture
def setup() -> Setup:
    events: list[Event] = []
    form = open_format("auto", trained=find("HelloKKMe/GTA1-32B").grounding)
    return Setup(VisionGrounder(FunctionModel(coding_model), form, emit=events.append), events)

"""The vision-language grounder's conversation with its model."""

from __future__ import annotations

import pytest
from PIL import Image

from hisa.errors import ModelUnavailable, NotFound
from hisa.events import Event
from hisa.grounder.formats import (
    GTA1Format,
)
from hisa.grounder.vision import VisionGrounder
from hisa.screen.geometry import Point
from hisa.screen.observation import Observation, Screenshot
from hisa.testing.scripted import ScriptedModel

from .scenes import call, scene


def look() -> Observation:
    return scene(picture=Image.new("RGB", (1280, 720), "white"))


def grounder(*replies: str | Exception) -> tuple[VisionGrounder, ScriptedModel, list[Event]]:
    events: list[Event] = []
    model = ScriptedModel(replies, name="gta1-7b")
    return VisionGrounder(model, GTA1Format(), emit=events.append), model, events


async def test_the_answer_is_a_pixel_of_the_screenshot() -> None:
    vision, model, _ = grounder("(640,360)")
    grounded = await vision.resolve(call("the thing in the middle"), look())
    (place,) = grounded.places
    assert place.point == Point(640, 360, "image")
    assert place.source == "gta1-7b"
    (request,) = model.requests
    assert request.role == "grounder"
    assert request.images == 1
    assert (request.max_tokens, request.temperature) == (32, 0.0)


async def test_unreadable_answer_is_corrected_once() -> None:
    vision, model, events = grounder("It is at the top.", "(0,0)")
    grounded = await vision.resolve(call("the corner"), look())
    assert grounded.places[0].point == Point(0, 0, "image")
    first, second = model.requests
    assert second.messages[: len(first.messages)] == first.messages
    assert "It is at the top." in second.text
    assert "not one pair (x,y)" in second.text
    assert second.images == 1
    assert len(events) == 1


async def test_a_model_that_is_gone_is_not_a_place_that_is_missing() -> None:
    vision, _, events = grounder(ModelUnavailable("gone"))
    with pytest.raises(ModelUnavailable):
        await vision.resolve(call("the corner"), look())
    assert events == []


async def test_a_strip_cannot_be_looked_at() -> None:
    vision, model, _ = grounder("(1,1)")
    strip = Screenshot(Image.new("RGB", (2010, 10)))
    with pytest.raises(NotFound, match="2010x10"):
        await vision.resolve(call("the corner"), Observation(strip, strip.size))
    assert model.requests == []

"""Every request is written down before it leaves."""

from __future__ import annotations

from PIL import Image

from hisa.events import Event, ModelAsked
from hisa.models.role_model import CallContext
from hisa.protocols import ImagePart, Message, ModelRequest, TextPart
from hisa.screen.observation import Screenshot
from hisa.testing.scripted import FunctionModel
from tests.models.support import role_model

RULES = "You operate a computer. " * 20


async def test_requests_are_logged_first_and_repeated_turns_only_once() -> None:
    events: list[Event] = []

    def answer(_: ModelRequest) -> str:
        assert events, "the request left before it was written down"
        return "ok"

    picture = Screenshot(Image.new("RGB", (4, 4), "red"))
    model = role_model(FunctionModel(answer, name="m"), CallContext(events.append))
    for number in (1, 2):
        await model.complete(
            ModelRequest(
                "planner",
                (
                    Message("system", (TextPart(RULES),)),
                    Message("user", (TextPart(f"step {number}"), ImagePart(picture))),
                ),
                step=number,
            )
        )
    first, second = [event for event in events if isinstance(event, ModelAsked)]
    system, user = first.body["messages"]
    assert system["content"].keys() == {"$text"}
    assert list(first.texts.values()) == [RULES]
    assert second.body["messages"][0] == system
    assert second.texts == {}
    text, image = user["content"]
    assert text == {"type": "text", "text": "step 1"}
    assert image["image_url"]["url"] == {"$image": picture.sha256}
    assert (first.role, first.model, first.api) == ("planner", "m", "")
    assert first.turn != second.turn

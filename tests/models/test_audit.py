"""Every request is written down before it leaves."""

from __future__ import annotations

from PIL import Image

from hisa.events import Event, ModelAsked
from hisa.models.role_model import CallContext
from hisa.protocols import ImagePart, Message, ModelRequest, TextPart
from hisa.screen.observation import Screenshot
from hisa.testing.scripted import FunctionModel
from tests.models.support import role_model


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
                    Message("system", (TextPart("rules"),)),
                    Message("user", (TextPart(f"step {number}"), ImagePart(picture))),
                ),
                step=number,
            )
        )
    first, second = [event for event in events if isinstance(event, ModelAsked)]
    assert [said.text for said in first.messages] == ["rules", "step 1"]
    assert [said.text for said in second.messages] == [None, "step 2"]
    assert second.messages[0].sha256 == first.messages[0].sha256
    assert first.messages[1].images == (picture.sha256,)
    assert (first.role, first.model) == ("planner", "m")

"""The WebSocket by which the one person with the lease acts on a run's machine."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hisa.plugins.live.server.run_client import RunLine

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

__all__ = ["serve_input"]

_TAKE_SECONDS, _SECONDS, _SEND_SECONDS, _FRAME_PAUSE = 150.0, 60.0, 10.0, 0.2


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid")
    take: Annotated[str, Field(min_length=1, max_length=60)] | None = None
    acts: Annotated[list[dict[str, Any]], Field(max_length=50)] = []
    give: bool = False


async def serve_input(socket: WebSocket, run_id: str) -> None:
    """Serves one viewer."""
    await socket.accept()
    viewer = _Viewer(socket, run_id)
    try:
        with suppress(KeyError, OSError, RuntimeError):  # no text, or a viewer that left
            async for text in socket.iter_text():
                await socket.send_json(await viewer.answer(text))
    finally:
        viewer.give_back()


class _Viewer:
    """The lease of one viewer, which never leaves the server."""

    def __init__(self, socket: WebSocket, run_id: str) -> None:
        self._socket, self._line, self._frames = socket, RunLine(run_id), RunLine(run_id)
        self._lease: Any = None
        self._looking: asyncio.Future[None] = asyncio.Future()

    async def answer(self, text: str) -> dict[str, Any]:
        try:
            message = _Message.model_validate_json(text)
        except ValidationError as error:
            return {"error": f"not a message: {error.errors()[0]['msg']}"}
        if message.take is not None:
            take = {"do": "take", "viewer": message.take}
            answer = (await self._line.ask(take, _TAKE_SECONDS))[0]
            if answer.get("ok"):
                self._lease, answer["lease"] = answer.get("lease"), True
                self._looking.cancel()
                self._looking = asyncio.create_task(self._look_on())
            return answer
        if self._lease is None:
            return {"error": "you do not hold the machine"}
        wish = {"do": "give"} if message.give else {"do": "input", "acts": message.acts}
        answer = (await self._line.ask({"lease": self._lease} | wish, _SECONDS))[0]
        if message.give or self._line.streams is None:
            self.give_back()
        return answer

    async def _look_on(self) -> None:
        """Sends a picture whenever the screen changed; a viewer that is gone loses the machine."""
        wish = {"do": "frame", "since": ""}
        with suppress(Exception):  # the viewer is gone, however a library says so
            while True:
                answer, picture = await self._frames.ask(wish)
                if picture:
                    wish["since"] = str(answer.get("hash", ""))
                    await asyncio.wait_for(self._socket.send_bytes(picture), _SEND_SECONDS)
                await asyncio.sleep(_FRAME_PAUSE)
        self._line.close()

    def give_back(self) -> None:
        self._lease = None
        self._looking.cancel()
        self._line.close()
        self._frames.close()

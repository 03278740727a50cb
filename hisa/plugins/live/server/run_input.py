"""The WebSocket by which one person acts on a run's machine; everybody else's input is dropped."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hisa.plugins.live.server.run_client import RunLine

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

__all__ = ["serve_input"]

_TAKE_SECONDS, _GIVE_SECONDS, _SEND_SECONDS = 150.0, 60.0, 10.0
"""To take: an act that has begun is awaited. To give: the machine is looked at once more."""
_FRAME_PAUSE = 0.2


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid")
    take: Annotated[str, Field(min_length=1, max_length=60)] | None = None
    acts: Annotated[list[dict[str, Any]], Field(max_length=50)] = []
    give: bool = False


async def serve_input(socket: WebSocket, run_id: str, dropped: Counter[str]) -> None:
    """Serves one viewer; the machine is given back when it goes.

    Args:
        socket: of the viewer, whose token is checked.
        run_id: of the run.
        dropped: counts, by run, the acts of viewers who do not hold the machine.
    """
    await socket.accept()
    viewer = _Viewer(socket, run_id, dropped)
    try:
        with suppress(
            KeyError, OSError, RuntimeError
        ):  # bytes in place of text; a viewer that left
            async for text in socket.iter_text():
                await socket.send_json(await viewer.answer(text))
    finally:
        viewer.give_back()


class _Viewer:
    """The lease of one viewer, which never leaves the server."""

    def __init__(self, socket: WebSocket, run_id: str, dropped: Counter[str]) -> None:
        self._socket, self._run_id, self._dropped = socket, run_id, dropped
        self._line, self._frames = RunLine(run_id), RunLine(run_id)
        self._lease: Any = None
        self._looking: asyncio.Task[None] | None = None

    async def answer(self, text: str) -> dict[str, Any]:
        try:
            message = _Message.model_validate_json(text)
        except ValidationError as error:
            return {"error": f"no message: {error.errors()[0]['msg']}"}
        if message.take is not None:
            answer = await self._ask(_TAKE_SECONDS, do="take", viewer=message.take)
            if answer.get("ok") and self._lease is None:
                self._lease = answer["lease"]
                self._looking = asyncio.create_task(self._look_on())
            return answer | ({"lease": True} if answer.get("ok") else {})
        if self._lease is None:
            self._dropped[self._run_id] += len(message.acts)
            return {"error": "you do not hold the machine"}
        if message.give:
            answer = await self._ask(_GIVE_SECONDS, do="give", lease=self._lease)
            self.give_back()
            return {"line": answer.get("line", "")} if answer.get("ok") else answer
        answer = await self._ask(_GIVE_SECONDS, do="input", lease=self._lease, acts=message.acts)
        if not self._line.connected:
            self.give_back()
        return answer

    async def _ask(self, seconds: float, **request: Any) -> dict[str, Any]:
        return (await self._line.ask(request, seconds))[0]

    async def _look_on(self) -> None:
        """Sends a picture whenever the screen changed; who does not take it loses the machine."""
        shown = ""
        while True:
            answer, picture = await self._frames.ask({"do": "frame", "width": 0, "since": shown})
            if picture:
                shown = str(answer.get("hash", ""))
                try:
                    await asyncio.wait_for(self._socket.send_bytes(picture), _SEND_SECONDS)
                except Exception:  # noqa: BLE001 - the viewer is gone, however a library says so
                    self._line.close()
                    return
            await asyncio.sleep(_FRAME_PAUSE)

    def give_back(self) -> None:
        self._lease = None
        if self._looking is not None:
            self._looking.cancel()
        self._line.close()
        self._frames.close()

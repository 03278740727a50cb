"""Requests and recorders that the tests of the models share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from PIL import Image

from hisa.config import ModelSettings
from hisa.events import Event, ModelCalled, ModelFailed
from hisa.models.budget import Budget
from hisa.models.client import OpenAIModel
from hisa.models.endpoint import Endpoint
from hisa.models.profiles import Profile, find
from hisa.models.role_model import CallContext, RoleModel
from hisa.models.spending import Ledger
from hisa.protocols import ImagePart, Message, Model, ModelRequest, Role, TextPart
from hisa.screen.observation import Screenshot

SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {"tool": {"type": "string"}}}


def picture(shade: int = 0) -> Screenshot:
    """A small grey picture."""
    return Screenshot(Image.new("RGB", (64, 36), (shade, shade, shade)))


def ask(
    text: str = "press a key",
    *,
    role: Role = "planner",
    step: int = 3,
    image: Screenshot | None = None,
    **more: Any,
) -> ModelRequest:
    """A request with a system prompt, one user text and at most one picture."""
    system = Message("system", (TextPart("# Global planner\nYou act."),))
    images = () if image is None else (ImagePart(image),)
    return ModelRequest(
        role, (system, Message("user", (TextPart(text), *images))), step=step, **more
    )


class Events:
    """An `Emit` that keeps what it gets."""

    def __init__(self) -> None:
        self.all: list[Event] = []

    def __call__(self, event: Event, /) -> None:
        self.all.append(event)

    @property
    def calls(self) -> list[ModelCalled]:
        return [event for event in self.all if isinstance(event, ModelCalled)]

    @property
    def failures(self) -> list[ModelFailed]:
        return [event for event in self.all if isinstance(event, ModelFailed)]


class Waits:
    """A sleep that takes no time and keeps what it was asked for."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float, /) -> None:
        self.seconds.append(seconds)


class Clock:
    """A clock that is set by hand."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def client(
    url: str, *, model: str = "anything", timeout: float = 20.0, profile: Profile | None = None
) -> OpenAIModel:
    """One try a call against a server."""
    settings = ModelSettings(model=model, timeout=timeout)
    return OpenAIModel(settings, Endpoint(url, "secret-key-1"), profile=profile or find(model))


def retrying(inner: Model, emit: Events, waits: Waits, *, max_retries: int = 5) -> RoleModel:
    """Retries whose jitter is always the longest."""
    context = CallContext(emit, sleep=waits, uniform=lambda _, high: high)
    return role_model(inner, context, max_retries=max_retries)


def role_model(inner: Model, context: CallContext, **settings: Any) -> RoleModel:
    """A client in its run, with the profile that its name has."""
    return RoleModel(inner, context, profile=find(inner.name), settings=ModelSettings(**settings))


def spent(**fields: Any) -> ModelCalled:
    """A `ModelCalled` with small numbers."""
    known = {"role": "planner", "model": "m", "tokens_in": 10, "tokens_out": 5, "usd": 0.01}
    return ModelCalled.model_validate(known | fields)


def unlimited_budget() -> tuple[Budget, Ledger]:
    """No limits, nothing spent."""
    return Budget(), Ledger()

"""Which step a request belongs to: the run's log counts them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hisa.protocols import Model, ModelReply, ModelRequest

__all__ = ["ModelAtStep"]


class ModelAtStep:
    """A model whose requests name the step they belong to (header X-Step).

    Args:
        inner: any model.
        step: returns the number of the present step.
    """

    def __init__(self, inner: Model, step: Callable[[], int]) -> None:
        self.name, self._inner = inner.name, inner
        self._step = step

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """The inner model's reply."""
        return await self._inner.complete(replace(request, step=self._step()))

"""The getter that asks a page of MiniWoB++ what it gave."""

from __future__ import annotations

from typing import Any

from hisa.tasks.context import Context
from hisa.tasks.getters.base import getter
from hisa.tasks.miniwob.episode import outcome
from hisa.tasks.setup.base import Parameters

__all__: list[str] = []


class _Nothing(Parameters):
    pass


@getter("miniwob_reward", _Nothing)
async def miniwob_reward(context: Context, wanted: _Nothing) -> dict[str, Any]:
    """The page's reward and why, once the screen has come to rest."""
    await context.environment.observe(settle=1.0)
    reward, reason = await outcome(context.environment)
    return {"reward": reward, "reason": reason}

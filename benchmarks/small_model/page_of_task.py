"""One page of MiniWoB++ in BrowserGym, for agents that BrowserGym's own actions are written for.

Runs in whatever Python has BrowserGym, and imports nothing of HiSA's; ``MINIWOB_URL`` says where
the pages are.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

__all__ = ["Page"]


class Page:
    """A page: what is seen, what is done to it, what came of it.

    Args:
        name: of the page, such as "click-test".
        seed: of what it draws.
        actions: BrowserGym's set of actions that the agent speaks.
    """

    def __init__(self, name: str, seed: int, actions: Any) -> None:
        gymnasium = importlib.import_module("gymnasium")
        importlib.import_module("browsergym.miniwob")
        self._gym = gymnasium.make(
            f"browsergym/miniwob.{name}",
            headless=True,
            action_mapping=actions.to_python_code,
            disable_env_checker=True,
            pw_chromium_kwargs={"chromium_sandbox": False} if os.geteuid() == 0 else {},
        )
        self.seen: dict[str, Any] = self._gym.reset(seed=seed)[0]
        self.reward, self.over = 0.0, False

    @property
    def goal(self) -> str:
        """The task in the page's words."""
        return str(self.seen["goal"]).strip()

    def text(self) -> str:
        """The accessibility tree, one element a line, with BrowserGym's ids."""
        flatten = importlib.import_module("browsergym.utils.obs").flatten_axtree_to_str
        return str(
            flatten(
                self.seen["axtree_object"],
                extra_properties=self.seen["extra_element_properties"],
                filter_visible_only=True,
            )
        )

    def act(self, call: str) -> tuple[str, bool]:
        """Do one call of BrowserGym; returns what came of it, and whether that is a failure."""
        before = self.text(), self.seen.get("focused_element_bid")
        self.seen, reward, self.over, _, _ = self._gym.step(call)
        self.reward = max(self.reward, float(reward))
        if error := str(self.seen.get("last_action_error") or ""):
            return f"error: {error[:500]}", True
        if self.over:
            return f"the episode ended with reward {float(reward):g}", False
        same = before == (self.text(), self.seen.get("focused_element_bid"))
        return ("nothing changed" if same else "the page changed"), same

    def close(self) -> None:
        """End the browser."""
        self._gym.close()

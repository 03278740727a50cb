"""An environment of your own: recorded screenshots, of which each act shows the next one."""

from collections.abc import Sequence

from PIL import Image

import hisa
from hisa.actions import Action
from hisa.protocols import Environment
from hisa.screen.geometry import Size
from hisa.screen.observation import Observation, Screenshot
from hisa.testing import ScriptedModel, tool_call


class Slides(Environment):
    name, capabilities = "slides", frozenset({"throw_away"})
    pictures = tuple(Image.new("RGB", (640, 400), colour) for colour in ("red", "blue"))

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        return Observation(Screenshot(self.pictures[0]), Size(*self.pictures[0].size))

    async def act(self, actions: Sequence[Action], /) -> None:
        self.pictures = self.pictures[1:] or self.pictures


click = tool_call("gui_action", "pyautogui.click(320, 200)")
plans = ScriptedModel([click, tool_call("termination", "It is blue.")])
print(hisa.run_sync("Click.", model=plans, environment=Slides(), state="raw", memory="off").status)

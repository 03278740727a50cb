"""A grounder of your own: it finds the place of what the planner describes."""

import hisa
from hisa.grounder.common import resolve
from hisa.protocols import GroundedCall, Place, ToolCall
from hisa.screen.geometry import Point
from hisa.screen.observation import Observation
from hisa.testing import FakeEnvironment, ScriptedModel, tool_call


class Middle:
    async def resolve(self, call: ToolCall, observation: Observation) -> GroundedCall:
        return await resolve(call, observation, locate=self.find)

    async def find(self, description: str, observation: Observation) -> Place:
        image = observation.image
        return Place(description, Point(image.width / 2, image.height / 2, "image"))


click = tool_call("gui_action", "pyautogui.click(X_COORD, Y_COORD)", "the middle of the screen")
plans, form = ScriptedModel([click, tool_call("termination", "It is clicked.")]), FakeEnvironment()
agent = hisa.Agent(plans, grounder=Middle(), environment=form, state="raw", memory="off")
print(agent.run_sync("Click the middle.").status, form.acted)

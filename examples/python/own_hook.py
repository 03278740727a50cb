"""A hook of your own: it refuses an action, and the planner reads why."""

import hisa
from hisa.errors import ActionRefused
from hisa.hooks import Hook, Step, StepAction
from hisa.testing import FakeEnvironment, ScriptedModel, tool_call


class NoSaving(Hook):
    async def before_action(self, step: Step, action: StepAction) -> None:
        if any(place.element and place.element.name == "Save" for place in action.call.places):
            raise ActionRefused("nothing is saved here: leave the form as it is")


click = tool_call("gui_action", "pyautogui.click(X_COORD, Y_COORD)", "Save")
plans, form = ScriptedModel([click, tool_call("infeasible", "I must not.")]), FakeEnvironment()
agent = hisa.Agent(plans, hooks=[NoSaving()], environment=form, state="raw", memory="off")
print(agent.run_sync("Save the form.").status, form.acted)

"""A model of your own: an async function from a request to text, which may ask any service."""

import hisa
from hisa.protocols import ModelRequest
from hisa.testing import FakeEnvironment, tool_call

TYPE_ADA = "pyautogui.click(X_COORD, Y_COORD); pyautogui.write('Ada')"


async def answer(request: ModelRequest) -> str:
    if request.role != "planner":
        return "Succeeded. The name was typed."
    if "The name was typed." in request.text:
        return tool_call("termination", "The name is there.")
    return tool_call("gui_action", TYPE_ADA, "Name")


form = FakeEnvironment()
agent = hisa.Agent(answer, environment=form, memory="off")
print(agent.run_sync('Enter "Ada" as the name.').status, form.text)

"""First steps in Python: run an agent, listen to it, and look into its run.

A script, and a notebook to editors that know ``# %%``. It needs no key and no display: the model
follows a script, and the computer is a form in memory.
"""

# %% What is needed
import hisa
from hisa.events import Event
from hisa.testing import FakeEnvironment, FunctionModel, ScriptedModel, tool_call

# %% What the model will say: three plans, as a planner would write them
CLICK = "pyautogui.click(X_COORD, Y_COORD)"
plans = ScriptedModel(
    [
        tool_call("gui_action", f"{CLICK}; pyautogui.write('Ada')", "Name"),
        tool_call("gui_action", CLICK, "Save"),
        tool_call("termination", "The name is entered and the form is saved."),
    ]
)
words = FunctionModel(lambda request: "Succeeded. The form changed.")

# %% Run it; the listener gets every event as it is written
form = FakeEnvironment()
settings = hisa.Settings.model_validate({"patterns": {"enabled": False}})


def listen(event: Event) -> None:
    """Print what the grounder found and what the agent noted."""
    if event.type == "grounded":
        print("   found", *(f"{place.description!r}" for place in event.places))
    elif event.type == "abstracted":
        print("  ", event.line)


result = hisa.run_sync(
    'Enter "Ada" as the name and save the form.',
    settings=settings,
    model={"planner": plans, "state": words},
    environment=form,
    on_event=listen,
)
print(result.status, "after", result.steps, "steps in", result.folder)
print("the form says:", form.text)

# %% Load the run from its folder: what was seen, planned and done
run = hisa.load_run(result.folder)
for step in run.steps:
    tool = step.planned.tool if step.planned else "no plan"
    print(f"step {step.number}: {tool}, {step.verdict}, {step.seconds:.2f} s")

# %% The picture that the planner saw before the second step
before = run.steps[1].before
picture = run.image(before.image) if before else None
print("picture:", picture)

"""A kind of planner for models that write no JSON: each answer is one line."""

from hisa.actions import parse
from hisa.errors import ActionRefused, InvalidReply
from hisa.planner.planner import GlobalPlanner
from hisa.protocols import StateView, Task, ToolCall
from hisa.screen.observation import Observation
from hisa.text.prompt_text import guard_tags, printable
from hisa.wiring.planner_kind import PlannerKind, PlannerParts


class OneLine:
    """Asks with the task, the picture and what was done; reads "click THE OK BUTTON" and so on."""

    system = "You operate a computer. Answer in one line: click WHAT, type TEXT, or done WHY."

    def ask(self, task: Task, observation: Observation, view: StateView) -> tuple[str, None]:
        """Returns the text beside the picture; no schema."""
        return "\n".join([guard_tags(task.instruction), *view.lines]), None

    def read(self, reply: str) -> ToolCall:
        """Returns the call of a line."""
        word, _, rest = printable(reply).strip().partition(" ")
        match word.lower():
            case "done":
                return ToolCall("", "termination", rest or "done")
            case "click":
                source = "pyautogui.click(X_COORD, Y_COORD)"
            case "type":
                source = f"pyautogui.write({rest!r})"
            case _:
                raise InvalidReply(f"{word[:20]!r}: the line begins with click, type or done")
        try:
            actions = parse(source)
        except ActionRefused as error:
            raise InvalidReply(str(error)) from None
        description = rest if word.lower() == "click" else ""
        return ToolCall("", "gui_action", source, description, actions=actions)

    def correction(self, error: str) -> str:
        """Returns what is said to a line that cannot be used."""
        return f"{error}. Answer in one line again."


class LinePlanner(PlannerKind):
    """HiSA's planner in another form; everything else stays."""

    def open(self, parts: PlannerParts) -> GlobalPlanner:
        """Returns the planner of a run."""
        return self.chat(parts, OneLine())


LINE = LinePlanner()

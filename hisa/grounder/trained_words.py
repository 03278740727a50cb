"""The prompts that grounding models were trained with, and their sources.

They are wire format: a model answers best to exactly these words, so that improving one is a
mistake. Every family that is published for grounding has the picture before the text. Models that
were not trained to point get HiSA's own prompt, ``prompts/element_locator.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

from hisa.protocols import ImagePart, Message, TextPart
from hisa.screen.observation import Screenshot

__all__ = ["GELATO", "GTA1_7B", "HOLO_1_5", "OPENCUA", "UI_TARS", "UI_TARS_1_5", "Wording"]


@dataclass(frozen=True)
class Wording:
    """The prompt that asks a model for a place.

    ``system`` is the system message, with ``{height}`` and ``{width}`` for the size of the picture
    as it is sent; empty: there is none. ``user`` follows the picture, with ``{description}`` for
    the target.
    """

    system: str = ""
    user: str = "{description}"

    def messages(self, sent: Screenshot, description: str) -> tuple[Message, ...]:
        """Returns the messages that ask for the place of a description on the picture."""
        system = self.system.replace("{height}", str(sent.size.height))
        system = system.replace("{width}", str(sent.size.width))
        text = self.user.replace("{description}", description)
        user = Message("user", (ImagePart(sent), TextPart(text)))
        return (Message("system", (TextPart(system),)), user) if system else (user,)


_LOCATOR = (
    "You are an expert UI element locator. Given a GUI image and a user's element description, "
    "provide the coordinates of the specified element as a single (x,y) point. {size}"
    "For elements with area, return the center point.\n\nOutput the coordinate pair exactly:\n(x,y)"
)
GTA1_7B = Wording(
    _LOCATOR.replace("{size}", "The image resolution is height {height} and width {width}. ")
)
"""GTA1, table 9, which is HiSA's A.3; the order is that of the README in Yan98/GTA1, which resizes
the picture first and then names its size."""
GELATO = Wording(_LOCATOR.replace("{size}", ""))
"""libs/python/agent/agent/loops/gelato.py in trycua/cua at dffcf17, after mlfoundations/Gelato."""
OPENCUA = Wording(
    "You are a GUI agent. You are given a task and a screenshot of the screen. You need to perform "
    "a series of pyautogui actions to complete the task."
)
"""model/inference/vllm_inference.py in xlang-ai/OpenCUA (read in the copy
ErythrinaVariegata/OpenCUA at 3f238d2), and GTA1's table 10 for GTA1-32B, based on OpenCUA."""
UI_TARS = Wording(
    user="Output only the coordinate of one point in your response. "
    "What element matches the following task: {description}"
)
"""UI-TARS 1.0: README.md in bytedance/UI-TARS, "single step grounding task", of January 2025 (read
in a copy; today's README no longer has it)."""
UI_TARS_1_5 = Wording(
    user="You are a GUI agent. You are given a task and your action history, with screenshots. You "
    "need to perform the next action to complete the task. \n\n## Output Format\n\nAction: ...\n\n"
    "\n## Action Space\nclick(point='<point>x1 y1</point>'')\n\n## User Instruction\n{description}"
)
"""UI-TARS 1.5: ``GROUNDING_DOUBAO`` of codes/ui_tars/prompt.py in bytedance/UI-TARS, which its
README at 09a8b4b names for grounding (read in copies); the doubled quote is in the original."""
HOLO_1_5 = Wording(
    user="Localize an element on the GUI image according to the provided target and output a click "
    "position.\n * You must output a valid JSON following the format: {'description': 'Click at "
    "absolute coordinates.', 'properties': {'action': {'const': 'click_absolute', 'default': "
    "'click_absolute', 'title': 'Action', 'type': 'string'}, 'x': {'description': 'The x "
    "coordinate, number of pixels from the left edge.', 'title': 'X', 'type': 'integer'}, 'y': "
    "{'description': 'The y coordinate, number of pixels from the top edge.', 'title': 'Y', "
    "'type': 'integer'}}, 'required': ['x', 'y'], 'title': 'ClickAbsoluteAction', 'type': "
    "'object'}\n Your target is:\n{description}"
)
"""Holo1.5: ``get_chat_messages`` of its model card (read in copies), the schema as pydantic writes
it."""

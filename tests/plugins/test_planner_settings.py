"""A new setting of the planner reaches every kind of planner by its prompt's file alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import pytest

from hisa.config import ModelSettings, PlannerSettings
from hisa.errors import InvalidReply
from hisa.models.profiles import find
from hisa.plugins.computer_use.computer_kind import COMPUTER
from hisa.plugins.small.short_planner import SHORT
from hisa.protocols import StateView, Task
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import FunctionModel
from hisa.text.prompts import Prompts, own_prompts
from hisa.tools.registry import ToolRegistry
from hisa.wiring.planner_kind import PlannerKind, PlannerParts


class MoreSettings(PlannerSettings):
    """The planner's section with one setting more."""

    tone: str = ""


class PromptsWithTone(Prompts):
    """The files that ship, of which two name it."""

    @cached_property
    def shipped(self) -> Mapping[str, str]:
        named = {"planner.md", "planner_short.md"}
        files = super().shipped
        return {name: text + "\n{{ tone }}" * (name in named) for name, text in files.items()}


async def _nobody(question: str) -> None:
    raise AssertionError(question)


@pytest.mark.parametrize("kind", [PlannerKind(), SHORT, COMPUTER])
async def test_a_new_setting_is_a_field_and_a_name_in_the_prompt(kind: PlannerKind) -> None:
    model = FunctionModel(lambda request: "no call at all")
    parts = PlannerParts(
        MoreSettings(tone="Speak as a pirate does."),
        ModelSettings(model="m"),
        model,
        find("gpt-4o"),
        ToolRegistry(),
        lambda event: None,
        marks=kind.marks() if kind is SHORT else None,
        programs=None,
        confirm=_nobody,
    )
    with own_prompts(PromptsWithTone()):
        planner = kind.open(parts)
        async with FakeEnvironment() as machine:
            observation = await machine.observe(elements=True)
            with pytest.raises(InvalidReply):
                await planner.plan(Task("t", "Press Save."), observation, StateView())
    assert all("Speak as a pirate does." in request.text for request in model.requests)
    assert model.requests

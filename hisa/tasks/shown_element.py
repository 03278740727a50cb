"""The check ``element`` of HiSA's task files: an element that shows at the end, or does not."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from hisa.environments.absence import absence_doubt, is_hidden, with_hidden
from hisa.protocols import Environment
from hisa.screen.observation import Element
from hisa.screen.roles import FIELDS
from hisa.screen.sight import is_seen
from hisa.tasks.task_format import NotScored

__all__ = ["ONE_ALONE", "Names", "ShownElement", "why_not_shown"]

ONE_ALONE = BeforeValidator(lambda v: (v,) if isinstance(v, str | Mapping) else v)
"""Accepts one value in place of a list of one."""
NOT_SHOWING = "not showing"
Names = Annotated[tuple[str, ...], ONE_ALONE]


class ShownElement(BaseModel):
    """Keys that must all hold of one showing element, or with ``absent`` of no element."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    role: str = ""
    name: str = ""
    state: Names = ()
    lacks: Names = Field((), alias="not")
    value: str | None = None
    absent: bool = False

    def misses(self, element: Element) -> list[str]:
        """Returns the differences between an element and the expected one, in words."""
        states, text = element.states, element.text.strip()
        name = element.name or element.label or ("" if element.role in FIELDS else text[:80])
        misses = [] if not states or states & {"showing", "visible"} else [NOT_SHOWING]
        misses += ["another role"] if self.role not in ("", element.role) else []
        misses += ["another name"] if self.name not in ("", name) else []
        misses += [f"not {state}" for state in self.state if state not in states]
        misses += [state for state in self.lacks if state in states]
        other = self.value is not None and self.value.strip() != text
        return [*misses, f"its value is {text[:100]!r}"] if other else misses


async def why_not_shown(environment: Environment, expected: ShownElement) -> str:
    """Returns why the check does not hold; empty if it does.

    Raises:
        NotScored: the machine reports no elements, whatever is seen on its picture; or only some,
            and none of them matches; or the element must be absent, but may be hidden.
        EnvironmentFailed: the machine does not answer.
    """
    label = f'{expected.role or "element"} "{expected.name}"'
    if "elements" not in environment.capabilities:
        raise NotScored(f"check of the {label}: {environment.name} does not report elements")
    for _ in range(3):  # until a look is complete, or has the element
        observation = await environment.observe(elements=True, settle=1.0)
        if is_seen(observation):  # a role or a letter may have been misread
            raise NotScored(f"check of the {label}: {environment.name} does not report elements")
        misses = [(expected.misses(element), element) for element in observation.elements or ()]
        if not all(reasons for reasons, _ in misses):
            return f"the {label} is showing" if expected.absent else ""
        if expected.absent and observation.complete:
            observation = await with_hidden(environment, observation)
            if is_hidden(
                observation, lambda element: not {*expected.misses(element)} - {NOT_SHOWING}
            ):
                return f"the {label} exists, although it does not show"
        if observation.complete:
            break
    else:
        raise NotScored(f"check of the {label}: {environment.name} reported only some elements")
    if expected.absent:
        doubt = absence_doubt(observation, expected.role)
        if observation.everywhere is None and not doubt:
            doubt = f"{environment.name} does not report elements that are scrolled away or covered"
        if doubt:
            raise NotScored(f"check of the {label}: cannot tell whether it is absent: {doubt}")
        return ""

    def order(miss: tuple[list[str], Element]) -> tuple[int, float]:
        return len(miss[0]), -SequenceMatcher(None, expected.name[:80], miss[1].name[:80]).ratio()

    near = sorted(misses, key=order)[:3]
    closest = "; ".join(
        f'{element.role} "{element.name[:80]}": {", ".join(reasons)}' for reasons, element in near
    )
    return f"no such {label} is showing; closest: {closest or 'none'}"

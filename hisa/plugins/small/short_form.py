"""The short form of the planner's prompt, for small models: only what matters for this step.

It is separate from the long form, with no sentence in common: a small model follows a table and an
example, while a capable one follows rules. Both are made from the same state of the run. The
actions of a reply are in one table, `hisa.plugins.small.short_reply.ACTIONS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hisa.config import PlannerSettings
from hisa.errors import InvalidReply
from hisa.models.tokens import estimate_tokens, prefix_within
from hisa.planner.call_schema import Functions, Schema
from hisa.plugins.small.brief_marks import BriefMarks
from hisa.plugins.small.past_steps import (
    Mark,
    PastStep,
    build_mark_lines,
    changed_nothing,
    list_to_do,
    read_past_steps,
)
from hisa.plugins.small.short_reply import ACTIONS, action_lines, build_short_schema, parse_short
from hisa.protocols import StateView, Task, ToolCall
from hisa.screen.observation import Observation
from hisa.text.prompt_text import clean, ends, excerpt, guard_tags, mark_untrusted, sections
from hisa.text.prompts import render
from hisa.text.words import tokens

__all__ = ["SHORT_TOKENS", "ShortForm"]

SHORT_TOKENS = 374
"""Most tokens of a user message, unless its other parts leave less than `_LEAST_LIST` for the list;
700 with the system prompt that ships."""
_LEAST_LIST = 80
_STEPS, _ADVICE, _REFINED, _TOOLS = 3, 60, 50, 90
"""Steps that are shown, and most tokens of other parts, so that there is room for the list."""
_OUTPUT = 200
"""Most characters of the newest step's output."""
_SHARED = 2
"""Least words that a relevant rule has in common with task and screen; one may be chance."""
_WINDOWS = 3


class ShortForm:
    """Asks in the short form, and reads the reply.

    Args:
        marks: the numbered list, whose numbers replies use as targets.
        functions: the tools that fit a step, a few at most.
        settings: of the planner; the prompt's file may use each of them.
        constrain: whether the server constrains replies to a schema of the possible actions.
    """

    def __init__(
        self, marks: BriefMarks, functions: Functions, settings: PlannerSettings, *, constrain: bool
    ) -> None:
        self._listing, self._functions, self._constrain = marks, functions, constrain
        self._marks: tuple[Mark, ...] = ()
        self._changed_nothing = False
        self.system = render("planner_short", actions="\n".join(action_lines()), **dict(settings))

    def ask(
        self, task: Task, observation: Observation, view: StateView
    ) -> tuple[str, Schema | None]:
        """Returns the text of the user message, and the schema of the reply or None.

        Parts that stay the same come first, then those that grow at the end, then those that are
        new at each step. The list gets what the other parts leave of `SHORT_TOKENS`.

        Args:
            task: the task.
            observation: the newest look.
            view: of the run so far.
        """
        functions = self._functions(task, observation)
        past_steps = read_past_steps(
            [*view.lines[:-1], *view.steps[-1:]]
        )  # of the newest step, the line that still has all its parts
        self._changed_nothing = changed_nothing(past_steps)
        parts = {
            "task": guard_tags(task.instruction),
            "tools": _tool_lines(functions),
            "refined_context": _older(view),
            "steps": "\n".join(step.line for step in past_steps[-_STEPS:]),
            mark_untrusted("last_output"): clean(ends(view.output, _OUTPUT)),
            "notice": view.notice,
        }
        room = SHORT_TOKENS
        excess = estimate_tokens(sections(parts))
        while excess > 0 and room > _LEAST_LIST:  # the list is the longest part, so it is cut
            room = max(_LEAST_LIST, room - excess)
            text = self._build_text(
                task, observation, view, parts=parts, past_steps=past_steps, room=room
            )
            excess = estimate_tokens(text) - SHORT_TOKENS
        schema = None
        if self._constrain:
            schema = build_short_schema(self._marks, functions, ends=not self._changed_nothing)
        return text, schema

    def _build_text(
        self,
        task: Task,
        observation: Observation,
        view: StateView,
        *,
        parts: Mapping[str, str],
        past_steps: Sequence[PastStep],
        room: int,
    ) -> str:
        """Returns the user message, with a list of ``room`` tokens after the other parts."""
        self._marks, left_out = self._listing.build_brief(task, observation, room)
        rest = [f"({left_out} more are not listed.)"] if left_out else []
        listed = [*_windows(observation), *build_mark_lines(self._marks, past_steps), *rest]
        missing = list_to_do(task.instruction, self._marks, past_steps)
        known_text = f"{task.instruction}\n" + "\n".join(mark.name for mark in self._marks)
        return sections(
            {
                **parts,
                "advice": _pick_advice(view.advice, known_text),
                mark_untrusted("elements"): "\n".join(listed),
                "to_do": guard_tags("\n".join(_build_to_do(missing, past_steps))),
            }
        )

    def read(self, reply: str) -> ToolCall:
        """Returns the call for a reply.

        Raises:
            InvalidReply: the message says what is wrong and what is allowed.
        """
        call = parse_short(reply, self._marks)
        if call.tool == "termination" and self._changed_nothing:
            raise InvalidReply(
                "no step has changed anything yet, so that nothing is done: act in another way, or "
                "answer impossible with the reason"
            )
        return call

    def correction(self, error: str) -> str:
        """Returns the message about a reply that cannot be used."""
        return render("planner_short_correction", error=error, actions=", ".join(ACTIONS))


def _windows(observation: Observation) -> Iterator[str]:
    """Yields a line with the titles of the windows if there are several, the active one first."""
    if len(observation.windows) < 2:
        return
    ranked = sorted(observation.windows, key=lambda window: not window.active)[:_WINDOWS]
    yield "windows: " + "; ".join(f'"{excerpt(window.title, 40)}"' for window in ranked)


def _tool_lines(functions: Sequence[Schema]) -> str:
    """Returns the tools of a step with their arguments, as many as fit into `_TOOLS` tokens."""
    lines: list[str] = []
    for function in functions:
        fields = ", ".join(function["parameters"].get("properties", {}))
        about = str(function["description"]).strip().partition("\n")[0]
        line = excerpt(f"{function['name']}({fields}): {about}", 120)
        if estimate_tokens("\n".join([*lines, line])) <= _TOOLS:
            lines.append(guard_tags(line))
    head = 'action: its name, "input": an object of its arguments'
    return "\n".join([head, *lines]) if lines else ""


def _pick_advice(advice: str, known_text: str) -> str:
    """Returns the rules and lessons that share words with the task or the list."""
    words = frozenset().union(*map(tokens, known_text.splitlines()))
    lines = [line for line in advice.splitlines() if len(tokens(line) & words) >= _SHARED]
    while lines and estimate_tokens("\n".join(lines)) > _ADVICE:
        lines.pop()
    return "\n".join(lines)


def _older(view: StateView) -> str:
    """Returns the beginning of the summary, if there are steps that no line shows."""
    return prefix_within(view.refined, _REFINED) if len(view.lines) > _STEPS else ""


def _build_to_do(missing: Sequence[str], past_steps: Sequence[PastStep]) -> Iterator[str]:
    yield from (f"- {words}" for words in missing)
    if changed_nothing(past_steps):
        yield "No step has changed anything yet: act in another way, or answer impossible."
    elif past_steps and not missing:
        yield "Nothing more is known to be missing. Answer done if the task is fulfilled."

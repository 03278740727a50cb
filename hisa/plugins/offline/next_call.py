"""The planner's job: the next call of a task that is written as steps."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hisa.plugins.offline.decisions import Advice, GiveUp, Move, Situation, most_tries, read_advice
from hisa.plugins.offline.instruction_records import Instruction, phrase_instruction
from hisa.plugins.offline.instructions import MAX_INSTRUCTIONS, Script, read_script
from hisa.plugins.offline.moves import next_move
from hisa.plugins.offline.screen_words import read_screen
from hisa.plugins.offline.script_progress import (
    ScriptPosition,
    mark,
    parts_of,
    read_history,
    read_position,
)
from hisa.text.counts import all_of
from hisa.text.prompt_text import short

__all__ = ["NAME", "plan", "read_sections"]

NAME = "offline rule follower, not a language model"
SECTIONS = (
    "task",
    "advice",
    "refined_context",
    "execution_history",
    "last_output",
    "notice",
    "elements",
)
_EXAMPLE = 'Open the text editor. Type "Hello". Save the file as "hello.txt".'


def plan(user: str, rejected: Sequence[str] = ()) -> str:
    """Returns the reply to a planner request: one JSON object.

    Args:
        user: the user message, in tagged sections.
        rejected: an earlier reply of this planner that was refused, and the reason.
    """
    sections = read_sections(user, SECTIONS)
    script = read_script(sections.get("task", ""))
    reply = _unusable(script) or _next(script, sections)
    text = json.dumps(reply, ensure_ascii=False)
    if rejected and rejected[0].strip() == text:
        reason = f"its own call was refused: {short(rejected[-1], 300)}"
        return json.dumps(_infeasible(reason), ensure_ascii=False)
    return text


def _unusable(script: Script) -> dict[str, str] | None:
    """Returns the call that ends a task that cannot be followed at all; None if it can be."""
    if len(script.instructions) > MAX_INSTRUCTIONS:
        return _infeasible(f"the task has more than {MAX_INSTRUCTIONS} steps")
    if script.unread:
        items = "; ".join(f"“{short(item, 80)}”" for item in script.unread[:3])
        return _infeasible(
            f"it does not understand these steps: {items}. It knows open, click, select, type, "
            "press, scroll, wait, save, run, close and go to. Texts to type and names belong in "
            "quotation marks; what asks for nothing is to be left out. "
            f"A task that it can follow: {_EXAMPLE}"
        )
    if not script.instructions:
        return _infeasible(
            "it found no step in this task. It cannot plan by itself: it needs the task written "
            f"as steps in plain English, such as: {_EXAMPLE}"
        )
    return None


def _next(script: Script, sections: Mapping[str, str]) -> dict[str, str]:
    steps = script.instructions
    refined, history = sections.get("refined_context", ""), sections.get("execution_history", "")
    position = read_position(refined, history, steps)
    wrong = position.wrong
    screen = read_screen(sections.get("elements", ""))
    advice = read_advice(sections.get("advice", ""))
    looping = bool(sections.get("notice", "").strip())
    skipped: list[str] = []
    while position.completed < len(steps):
        instruction = steps[position.completed]
        if position.failures >= most_tries(instruction):
            return _give_up(instruction, position, len(steps))
        following = steps[position.completed + 1] if position.completed + 1 < len(steps) else None
        now = Situation(position, screen, advice, following, looping)
        match next_move(instruction, now):
            case Move() as move:
                without = next_move(instruction, replace(now, advice=Advice()))
                cited = advice.find_line_for(instruction) if move != without else ""
                notes = [*skipped[-1:], *(["loop noticed: another way"] if looping else [])]
                return _call(move, instruction, position, len(steps), notes=notes, cited=cited)
            case GiveUp(reason):
                return _infeasible(
                    f"instruction {position.completed + 1} of {len(steps)}: {reason}"
                )
            case None:
                if not position.parts:
                    skipped.append(f"instruction {position.completed + 1} was already met")
                position = ScriptPosition(position.completed + 1)
    return _end_badly(steps[-1], wrong, history) if wrong else _finish(script)


def _call(
    move: Move,
    instruction: Instruction,
    position: ScriptPosition,
    of: int,
    *,
    notes: Sequence[str],
    cited: str,
) -> dict[str, str]:
    if move.part is not None and move.part != position.parts + 1:
        position = ScriptPosition(position.completed, move.part - 1)
    head = mark(position, of, parts_of(instruction), look=move.look)
    detail = move.says if move.look or parts_of(instruction) > 1 else ""
    thought = f"{head}: {short(phrase_instruction(instruction), 140)}"
    thought += f" - {short(detail, 100)}" if detail else ""
    thought += "".join(f" ({note})" for note in notes)
    thought += f" (advice: {short(cited, 120)})" if cited else ""
    call = {"thought": thought, "tool": move.tool, "input": move.input}
    return {**call, "description": move.description} if move.description else call


def _give_up(instruction: Instruction, position: ScriptPosition, of: int) -> dict[str, str]:
    where = f"instruction {position.completed + 1} of {of} ("
    where += f"{short(phrase_instruction(instruction), 120)})"
    last_try = f" The last try: {short(position.reason, 200)}" if position.reason else ""
    tries = most_tries(instruction)
    why = f"it failed {tries} times" if tries > 1 else "it failed"
    return _infeasible(f"{where}: {why}.{last_try}")


def _end_badly(instruction: Instruction, wrong: str, history: str) -> dict[str, str]:
    """Gives up after an unexpected last act; the message that it brought may say why."""
    results = [step.result for step in read_history(history) if step.verdict == wrong]
    detail = f": {short(results[-1], 200)}" if results else f", its last act was {wrong}"
    words = short(phrase_instruction(instruction), 120)
    return _infeasible(f"the last instruction ({words}) was not seen to be done{detail}")


def _finish(script: Script) -> dict[str, str]:
    count = len(script.instructions)
    phrases = "; ".join(phrase_instruction(instruction) for instruction in script.instructions[:12])
    carried_out = all_of(count, "instruction", "was carried out", "were carried out")
    summary = f"{carried_out[0].upper()}{carried_out[1:]} by the {NAME}: {phrases}"
    summary += " and more." if count > 12 else "."
    if script.ignored:
        left = "; ".join(f"“{short(text, 60)}”" for text in script.ignored[:3])
        summary += f" What it took for remarks was left out: {left}."
    over = all_of(count, "instruction", "is done", "are done")
    thought = f"{over[0].upper()}{over[1:]}, end ({NAME})."
    return {"thought": thought, "tool": "termination", "input": summary}


def _infeasible(reason: str) -> dict[str, str]:
    text = f"The {NAME}, gives up: {reason}"
    return {"thought": f"Nothing more can be done ({NAME}).", "tool": "infeasible", "input": text}


def read_sections(text: str, names: Sequence[str]) -> dict[str, str]:
    """Returns the bodies of the tagged sections of a message, by name.

    Each tag is alone on its line; an opening tag may have a mark: ``<last_output untrusted>``.
    Sections are searched in the order of ``names``, each after the end of the one before. A section
    goes from its first opening line to its last closing line, so a line in it that only looks like
    a tag stays text.

    Args:
        text: the message.
        names: names of the tags, in the order of the message.
    """
    lines = text.split("\n")
    marks: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        if line.startswith("<"):
            tag = line.rstrip().replace(" untrusted>", ">")
            marks.setdefault(tag, []).append(number)
    bodies: dict[str, str] = {}
    start = 0
    for name in names:
        opening = next((n for n in marks.get(f"<{name}>", ()) if n >= start), None)
        closing = max(marks.get(f"</{name}>", ()), default=-1)
        if opening is None or closing <= opening:
            continue
        bodies[name] = "\n".join(lines[opening + 1 : closing])
        start = closing + 1
    return bodies

"""Replies are checked without acting; whatever a model writes, only `InvalidReply` comes out."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from hisa.actions import Click, Slot, Write
from hisa.errors import InvalidReply
from hisa.planner.reply import parse_reply

GOOD = {"thought": "t", "tool": "bash_execution", "input": "ls"}


def reply(**changes: object) -> str:
    return json.dumps({**GOOD, **changes})


def test_a_plain_object_is_a_call() -> None:
    call = parse_reply(reply())
    assert (call.thought, call.tool, call.input) == ("t", "bash_execution", "ls")


@pytest.mark.parametrize(
    "text",
    [
        f"Sure, here it is:\n```json\n{reply()}\n```\nDone.",
        f"I first thought {{of this}} but then: {reply()}",
        f'{{"note": "no tool here"}} {reply()}',
        "\ufeff" + reply(),
    ],
)
def test_prose_around_the_object_is_tolerated(text: str) -> None:
    assert parse_reply(text).input == "ls"


def test_gui_source_is_parsed_and_keeps_its_slots() -> None:
    source = "pyautogui.click(X_COORD, Y_COORD); pyautogui.write('ü')"
    call = parse_reply(reply(tool="gui_action", input=source, description="the field"))
    assert call.actions == (Click(Slot(1)), Write("ü"))


UNION = "'input': Input should be a valid string; 'input': Input should be a valid dictionary"
BRACE = "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
MARKS = "control character or a mark that turns the reading order; leave it out"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the reply is empty"),
        ("  \n", "the reply is empty"),
        ("I would click the button.", "no JSON object in it"),
        ("{oh}", f"not valid JSON: {BRACE}"),
        ('{"thought": "t", "tool": "wait", "input": NaN}', "not valid JSON: NaN is not JSON"),
        ("{" * 100_000, f"not valid JSON: {BRACE.replace('2 (char 1)', '65 (char 64)')}"),
        ('{"a":' * 30_000, "JSON nested too deeply"),
        ("x" * 300_000, "the reply is 300000 characters; at most 200000"),
        (
            reply(extra=1),
            "unknown key 'extra'; allowed: thought, note, tool, input, description, description_2",
        ),
        ('{"tool": "wait"}', "key 'thought' is missing; key 'input' is missing"),
        (reply(thought=3), "'thought': Input should be a valid string"),
        (reply(tool=""), "'tool': String should have at least 1 character"),
        (
            reply(description_2="x" * 2001),
            "'description_2': String should have at most 2000 characters",
        ),
        (reply(input=["a"]), UNION),
        (reply(input="a\0"), f"'input' holds the character U+0000: half of a character, a {MARKS}"),
        (
            reply(input={"rows": [{"x\ud800": 1}]}),
            f"'input' holds the character U+D800: half of a character, a {MARKS}",
        ),
        (
            reply(**{"k" * 50 + "\x1b": 1}),
            f"'{'k' * 40}' holds the character U+001B: half of a character, a {MARKS}",
        ),
        (
            reply(tool="gui_action", input={"x": 1}),
            "'input' of gui_action must be a string of PyAutoGUI source",
        ),
        (
            reply(tool="gui_action", input="pyautogui.click(X_COORD, Y_COORD)"),
            "X_COORD, Y_COORD need a 'description' of the element",
        ),
        (
            reply(
                tool="gui_action", input="pyautogui.dragTo(X_COORD_2, Y_COORD_2)", description="a"
            ),
            "X_COORD_2, Y_COORD_2 need a 'description_2' of the element",
        ),
    ],
)
def test_invalid_reply_error_names_the_fault_and_the_allowed_values(text: str, reason: str) -> None:
    with pytest.raises(InvalidReply) as caught:
        parse_reply(text)
    assert str(caught.value) == reason


def test_the_object_with_a_tool_counts() -> None:
    assert parse_reply(f'{{"a": 1}} {{"b": {{"tool": 1}}}} {reply()}').input == "ls"
    with pytest.raises(InvalidReply, match="unknown key 'a'"):
        parse_reply('{"a": 1} {"b": 2}')


def test_the_hostile_corpus_is_refused_inside_a_reply() -> None:
    corpus = Path(__file__).parent.parent / "corpus" / "hostile_actions.txt"
    lines = [json.loads(line) for line in corpus.read_text("utf-8").splitlines() if line]
    assert len(lines) >= 60
    for source in lines:
        with pytest.raises(InvalidReply):
            parse_reply(reply(tool="gui_action", input=source, description="d", description_2="d"))


def test_broken_replies_never_crash() -> None:
    generator = random.Random(7)
    good = reply(tool="gui_action", input="pyautogui.write('a')")
    for _ in range(20_000):
        cut = list(good)
        for _ in range(generator.randint(1, 6)):
            place = generator.randrange(len(cut))
            cut[place] = generator.choice(['"', "{", "}", "\\", "\x00", "\ud800", "9e999", "[", ""])
        try:
            call = parse_reply("".join(cut))
        except InvalidReply:
            continue
        assert isinstance(call.tool, str)


def test_element_number_is_accepted_under_its_own_key() -> None:
    click = "pyautogui.click(X_COORD, Y_COORD)"
    drag = "pyautogui.moveTo(X_COORD, Y_COORD); pyautogui.dragTo(X_COORD_2, Y_COORD_2)"
    fields = {"thought": "t", "tool": "gui_action"}
    for number in (50, "50"):
        text = json.dumps({**fields, "input": click, "element": number})
        assert parse_reply(text, numbered=True).description == "element: 50"
    text = json.dumps({**fields, "input": drag, "element": 1, "element_2": 2})
    call = parse_reply(text, numbered=True)
    assert (call.description, call.description_2) == ("element: 1", "element: 2")
    calls = [{"tool": "gui_action", "input": click, "element": number} for number in (3, 4)]
    call = parse_reply(json.dumps({"thought": "t", "actions": calls}), most=2, numbered=True)
    assert [part.description for part in call.sequence] == ["element: 3", "element: 4"]


@pytest.mark.parametrize("number", [50, "fifty", True, [50], -1, 1.5, None])
def test_without_a_list_or_a_number_such_a_key_is_refused(number: object) -> None:
    call = {"thought": "t", "tool": "wait", "input": "1", "element": number}
    with pytest.raises(InvalidReply, match="unknown key 'element'"):
        parse_reply(json.dumps(call), numbered=number != 50)


DRAFT = reply(input="rm -r drafts")
DONE = reply()


@pytest.mark.parametrize(
    "text",
    [
        f"<think>{DRAFT}</think>{DONE}",
        f"<thinking>\n{DRAFT}\n</thinking>\n```json\n{DONE}\n```",
        f"<reasoning>{DRAFT}</reasoning> {DONE}",
        f"{DRAFT} no, wait.\n</think>\n\n{DONE}",
        f'<think>the page shows "</think>", so {DRAFT}</think>{DONE}',
        f"<think>a<think>{DRAFT}</think>{DRAFT}</think>{DONE}",
        f"[THINK]{DRAFT}[/THINK]{DONE}",
        f"◁think▷{DRAFT}◁/think▷{DONE}",
        f"<seed:think>{DRAFT}</seed:think>{DONE}",
        f"<|START_THINKING|>{DRAFT}<|END_THINKING|><|START_RESPONSE|>{DONE}<|END_RESPONSE|>",
        f"<|begin_of_thought|>{DRAFT}<|end_of_thought|>{DONE}",
        f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant<|channel|>final"
        f"<|message|>{DONE}<|return|>",
        f"<|channel>thought\n{DRAFT}<channel|>{DONE}",
        f"<think>\n\n</think>\n\n{DONE}",
        f"<tool_call>{DONE}</tool_call>",
    ],
)
def test_draft_inside_thinking_is_ignored(text: str) -> None:
    assert parse_reply(text).input == "ls"


@pytest.mark.parametrize(
    "text", [f"<think>I would {DRAFT}", f"<think>{DRAFT}</think>", f"<|channel|>analysis {DRAFT}"]
)
def test_thinking_without_an_answer_is_refused(text: str) -> None:
    with pytest.raises(InvalidReply, match="thinking"):
        parse_reply(text)


@pytest.mark.parametrize(
    "text",
    [
        f"{DRAFT} {DONE}",
        f"{DRAFT}\n<think>no</think>\n{DONE}",
        f"```json\n{DRAFT}\n```\nand then\n```json\n{DONE}\n```",
        f"[{DRAFT}, {DONE}]",
        f"analysis{DRAFT}assistantfinal{DONE}",
        f"{DRAFT[:-1]} {DONE}",
        f"{DONE} {DRAFT[:-1]}",
    ],
)
@pytest.mark.parametrize("most", [1, 3])
def test_of_several_calls_none_is_chosen(text: str, most: int) -> None:
    with pytest.raises(InvalidReply, match="2 objects"):
        parse_reply(text, most=most)


@pytest.mark.parametrize("text", ["<think>hm</think>", "</think>", "<|channel|>final"])
def test_call_input_may_contain_thinking_tags(text: str) -> None:
    assert parse_reply(reply(input=text)).input == text
    assert parse_reply(f"<think>a</think>{reply(input=text)}").input == text

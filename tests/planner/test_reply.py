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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ("I would click the button.", "no JSON"),
        (reply()[:-4], "JSON"),
        (reply(extra=1), "unknown key 'extra'"),
        ('{"tool": "wait"}', "'thought' is missing"),
        (reply(thought=3), "thought"),
        (reply(input=["a"]), "input"),
        (reply(input=True), "input"),
        ('{"thought": "t", "tool": "wait", "input": NaN}', "not valid JSON"),
        ("{" * 100_000, "JSON"),
        ('{"a":' * 30_000, "JSON"),
        ("[" * 5000 + "{}", "missing"),
        (reply(tool="gui_action", input="import os"), "refused"),
        (reply(tool="gui_action", input="pyautogui.click(X_COORD, Y_COORD)"), "description"),
        (reply(tool="gui_action", input={"x": 1}), "string"),
        ("x" * 300_000, "characters"),
    ],
)
def test_what_does_not_fit_is_named(text: str, said: str) -> None:
    with pytest.raises(InvalidReply, match=said):
        parse_reply(text)


def test_a_number_as_input_is_its_text() -> None:
    assert parse_reply(reply(tool="wait", input=5)).input == "5"


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


@pytest.mark.parametrize(("size", "read"), [(200_000, True), (200_001, False)])
def test_a_reply_is_read_up_to_200_000_characters(size: int, read: bool) -> None:
    reply = json.dumps({"thought": "x", "tool": "wait", "input": "1"})
    padded = reply + " " * (size - len(reply))
    if read:
        assert parse_reply(padded).tool == "wait"
    else:
        with pytest.raises(InvalidReply, match="at most 200000"):
            parse_reply(padded)

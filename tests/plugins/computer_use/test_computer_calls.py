"""What a computer tool's calls become: HiSA's closed set of actions, or a refusal that helps."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from hisa.actions import parse
from hisa.errors import InvalidReply
from hisa.plugins.computer_use.computer_calls import ComputerReply, read_computer_reply
from hisa.plugins.computer_use.responses_server import computer_call, function_call

AT = {"x": 30, "y": 40}


def source(*actions: dict[str, Any]) -> str:
    call = read_computer_reply(computer_call(*actions)).call
    assert call is not None
    assert call.tool == "gui_action"
    assert call.actions == parse(str(call.input))  # the same policy and limits as for source
    return str(call.input)


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ({"type": "click", "button": "left", **AT}, "pyautogui.click(30, 40)"),
        (
            {"type": "click", "button": "left", "keys": ["CTRL", "SHIFT"], **AT},
            "pyautogui.keyDown('ctrl')\npyautogui.keyDown('shift')\npyautogui.click(30, 40)\n"
            "pyautogui.keyUp('shift')\npyautogui.keyUp('ctrl')",
        ),
        ({"type": "double_click", **AT}, "pyautogui.doubleClick(30, 40)"),
        (
            {"type": "drag", "path": [AT, {"x": 90, "y": 40}]},
            "pyautogui.moveTo(30, 40)\npyautogui.dragTo(90, 40, duration=0.5)",
        ),
        (
            {"type": "drag", "path": [AT, {"x": 60, "y": 50}, {"x": 90, "y": 40}]},
            "pyautogui.mouseDown(30, 40)\npyautogui.moveTo(60, 50)\npyautogui.moveTo(90, 40)\n"
            "pyautogui.mouseUp(90, 40)",
        ),
        ({"type": "keypress", "keys": ["CTRL", "S"]}, "pyautogui.hotkey('ctrl', 's')"),
        ({"type": "keypress", "keys": ["ENTER"]}, "pyautogui.press('enter')"),
        (
            {"type": "scroll", "scroll_x": 0, "scroll_y": 300, **AT},
            "pyautogui.scroll(-3, 30, 40)",  # down there, up here
        ),
        (
            {"type": "scroll", "scroll_x": -250, "scroll_y": -20, **AT},
            "pyautogui.scroll(1, 30, 40)\npyautogui.hscroll(-2, 30, 40)",
        ),
        ({"type": "type", "text": "it's\n"}, 'pyautogui.write("it\'s\\n")'),
        ({"type": "wait"}, "pyautogui.sleep(2)"),
        ({"type": "move", "keys": None, "later": "field", **AT}, "pyautogui.moveTo(30, 40)"),
    ],
)
def test_an_action_is_one_of_hisas(action: dict[str, Any], expected: str) -> None:
    assert source(action) == expected


def test_a_batch_is_one_call_and_its_screenshot_is_the_next_look() -> None:
    batch: list[dict[str, Any]] = [
        {"type": "click", "button": "left", **AT},
        {"type": "type", "text": "Ada"},
        {"type": "screenshot"},
    ]
    assert source(*batch) == "pyautogui.click(30, 40)\npyautogui.write('Ada')"


def test_screenshot_call_alone_gives_no_act() -> None:
    assert read_computer_reply(computer_call({"type": "screenshot"})).call is None


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ({"type": "fly", **AT}, "unknown action 'fly'; allowed are click, double_click, drag"),
        (
            {"type": "click", "button": "back", **AT},
            "button 'back'; allowed are left, right, wheel",
        ),
        ({"type": "click", "button": "left", "x": 3}, "action click: y: Field required"),
        ({"type": "click", "x": 1e9, "y": 1}, "x: 1e\\+09 is outside"),
        ({"type": "click", "x": float("nan"), "y": 1}, "action|outside"),
        ({"type": "drag", "path": [AT]}, "action drag: path: "),
        ({"type": "keypress", "keys": ["HYPERSPACE"]}, "(?i)hyperspace"),
        ({"type": "type", "text": "x" * 10_001}, "text of 10001 characters"),
        ({"type": "type", "text": "a\x1b[2J"}, "U\\+001B"),
    ],
)
def test_unsupported_action_is_refused_with_the_allowed_values(action: Any, message: str) -> None:
    with pytest.raises(InvalidReply, match=message):
        read_computer_reply(computer_call(action))


def test_batch_over_the_source_limit_is_refused() -> None:
    with pytest.raises(InvalidReply, match="51 statements in one input; at most 50 are allowed"):
        read_computer_reply(computer_call(*[{"type": "move", **AT}] * 51))


def test_functions_are_the_other_tools() -> None:
    call = read_computer_reply(function_call("termination", summary="Done.", thought="So.")).call
    assert call is not None
    assert (call.tool, call.input, call.thought) == ("termination", "Done.", "So.")
    two = read_computer_reply(function_call("own", a="1", b=2)).call
    assert two is not None
    assert two.input == {"a": "1", "b": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Shall I go on?", "not a list of output items"),
        ("[]", r"exactly one call, not 0 \(none\)"),
        (
            json.dumps(json.loads(function_call("wait", seconds=1)) * 2),
            r"exactly one call, not 2 \(wait, wait\)",
        ),
        ('[{"type": "web_search_call"}]', "call of type 'web_search_call'; allowed are computer"),
        (function_call("gui_action", code="x"), "'gui_action' is no function here"),
        ('[{"type": "function_call", "name": "wait", "arguments": "["}]', "are not JSON"),
        ('[{"type": "function_call", "name": "wait", "arguments": "[1]"}]', "no JSON object"),
        ("[" * 5000, "not a list of output items"),
        ("x" * 200_001, "at most 200000"),
    ],
)
def test_any_other_answer_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidReply, match=message):
        read_computer_reply(text)


def test_reply_has_safety_checks_and_thoughts() -> None:
    answer = computer_call(
        {"type": "click", "button": "left", **AT},
        thought="The page asks for money.\x1b[2J",
        checks={"malicious_instructions": "The screen gives orders.", "other": ""},
    )
    reply = read_computer_reply(answer)
    assert reply.checks == ("malicious_instructions: The screen gives orders.", "other")
    assert reply.call is not None
    assert reply.call.thought == "The page asks for money. [2J"


def test_no_answer_crashes() -> None:
    draw = random.Random(7)
    pool: list[Any] = [
        None,
        0,
        1e300,
        "",
        "computer_call",
        [],
        {},
        {"type": "computer_call"},
        {"type": "drag", "path": {}},
        {"summary": [{"text": 3}]},
        ["type"],
    ]
    names = ["type", "action", "actions", "x", "y", "keys", "path", "pending_safety_checks"]
    for _ in range(3000):
        action = {draw.choice(names): draw.choice(pool) for _ in range(4)}
        call = {"type": "computer_call", draw.choice(names[1:]): draw.choice([action, *pool])}
        try:
            assert isinstance(read_computer_reply(json.dumps([action, call])), ComputerReply)
        except InvalidReply:
            continue

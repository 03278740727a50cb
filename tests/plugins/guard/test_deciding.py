"""Rules: which one decides, and that nothing is allowed by half."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from hisa.actions.effects import Effect
from hisa.config import PolicySettings
from hisa.plugins.guard.policy.call_facts import facts_of, is_exempt
from hisa.plugins.guard.policy.named_facts import CallFacts
from hisa.protocols import GroundedCall, ToolCall
from hisa.tools.base import BaseTool, Tool
from hisa.tools.builtin import termination
from hisa.tools.traits import tool
from tests.plugins.guard.parts import bar, bash, decide, facts, gui, look, verdict

LS = {"then": "allow", "command": "ls*"}
NO_RM = {"then": "deny", "command": "rm *"}
NO_KEYS = {"then": "deny", "path": "~/.ssh/*"}


@pytest.mark.parametrize(
    ("line", "rules", "expected"),
    [
        ("ls -l", [LS], "allow"),
        ("ls; rm x", [LS, {"then": "deny"}], "deny"),
        ("rm x", [NO_RM, {"then": "allow"}], "deny"),
        ("rm x", [{"then": "allow"}, NO_RM], "allow"),
        ("ls && /bin/rm x", [NO_RM], "deny"),
        ("r''m x", [NO_RM], "deny"),
        ("./rm x", [NO_RM], "deny"),
        ("\uff52m x", [NO_RM], "deny"),
        ("sudo env X=1 rm x", [NO_RM], "deny"),
        ("echo $(rm x)", [NO_RM], "deny"),
        ("$(echo rm) x", [NO_RM], "ask"),
        ("$X y", [NO_RM], "ask"),
        ("eval $X", [NO_RM], "ask"),
        ("a() { rm x; }; a", [NO_RM], "deny"),
        ("cp $X y", [NO_RM], "allow"),
        ("git pull", [{"then": "deny", "command": "git push*"}], "allow"),
        ("git $X", [{"then": "deny", "command": "git push*"}], "ask"),
        ("rm x", [{"then": "deny", "effect": "delete"}], "deny"),
        ("python3 x.py", [{"then": "deny", "effect": "delete"}], "ask"),
        ("cat ~/.ssh/id", [NO_KEYS], "deny"),
        ("cat ~/x/../.ssh/id", [NO_KEYS], "deny"),
        ("cat ~/.s*/id", [NO_KEYS], "ask"),
        ("cp -r ~ /tmp/x", [NO_KEYS], "ask"),
        ("cd ~/.ssh; cat id", [NO_KEYS], "deny"),
        ("python3 x.py", [NO_KEYS], "ask"),
        ("ls ~", [NO_KEYS], "allow"),
        ("curl evil.example", [{"then": "deny", "url": "*evil.example*"}], "deny"),
        ("curl $X", [{"then": "deny", "url": "*evil.example*"}], "ask"),
    ],
)
def test_the_first_rule_that_applies(
    line: str, rules: list[Mapping[str, Any]], expected: str
) -> None:
    assert verdict(line, *rules) == expected


@pytest.mark.parametrize(
    "line",
    [
        "ls; rm x",
        "ls | xargs rm",
        "ls $(rm x)",
        "ls & rm x",
        "ls > ~/.bashrc",
        "ls <(rm x)",
        "PATH=. ls",
        "LD_PRELOAD=x ls",
        "./ls",
        "ls $X",
        "ls() { rm x; }; ls",
        "alias ls=rm; ls",
        "l$X",
        "l\u0455 x",
        "$'ls'",
        "env PATH=. ls",
        "export PATH=.; ls",
        "ls ${x}",
        "hash -p rm ls; ls",
    ],
)
def test_pattern_for_ls_allows_no_other_command(line: str) -> None:
    assert verdict(line, LS, {"then": "deny"}) == "deny"
    assert verdict("ls", LS, {"then": "deny"}) == "allow"


def test_an_allowing_rule_on_files_allows_those_files_alone() -> None:
    rules = ({"then": "allow", "path": "~/Documents/*"}, {"then": "deny"})
    assert verdict("rm ~/Documents/a", *rules) == "allow"
    assert verdict("rm ~/Documents/*", *rules) == "allow"
    for line in ("rm ~/Documents/a ~/b", "rm ~/Documents/../b", "rm $X", "rm ~/D*/a", "rm -r ~"):
        assert verdict(line, *rules) == "deny", line
    assert verdict("python3 ~/Documents/x.py", *rules) == "deny"


def test_default_rules_come_after_those_of_the_file() -> None:
    mine = {"then": "allow", "effect": "delete", "path": "~/tmp/*"}
    assert verdict("rm ~/tmp/a", mine, guarded=True) == "allow"
    assert verdict("rm ~/a", mine, guarded=True) == "ask"
    assert verdict("rm ~/a", mine, guarded=False) == "allow"
    assert verdict("rm ~/a", unknown="deny") == "deny"
    assert verdict("rm ~/a; ls", {"then": "allow", "command": "rm *"}, unknown="deny") == "deny"


def test_allowed_folders() -> None:
    limits: dict[str, Any] = {"folders": ["~/Documents"], "home": "/home/ada"}
    for line in ("touch ~/Documents/a", "ls /etc", "cat /etc/hosts", "cd ~/Documents && touch a"):
        assert verdict(line, **limits) == "allow", line
    assert verdict("touch /home/ada/Documents/a", **limits) == "allow"
    for line in (
        "touch ~/a",
        "touch /home/bob/Documents/a",
        "cp ~/Documents/a /tmp",
        "echo x > a",
        "touch ~/Documents/../a",
        "python3 x.py",
        "mv ~/Documents/a ~/b",
    ):
        assert verdict(line, **limits) == "ask", line
    assert verdict("touch ~/a", {"then": "deny", "effect": "leave"}, **limits) == "deny"
    assert "files" not in decide(facts(bash("touch ~/a")), **limits).why


def test_allowed_sites() -> None:
    limits: dict[str, Any] = {"sites": ["good.example", "*.good.example"]}
    for line in ("curl https://good.example/x", "curl a.good.example", "ls"):
        assert verdict(line, **limits) == "allow", line
    for line in (
        "curl evil.example",
        "curl https://good.example@evil.example",
        "curl $X",
        "chromium javascript:x",
        "python3 x.py",
    ):
        assert verdict(line, **limits) == "ask", line
    click = gui("pyautogui.click(150, 120)")
    for shown, expected in (("good.example/x", "allow"), ("evil.example", "ask")):
        observation = look("chromium", "Page - Chromium", elements=(bar(shown),))
        assert decide(facts(click, observation), **limits).verdict == expected


def test_applications() -> None:
    rule = {"then": "deny", "app": "*bank*"}
    click = gui("pyautogui.click(150, 120)")
    assert decide(facts(click, look("My-Bank")), rule).verdict == "deny"
    assert decide(facts(click, look("mousepad")), rule).verdict == "allow"
    assert decide(facts(click, look(known=False)), rule).verdict == "ask", "nobody knows"
    mine = ({"then": "allow", "app": "mousepad"}, {"then": "deny"})
    assert decide(facts(click, look("mousepad")), *mine).verdict == "allow"
    assert decide(facts(click, look(known=False)), *mine).verdict == "deny"


def test_always_answer_covers_the_same_rule_with_the_same_tool() -> None:
    first = decide(facts(bash("rm x")), guarded=True).reasons
    other = decide(facts(bash("rm y")), guarded=True).reasons
    assert {reason.kind for reason in first} == {reason.kind for reason in other}
    unread = [decide(facts(bash(f"python3 {n}.py")), guarded=True).reasons for n in "ab"]
    assert not {reason.kind for reason in unread[0]} & {reason.kind for reason in unread[1]}


# ------------------------------------------------------------------ tools


@tool(effects=("send",))
def post(text: str, url: str = "") -> str:
    """Post a text."""
    return text + url


@tool(reads=True)
def peek(path: str) -> str:
    """Read a file."""
    return path


def run(command: list[str]) -> str:
    """Run a program."""
    return str(command)


def delete_mail(number: int) -> str:
    """Delete a mail."""
    return str(number)


def tool_facts(function: Any, value: str | Mapping[str, Any], name: str = "") -> CallFacts:
    base_tool: BaseTool = Tool(function)
    base_tool.name = name or base_tool.name
    call = GroundedCall(ToolCall("", base_tool.name, value), value)
    return facts_of(call, base_tool, look())


def test_tools_are_judged_by_traits_and_arguments() -> None:
    assert decide(tool_facts(post, {"text": "hi"}), guarded=True).verdict == "ask"
    assert (
        decide(tool_facts(post, {"text": "hi"}), {"then": "deny", "tool": "po*"}).verdict == "deny"
    )
    post_facts = tool_facts(
        post, {"text": "see https://a.example now", "url": "https://evil.example"}
    )
    assert [url.host for part in post_facts.parts for url in part.urls] == ["evil.example"]
    keys = tool_facts(peek, "~/.ssh/id")
    assert not keys.acts
    assert decide(keys, NO_KEYS).verdict == "deny"
    assert decide(tool_facts(peek, "a"), folders=["~/b"]).verdict == "allow", "it only reads"
    assert decide(tool_facts(run, {"command": ["rm", "a b"]}), NO_RM).verdict == "deny"
    assert decide(tool_facts(delete_mail, {"number": 1}), guarded=True).verdict == "ask"


def test_path_argument_of_a_tool_is_checked() -> None:
    def save(path: str, text: str) -> str:
        """Save a text."""
        return path + text

    limits: dict[str, Any] = {"folders": ["~/Documents"]}
    inside = tool_facts(save, {"path": "Documents/a.txt", "text": "x"})
    outside = tool_facts(save, {"path": "/etc/hosts", "text": "/etc/x is a path in a text"})
    assert decide(inside, **limits).verdict == "allow"
    assert decide(outside, **limits).verdict == "ask"
    assert decide(outside, guarded=True).rule == "default: ask before changing security settings"


def test_ending_and_waiting_need_no_approval() -> None:
    assert is_exempt(Tool(termination))
    plugin = Tool(delete_mail)
    plugin.name = "wait"
    assert not is_exempt(plugin), "whatever a plug-in calls itself"


@pytest.mark.parametrize(
    "wrong",
    [
        {"rules": [{"then": "maybe"}]},
        {"rules": [{"then": "deny", "path": "Documents"}]},
        {"rules": [{"then": "deny", "effect": "explode"}]},
        {"sites": ["https://good.example/x"]},
        {"folders": ["Documents"]},
        {"folders": ["~/Doc*"]},
    ],
)
def test_senseless_settings_are_refused(wrong: Mapping[str, Any]) -> None:
    with pytest.raises(ValidationError):
        PolicySettings.model_validate(wrong)


def test_every_effect_has_a_default_rule() -> None:
    effects: tuple[Effect, ...] = ("delete", "send", "install", "security")
    lines = ("rm x", "git push", "pip install x", "chmod 777 x")
    for effect, line in zip(effects, lines, strict=True):
        assert verdict(line, guarded=True) == "ask", effect
    assert decide(facts(gui("pyautogui.click(150, 120)", label="Pay now")), guarded=True).rule == (
        "default: ask before paying or ordering"
    )

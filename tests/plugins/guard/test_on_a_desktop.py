"""The policy on a real desktop, and its commands at the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from hisa.environments.confirmation import Answer
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.testing.scripted import tool_call
from tests.bench import finish
from tests.cli.command import Command
from tests.plugins.guard.test_runs import Person, acts, bash, decisions, run_agent, settings

pytestmark = pytest.mark.desktop


async def test_every_verdict_on_a_real_desktop(tmp_path: Path) -> None:
    rules = [
        {"then": "deny", "path": "~/keep/*", "why": "They are the originals."},
        {"then": "ask", "command": "rm *"},
    ]
    person = Person(Answer("once"), Answer("refuse"))
    chosen = settings(tmp_path, rules=rules)
    lines = [
        "mkdir -p ~/keep ~/other; echo 1 > ~/other/a; echo 2 > ~/other/b",
        "cd ~/keep/.. && touch ./keep/x",
        "rm ~/other/a",
        "r''m ~/other/b",
        "ls ~/keep ~/other",
    ]
    async with DesktopEnvironment() as machine:
        replies = [*map(bash, lines), tool_call("gui_action", "pyautogui.click(5, 5)"), finish()]
        run = await run_agent(chosen, replies, machine, person=person)
    assert [(decision.verdict, decision.allowed) for decision in decisions(run)] == [
        ("allow", True),
        ("deny", False),
        ("ask", True),
        ("ask", False),
        ("allow", True),
        ("allow", True),
    ]
    listed = acts(run)[4].output
    assert listed.split() == ["/home/user/keep:", "/home/user/other:", "b"]
    assert "They are the originals." in acts(run)[1].error


def test_a_dry_run_and_an_audit_at_the_terminal(tmp_path: Path) -> None:
    hisa = Command(tmp_path)
    quiet = ("--set", "patterns.enabled=false", "--no-report")
    dry = hisa.json("run", 'Run the command "rm -rf Documents".', "--dry-run", *quiet, code=1)
    assert dry["status"] == "stopped"
    assert dry["score_state"] == "unscored"
    assert "would make bash_execution: rm -rf Documents; the policy says: allow" in dry["message"]
    (tmp_path / "hisa.toml").write_text(
        '[policy]\ndefaults = "always"\n[[policy.rules]]\nthen = "deny"\ncommand = "ls*"\n'
        'why = "No lists."\n'
    )
    result = hisa.json(
        "--config",
        str(tmp_path / "hisa.toml"),
        "run",
        'Run the command "ls". Run the command "rm a". Run the command "pwd".',
        "--max-steps",
        "3",
        *quiet,
        code=1,
    )
    audit = hisa.json("runs", "audit", result["run"])
    assert audit["counts"]["refused"] >= 1
    first = audit["decisions"][0]
    assert (first["verdict"], first["allowed"], first["what"]) == ("deny", False, "ls")
    assert first["rule"] == "rule 1: deny command 'ls*'"
    assert first["by"] == "refused by the rules"
    text = hisa.run("runs", "audit", result["run"])
    assert "deny  bash_execution: ls" in text
    assert "why: No lists." in text
    assert "decisions:" in text.splitlines()[-1]
    assert "dry run, nothing was done" in hisa.run("runs", "audit", dry["run"])

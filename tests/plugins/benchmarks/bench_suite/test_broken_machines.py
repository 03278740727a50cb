"""Machines that an agent breaks, or tries to, and one that breaks by itself, in one bench."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.command import ROOT, Command

HOG = (
    "import os, time; [os.fork() for _ in '123']; held = os.urandom(1 << 20) * 200; time.sleep(60)"
)
FLOOD = "import os, time; [os.fork() or time.sleep(60) for _ in range(400)]"
COMMANDS = {
    "everybody": "kill -9 -1; sleep 1; echo milk > list.txt",
    "screen": "pkill -9 Xvfb; pkill -9 -f 'm [g]uest'; sleep 1; echo milk > list.txt",
    "threads": "kill -9 $(ls /proc/[0-9]*/task | grep -vx $$); sleep 1; echo milk > list.txt",
    "memory": f"echo milk > list.txt; python3 -c {json.dumps(HOG)}",
    "processes": f"echo milk > list.txt; python3 -c {json.dumps(FLOOD)}; sleep 60",
    "outside": "sleep 3; echo milk > list.txt",
}
LIMITS = ("processes=150", "memory_mb=512")


def suite(folder: Path) -> Path:
    folder.mkdir()
    for name, command in COMMANDS.items():
        check = {"file": "~/list.txt", "contains": "milk"}
        tree = {"id": name, "instruction": f"Run the command `{command}`.", "check": check}
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(tree), "utf-8")
    return folder


@pytest.mark.desktop
def test_a_machine_that_the_agent_broke_is_a_failure_and_another_is_none(tmp_path: Path) -> None:
    command, out = Command(tmp_path), tmp_path / "bench"
    command.environ["PYTHONPATH"] = str(ROOT)
    options = [
        "--environment",
        "tests.plugins.benchmarks.bench_suite.desktops:desktop",
        "--out",
        str(out),
    ]
    settings = ["patterns.enabled=false", *(f"environment.limits.{limit}" for limit in LIMITS)]
    options += [word for setting in settings for word in ("--set", setting)]
    sums = command.json("bench", "run", f"own:{suite(tmp_path / 'tasks')}", *options, code=3)
    rows = [json.loads(line) for line in (out / "attempts.jsonl").read_text().splitlines()]
    ends = {
        name: [
            (row["status"], row["score"])
            for row in rows
            if row["type"] == "finished" and row["task"] == name
        ]
        for name in COMMANDS
    }
    for name in ("everybody", "screen", "threads"):
        assert ends[name] == [("succeeded", 1.0)], "the desktop stays"
    assert ends["memory"] == ends["processes"] == [("agent_broke_machine", 0.0)]
    assert ends["outside"] == [("environment_error", None)] * 3, "nobody knows by whose act"
    assert (sums["scored"], sums["succeeded"], sums["given_up"]) == (5, 3, 1)
    command.run("bench", "report", str(out))
    page = (out / "report.html").read_text("utf-8")
    assert "success rate 60.0% over 5 scored, 1 of 6 given up" in page

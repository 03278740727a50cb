"""Benchmark files are hostile input: loaded, or refused with the reason; what lacks is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hisa.errors import UsageError
from hisa.plugins.benchmarks.tasks.task_needs import needed_urls
from hisa.protocols import Task
from hisa.tasks.find_format import problems
from hisa.tasks.taskfile import load_task

RULE = {"type": "rule", "rules": {"expected": "1"}}
LINE = {"type": "vm_command_line", "command": "echo 1", "shell": True}


def tree(**changes: Any) -> dict[str, Any]:
    evaluator = {"func": "exact_match", "result": LINE, "expected": RULE}
    return {"id": "a-1", "instruction": "Do it.", "config": [], "evaluator": evaluator, **changes}


def write(folder: Path, value: object, name: str = "task.json") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


def load(folder: Path, **changes: Any) -> Task:
    return load_task(write(folder, tree(**changes)))


def test_a_full_osworld_file_loads_with_foreign_keys(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        tree(
            snapshot="libreoffice_writer",
            source="https://example.org",
            trajectory="t/",
            related_apps=["os"],
            proxy=False,
            fixed_ip=False,
            possibility_of_env_change="low",
            config=[{"type": "launch", "parameters": {"command": "ls", "new": 1}, "extra": {}}],
        ),
        "evaluation_examples/examples/chrome/a-1.json",
    )
    task = load_task(path)
    assert (task.id, task.domain, task.instruction) == ("a-1", "browser", "Do it.")
    assert task.folder == str(tmp_path.resolve())
    assert problems(task) == []
    assert load(tmp_path, snapshot="libreoffice_writer").domain == "writer"
    assert load(tmp_path, snapshot="../../etc", instruction="Open Chrome").domain == "browser"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("x" * 1_000_001, "larger than"),
        ({**tree(), "id": "../../etc/passwd"}, "id"),
        ({**tree(), "instruction": ""}, "instruction"),
        ({**tree(), "config": [{"parameters": {}}]}, r"config\.0\.type"),
        ({**tree(), "config": [{"type": "sleep", "parameters": []}]}, "parameters"),
        ({**tree(), "config": [{"type": "sleep"}] * 201}, "config"),
        ({"id": "a", "instruction": "x", "config": []}, "evaluator"),
        (tree(evaluator={"func": 3}), "func"),
        (tree(evaluator={"func": "f", "conj": "xor"}), "conj"),
        (tree(evaluator={"func": ["a", "b"], "result": [LINE]}), "'result' has 1 entries"),
        (tree(evaluator={"func": "a", "postconfig": [{"kind": "x"}]}), "postconfig"),
    ],
)
def test_a_bad_file_is_refused_with_its_reason(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_task(write(tmp_path, value))


def step(kind: str, **parameters: Any) -> dict[str, Any]:
    return {"config": [{"type": kind, "parameters": parameters}]}


def scoring(**evaluator: Any) -> dict[str, Any]:
    fields = {"func": "exact_match", "result": LINE, "expected": RULE, **evaluator}
    return {"evaluator": fields}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (step("googledrive", settings_file="x"), "no setup step 'googledrive'"),
        (step("sleep", seconds="soon"), "setup step sleep: seconds"),
        (step("download", files=[{"url": "file:///etc/passwd", "path": "/a"}]), "download: files"),
        (step("open", path="a\0b"), "open: path"),
        (step("launch", command=[]), "launch: command"),
        (step("copyfile_from_host_to_guest", src="../x", dest="/x"), "outside"),
        (step("copyfile_from_host_to_guest", src="/etc/passwd", dest="/x"), "outside"),
        (step("copyfile_from_host_to_guest", src="none.xlsx", dest="/x"), "no such file"),
        (scoring(func="compare_dreams"), "no metric 'compare_dreams'"),
        (scoring(result={"type": "googledrive_file"}), "no getter 'googledrive_file'"),
        (scoring(result=None), "does not say where the result is"),
        (scoring(expected={"type": "cloud_file", "path": "http://x/a", "dest": "../a"}), "plain"),
        (scoring(expected={"type": "cache_file", "path": "/etc/passwd"}), "plain"),
        (scoring(expected={"type": "local_file", "path": "../../a", "dest": "a"}), "outside"),
        (scoring(result={"type": "vm_file", "path": ["/a", "/b"]}), "multi"),
        (scoring(postconfig=[{"type": "dance"}]), "no setup step 'dance'"),
    ],
)
def test_unsupported_task_part_is_named_before_a_run(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    problem_list = problems(load(tmp_path, **changes))
    assert len(problem_list) == 1
    assert message in problem_list[0]


def test_addresses_are_collected_once(tmp_path: Path) -> None:
    first, second, third = "https://x.org/a", "https://x.org/b", "http://x.org/c"
    task = load(
        tmp_path,
        config=[{"type": "download", "parameters": {"files": [{"url": first, "path": "/a"}] * 2}}],
        evaluator={
            "func": ["exact_match"] * 2,
            "result": [LINE, {"type": "vm_script_output", "src": third, "dest": "/x.sh"}],
            "expected": [{"type": "cloud_file", "path": [second, first], "dest": ["a", "b"]}, RULE],
            "postconfig": [{"type": "script_and_execute", "parameters": {"src": third}}],
        },
    )
    assert needed_urls(task) == [first, third, second]

"""Files of a proved task say the same to each reader, on a real machine's bash as well."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from hisa.errors import UsageError
from hisa.plugins.benchmarks.tasks.benchmark import evaluator_of
from hisa.plugins.benchmarks.tasks.data_files import is_data_file
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.records import Act, Candidate, Differences, Proof, Stage, State, Triple
from hisa.plugins.synthesis.subject import Subject
from hisa.plugins.synthesis.task_files import main_triple, task_of, write_task
from hisa.tasks.find_format import problems
from hisa.tasks.taskfile import load_task

MENU = Act(kind="click", role="menu item", name='Wrap "long" lines', within=("View",), window="w")
SAVE = Act(kind="press", keys=("ctrl", "s"))
PROOF = Proof(candidate="wrap-1", proved=True, stages=(Stage(name="start", held=True, score=0.0),))


def exploration(folder: Path, **subject: Any) -> Exploration:
    """One with two states and the triple between them, as `hisa explore` leaves it."""
    (folder / "source").mkdir(parents=True)
    (folder / "source" / "notes.txt").write_text("milk\n")
    keys = {
        "name": "pad",
        "title": "the text editor",
        "domain": "text_editor",
        "main": "Pad",
        "setup": [
            {"write": {"path": "~/a b/list.txt", "text": "it's ü\n"}},
            {"copy": {"source": "notes.txt", "path": "~/notes.txt"}},
            {"copy": {"source": "notes.txt", "path": "~/again.txt"}},
            {"run": "touch ~/ran"},
        ],
        "folder": str(folder / "source"),
    } | subject
    new_exploration = Exploration.create(folder / "explored", Subject.model_validate(keys))
    for name in "ab":
        Image.new("RGB", (40, 30), "white").save(new_exploration.folder / "images" / f"{name}.png")
        new_exploration.add_state(
            State(id=name, screen=name, windows=("w",), image=name, elements=name)
        )
    new_exploration.add(
        Triple(
            number=1,
            desktop=1,
            before="a",
            act=MENU,
            box=(10, 10, 20, 20),
            after="b",
            differences=Differences(),
            seconds=1.0,
        )
    )
    new_exploration.close()
    return new_exploration


def candidate(*check: dict[str, Any], **keys: Any) -> Candidate:
    """A candidate of that triple."""
    return Candidate.model_validate(
        {
            "id": "wrap-1",
            "subject": "pad",
            "effects": ("e",),
            "triples": (1,),
            "writer": "rules",
            "instruction": "Wrap long lines: 'no' <b>& yes</b>.",
            "acts": (MENU, SAVE),
            "check": check,
        }
        | keys
    )


CHECKS = (
    {"command": "cat ~/set; echo 'x y' >&2", "equals": "it's 'on'"},
    {"file": "~/a b/list.txt", "contains": ["ü", "it's"], "excludes": "gone"},
    {"command": "test -e ~/ran"},
)


def test_a_task_file_is_read_back_as_the_task_it_is_of(tmp_path: Path) -> None:
    explored, task_candidate = exploration(tmp_path), candidate(*CHECKS)
    write_task(tmp_path / "tasks", explored, task_candidate, PROOF)
    task_folder = tmp_path / "tasks" / "wrap-1"
    read = load_task(task_folder / "task.yaml")
    assert replace(read, folder="") == replace(task_of(explored, task_candidate), folder="")
    assert read.folder == str(task_folder)
    assert problems(read) == []
    assert (task_folder / "notes.txt").read_text() == "milk\n"
    files = [path for path in task_folder.iterdir() if path.suffix in (".json", ".yaml")]
    assert [path.name for path in files if not is_data_file(path)] == ["task.yaml"]


@pytest.mark.process
def test_osworlds_file_is_read_by_the_plugin_of_benchmarks(tmp_path: Path) -> None:
    write_task(tmp_path, exploration(tmp_path / "of"), candidate(*CHECKS), PROOF)
    task = load_task(tmp_path / "wrap-1" / "osworld.json")
    assert (task.format, task.domain, task.id) == ("osworld", "text_editor", "wrap-1")
    funcs = [part.func for part in evaluator_of(task).parts]
    assert funcs == ["exact_match"] * 3
    assert problems(task) == []


@pytest.mark.process
@pytest.mark.parametrize(
    ("content", "of_list", "ran", "holds"),
    [
        ("  it's 'on'\n\n", "it's ü\n", True, True),
        ("it's 'off'", "it's ü\n", True, False),
        ("it's 'on'", "gone ü it's", True, False),
        ("it's 'on'", "it's ü\n", False, False),
        (None, "it's ü\n", True, False),
    ],
)
def test_osworlds_commands_hold_where_the_checks_do(
    tmp_path: Path, content: str | None, of_list: str, ran: bool, holds: bool
) -> None:
    home = tmp_path / "home"
    (home / "a b").mkdir(parents=True)
    write_task(tmp_path / "tasks", exploration(tmp_path / "of"), candidate(*CHECKS), PROOF)
    (home / "a b" / "list.txt").write_text(of_list, "utf-8")
    if content is not None:
        (home / "set").write_text(content)
    if ran:
        (home / "ran").touch()
    place = {"HOME": str(home), "PATH": os.environ["PATH"]}
    assert all(evaluate_parts(tmp_path / "tasks" / "wrap-1" / "osworld.json", place)) == holds


def evaluate_parts(path: Path, place: dict[str, str]) -> list[bool]:
    """Whether each part of an evaluator holds, as OSWorld's own function looks at it."""
    evaluator = json.loads(path.read_text("utf-8"))["evaluator"]
    answers = []
    for func, result, expected in zip(
        evaluator["func"], evaluator["result"], evaluator["expected"], strict=True
    ):
        ran = subprocess.run(result["command"], env=place, capture_output=True, text=True)
        assert func == "exact_match"
        answers.append(ran.stdout == expected["rules"]["expected"])
    return answers


def test_the_origin_and_the_reference_are_written(tmp_path: Path) -> None:
    explored = exploration(tmp_path / "of")
    write_task(tmp_path, explored, candidate(*CHECKS), PROOF)
    origin = json.loads((tmp_path / "wrap-1" / "provenance.json").read_text("utf-8"))
    assert origin["proof"]["stages"][0]["name"] == "start"
    assert str(tmp_path) not in json.dumps(origin)
    steps = json.loads((tmp_path / "wrap-1" / "reference.json").read_text("utf-8"))["acts"]
    assert Act.model_validate(steps[1]["act"]) == SAVE
    assert steps[0]["description"] == 'Click the menu item "Wrap "long" lines" in View'
    triple = main_triple(explored, candidate())
    assert triple is not None
    assert triple.number == 1


@pytest.mark.process
def test_a_check_of_the_screen_is_left_out_of_osworlds_file(tmp_path: Path) -> None:
    looks = {"element": {"role": "dialog", "name": "Find"}}
    write_task(tmp_path, exploration(tmp_path / "of"), candidate(looks), PROOF)
    task_folder = tmp_path / "wrap-1"
    assert not (task_folder / "osworld.json").exists()
    origin = json.loads((task_folder / "provenance.json").read_text("utf-8"))
    assert "no getter" in origin["osworld"]


@pytest.mark.parametrize("name", ["../secret", "task.yaml", "absent"])
def test_a_file_of_a_setup_stays_below_its_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "of").mkdir()
    (tmp_path / "of" / "secret").write_text("s")
    explored = exploration(tmp_path / "of", setup=[{"copy": {"source": name, "path": "~/x"}}])
    with pytest.raises(UsageError):
        write_task(tmp_path, explored, candidate(*CHECKS), PROOF)
    assert not (tmp_path / "wrap-1").exists()

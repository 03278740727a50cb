"""A run still ends well where somebody wrote 100 tokens more into a prompt, whichever it is."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

import hisa
from hisa.agent import RunResult
from hisa.config import Settings
from hisa.events import PromptCut
from hisa.models.tokens import estimate_tokens
from hisa.patterns.embedders import open_embedder
from hisa.patterns.open_memory import open_store
from hisa.protocols import Pattern, Task
from hisa.runs.read import load_run
from hisa.tasks.taskfile import load_task
from hisa.testing.form import FakeEnvironment
from hisa.text.prompts import Prompts, data_folder

EXAMPLES = Path(__file__).parents[3] / "examples"
FILES = sorted(path.name for path in data_folder("prompts").glob("*.md"))
INSTRUCTION = """
1. Click the "Name" field.
2. Type "Ada".
3. Tick the "Agree" box.
4. Click the "OK" button.
5. Click the "Name" field.
6. Type " Lovelace".
7. Click the "Save" button.
"""
CHECK = ({"file": "/home/user/form.txt", "contains": "Ada Lovelace"},)


def mark(file: str) -> str:
    return f"Sentence 1 of {file}:"


def longer(file: str, text: str, *, first: bool) -> str:
    """A prompt with 100 tokens more, before all else or after it."""
    more, number = mark(file), 1
    while estimate_tokens(f"\n{more}\n") < 100:
        number += 1
        more += f" be as careful with row {number} as with any other."
    return f"{more}\n{text}" if first else f"{text}\n{more}\n"


def settings(folder: Path, prompts: Path) -> Settings:
    tree: dict[str, Any] = {
        "run": {"folder": folder / "runs"},
        "models": {"planner": {"model": "offline"}},
        "patterns": {"path": folder / "patterns"},
        "prompts": {"folder": prompts},
    }
    return Settings.model_validate(tree)


def own_folder(folder: Path, *files: str, first: bool = False) -> Path:
    folder.mkdir()
    for file in files:
        text = (data_folder("prompts") / file).read_text("utf-8")
        (folder / file).write_text(longer(file, text, first=first), "utf-8")
    return folder


async def run_with(folder: Path, *files: str, first: bool = False) -> RunResult:
    """Run the form's task with a lesson in the memory, so that all of a default run is asked."""
    chosen = settings(folder, own_folder(folder / "own", *files, first=first))
    keep_lesson(chosen)
    task = Task("form", INSTRUCTION, check={"all": CHECK})
    return await hisa.run(task, settings=chosen, environment=FakeEnvironment())


def keep_lesson(chosen: Settings) -> None:
    embedder = open_embedder(chosen.patterns.embedder)
    pattern = Pattern(
        "p1", "general", "success", lesson="Press Save last.", condition=INSTRUCTION, actions=""
    )
    open_store(chosen.patterns, embedder).put(pattern, embedder.embed([INSTRUCTION])[0])


def files_in(folder: Path) -> set[str]:
    """The prompt files whose added sentence was sent to a model in a run."""
    written = "\n".join(
        path.read_text("utf-8", errors="ignore")
        for path in folder.rglob("*")
        if path.suffix in (".json", ".jsonl")
    )
    return {file for file in FILES if mark(file) in written}


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The files that a default run sends, by a run in which each begins with a sentence more."""
    result = asyncio.run(run_with(tmp_path_factory.mktemp("all"), *FILES, first=True))
    assert (result.status, result.score) == ("succeeded", 1), result.message
    return files_in(result.folder)


@pytest.mark.parametrize("file", FILES)
async def test_a_run_still_ends_1_with_100_tokens_more_in_a_prompt(
    file: str, used: set[str], tmp_path: Path
) -> None:
    if file not in used:
        own = Prompts(own_folder(tmp_path / "own", file)).own
        assert mark(file) in own[file], "it is taken, and a default run has no use for it"
        return
    result = await run_with(tmp_path, file)
    assert (result.status, result.score) == ("succeeded", 1), result.message
    assert files_in(result.folder) == {file}
    run = load_run(result.folder)
    assert not [event for event in run.events if isinstance(event, PromptCut)]
    shipped = Prompts().hashes
    assert [n for n, h in run.manifest.prompts.items() if h != shipped[n]] == [file]


def test_a_default_run_is_asked_in_each_of_its_five_jobs(used: set[str]) -> None:
    jobs = ("planner", "step_abstraction", "context_refinement", "pattern_induction")
    assert used == {f"{job}.md" for job in (*jobs, "pattern_synthesis")}


@pytest.mark.desktop
@pytest.mark.skipif(not shutil.which("mousepad"), reason="no mousepad")
async def test_both_tasks_of_the_demo_end_1_with_100_tokens_more_in_each_prompt(
    used: set[str], tmp_path: Path
) -> None:
    chosen = settings(tmp_path, own_folder(tmp_path / "own", *used))
    for name in ("guest_list", "packing_list"):
        result = await hisa.run(load_task(EXAMPLES / f"{name}.yaml"), settings=chosen)
        assert (result.status, result.score) == ("succeeded", 1), result.message
        assert not [e for e in load_run(result.folder).events if isinstance(e, PromptCut)]
    assert files_in(result.folder) == used

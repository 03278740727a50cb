"""A run still ends well where somebody wrote 100 tokens more into a prompt, whichever it is."""

from __future__ import annotations

from pathlib import Path

import pytest

import hisa
from hisa.config import Settings
from hisa.models.tokens import estimate_tokens
from hisa.patterns.embedders import open_embedder
from hisa.patterns.memory import open_store
from hisa.protocols import Pattern, Task
from hisa.runs.run_reader import load_run
from hisa.testing.form import FakeEnvironment
from hisa.text.prompts import Prompts, data_folder

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
JOBS = (
    "planner",
    "step_abstraction",
    "context_refinement",
    "pattern_induction",
    "pattern_synthesis",
)


def longer(job: str) -> str:
    """A prompt with 100 tokens more after all else."""
    more, number = f"Sentence 1 of {job}:", 1
    while estimate_tokens(f"\n{more}\n") < 100:
        number += 1
        more += f" be as careful with row {number} as with any other."
    return f"{(data_folder('prompts') / f'{job}.md').read_text('utf-8')}\n{more}\n"


def keep_lesson(chosen: Settings) -> None:
    """A lesson in the memory, so that all of a default run is asked."""
    embedder = open_embedder(chosen.patterns.embedder)
    pattern = Pattern(
        "p1", "general", "success", lesson="Press Save last.", condition=INSTRUCTION, actions=""
    )
    open_store(chosen.patterns, embedder).put(pattern, embedder.embed([INSTRUCTION])[0])


@pytest.mark.parametrize("job", JOBS)
async def test_a_run_still_ends_1_with_100_tokens_more_in_a_prompt(
    job: str, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / f"{job}.md").write_text(longer(job), "utf-8")
    tree = {
        "run": {"folder": tmp_path / "runs"},
        "models": {"planner": {"model": "offline"}},
        "patterns": {"path": tmp_path / "patterns"},
        "prompts": {"folder": own},
    }
    chosen = Settings.model_validate(tree)
    keep_lesson(chosen)
    task = Task("form", INSTRUCTION, check={"all": CHECK})
    result = await hisa.run(task, settings=chosen, environment=FakeEnvironment())
    assert (result.status, result.score) == ("succeeded", 1), result.message
    run = load_run(result.folder)
    sent = [path.read_text("utf-8", errors="ignore") for path in result.folder.rglob("*.json*")]
    assert any(f"Sentence 1 of {job}:" in text for text in sent)
    shipped = Prompts().hashes
    assert [n for n, h in run.manifest.prompts.items() if h != shipped[n]] == [f"{job}.md"]

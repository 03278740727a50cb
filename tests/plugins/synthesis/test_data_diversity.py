"""The table of diversity: what a model writes in two ways, kept and gone on with, beside sets."""

from __future__ import annotations

import json
import re
import sys
from itertools import count
from pathlib import Path

import pytest

from benchmarks import data_diversity
from hisa.testing import FakeServer
from hisa.testing.model_server import ReceivedRequest
from hisa.testing.word_embedder import WordEmbedder
from tests.plugins.synthesis.test_writing import LOOKS, unpack_exploration

_TASK = """
id: {id}
domain: text_editor
instruction: {instruction}
check: [{{element: {{role: menu, name: File}}}}]
"""


@pytest.fixture
def exploration_folder(tmp_path: Path) -> Path:
    folder = unpack_exploration(LOOKS / "text_editor.json", tmp_path / "pads")
    for id_, instruction in {"one": "Turn on the line numbers.", "two": "Write Berlin."}.items():
        task = folder / "tasks" / id_ / "task.yaml"
        task.parent.mkdir(parents=True)
        task.write_text(_TASK.format(id=id_, instruction=instruction))
    return folder


def _print_diversity(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    server: FakeServer,
    explored: Path,
) -> str:
    home = explored.parent
    (home / "hisa.toml").write_text(f'[models.planner]\nbase_url = "{server.url}"\nmax_retries = 0')
    monkeypatch.chdir(home)
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setattr(data_diversity, "open_embedder", lambda _: WordEmbedder())
    arguments = [str(explored), "-o", "out", "--count", "7", "--model", "gpt-4o"]
    suite = ["--suite", f"people=own:{explored}/tasks"]
    monkeypatch.setattr(sys, "argv", ["data_diversity", *arguments, *suite])
    data_diversity.main()
    return capsys.readouterr().out


def test_diversity_table_holds_written_and_proved_tasks(
    exploration_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    number = count()
    useless = True

    def ideas(received: ReceivedRequest) -> str:
        if useless and "</examples>" in received.text:
            return '{"instructions": ["no"]}'
        return json.dumps({"instructions": [f"Write the word {next(number)}." for _ in range(5)]})

    with FakeServer(then=ideas) as server:
        first = _print_diversity(monkeypatch, capsys, server, exploration_folder)
        useless = False
        second = _print_diversity(monkeypatch, capsys, server, exploration_folder)
        request_count = len(server.requests)
        third = _print_diversity(monkeypatch, capsys, server, exploration_folder)
        assert len(server.requests) == request_count
    assert "pads 7 of 20" in first  # two replies that were kept, two of no use
    assert "| self_instruct | 0 of 0 | - | - |" in first
    assert "pads 14 of 30" in second
    assert third == second
    assert re.search(
        r"\| self_instruct \| 7 of 7 \| 0\.\d\d \(0\.\d\d to 0\.\d\d\) \| 4\.0 ", third
    )
    assert re.search(r"\| reverse \| 2 of 2 \| .* \| 3\.5 \| 0 \| - \| - \|", third)
    assert re.search(r"\| people \| 2 of 2 ", third)
    assert not (exploration_folder / "instructions.jsonl").exists()


def test_distances_are_those_of_all_pairs() -> None:
    embedder = WordEmbedder()
    assert data_diversity.mean_distance(["a b", "b a"], embedder) == pytest.approx(0, abs=1e-6)
    assert data_diversity.mean_distance(["a", "b", "a"], embedder) == pytest.approx(2 / 3)
    assert data_diversity.mean_distance(["a"], embedder) is None

"""``hisa patterns``: every command against a real store."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from hisa.cli.patterns import patterns
from hisa.config import Settings, load
from hisa.errors import StoreError, UsageError
from hisa.patterns.embedders.minilm import MiniLM
from hisa.patterns.stores.edge import EdgeStore
from hisa.testing.word_embedder import WordEmbedder
from tests.patterns.conformance import pattern


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load(overrides={"patterns": {"path": tmp_path / "store"}}, environ={})


@pytest.fixture
def filled_store(settings: Settings) -> EdgeStore:
    store = EdgeStore(settings.patterns.path, MiniLM())
    rows = [
        pattern("abc1", domain="text_editor", lesson="Press Ctrl+S.", source_run="run-7"),
        pattern("abd2", created_at=5.0, kind="failure", lesson="[bold]Not[/bold] Shift+click."),
        pattern("old1", created_at=1.0, status="superseded", superseded_by="old2"),
        pattern("old2", created_at=2.0, status="superseded", superseded_by="abd2"),
        pattern("gone", created_at=3.0, status="removed"),
    ]
    store.put_all([(row, [[1.0] + [0.0] * 383]) for row in rows])
    return store


def run(settings: Settings, *arguments: str, text: str | None = None) -> Result:
    result = CliRunner().invoke(patterns, list(arguments), obj=settings, input=text)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def run_json(settings: Settings, *arguments: str) -> Any:
    result = run(settings, *arguments, "--json")
    assert result.exit_code == 0
    return json.loads(result.stdout)


@pytest.mark.usefixtures("filled_store")
def test_ls_prints_active_ones_newest_first(settings: Settings) -> None:
    lines = run(settings, "ls").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["id", "abd2", "abc1"]
    assert "run-7" in lines[2]
    assert "[bold]Not[/bold] Shift+click." in lines[1]
    assert [row["id"] for row in run_json(settings, "ls", "--domain", "text_editor")] == ["abc1"]
    assert len(run_json(settings, "ls", "--all")) == 5


def test_ls_of_an_empty_store_prints_no_patterns(settings: Settings) -> None:
    result = run(settings, "ls")
    assert result.stdout == ""
    assert "No patterns" in result.stderr
    assert run_json(settings, "ls") == []


@pytest.mark.usefixtures("filled_store")
def test_show_takes_the_beginning_of_an_id(settings: Settings) -> None:
    out = run(settings, "show", "abc").stdout
    assert "Press Ctrl+S." in out
    assert "run-7" in out
    assert run_json(settings, "show", "abd2")["kind"] == "failure"


@pytest.mark.usefixtures("filled_store")
@pytest.mark.parametrize(
    ("prefix", "message"), [("ab", "2 ids begin with it: ab"), ("zz", "not found")]
)
def test_an_id_that_names_none_or_several_is_refused(
    settings: Settings, prefix: str, message: str
) -> None:
    for command in ("show", "rm"):
        with pytest.raises(UsageError, match=message) as caught:
            run(settings, command, prefix)
        assert caught.value.fix


def test_search_marks_patterns_that_a_run_would_use(settings: Settings) -> None:
    condition = "Write text in the text editor and save it as a file"
    run(settings, "add", "Press Ctrl+S.", "--domain", "text_editor", "--condition", condition)
    run(settings, "add", "Use two rows.", "--domain", "calc", "--condition", "Sort a long list")
    text = "Create a text file called todo.txt with the text buy milk using the text editor"
    hits = run_json(settings, "search", text)
    assert [(hit["lesson"], hit["retrieved"]) for hit in hits] == [
        ("Press Ctrl+S.", True),
        ("Use two rows.", False),
    ]
    assert "Press Ctrl+S." in run(settings, "search", text, "--limit", "1").stdout
    assert "No patterns found" in run(settings, "search", text, "--domain", "x").stderr


def test_add_supersedes_a_lesson_with_the_same_meaning(settings: Settings) -> None:
    first = run_json(settings, "add", "Press Ctrl+S and type the path.", "--condition", "Save")
    second = run_json(settings, "add", "Press Ctrl+S, then type the path at once.")
    assert second["superseded"] == [first["id"]]
    assert second["embedder"] == "minilm"
    warned = run_json(settings, "add", "Press Ctrl+S, then type a path.", "--kind", "failure")
    assert warned["superseded"] == []
    shown = run(settings, "add", "Press Ctrl+S and then type the path.").stdout
    assert f"{second['id']} superseded" in shown
    every = run_json(settings, "ls", "--all")
    assert [row["status"] for row in every].count("superseded") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x" * 501,), "501 characters"),
        (("\n ",), "lesson: empty"),
        (("x", "--domain", "Calc!"), "domain 'Calc!'"),
    ],
)
def test_add_refuses_an_invalid_lesson(
    settings: Settings, arguments: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        run(settings, "add", *arguments)
    assert run(settings, "add", "x", "--kind", "maybe").exit_code == 2


@pytest.mark.usefixtures("filled_store")
def test_rm_takes_out_of_use_and_purge_deletes(settings: Settings) -> None:
    assert run(settings, "rm", "abc1", "abd2").stdout == "abc1 removed\nabd2 removed\n"
    assert run_json(settings, "ls") == []
    assert run_json(settings, "show", "abc1")["status"] == "removed"
    assert run(settings, "rm", "--purge", "abc1").stdout == "abc1 deleted\n"
    with pytest.raises(UsageError, match="not found"):
        run(settings, "show", "abc1")


@pytest.mark.usefixtures("filled_store")
def test_export_and_import_through_files_and_pipes(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    assert "5 patterns written" in run(settings, "export", str(file)).stderr
    piped = run(settings, "export", "-", "--domain", "text_editor").stdout
    assert json.loads(piped)["pattern"]["id"] == "abc1"
    fresh = load(overrides={"patterns": {"path": tmp_path / "fresh"}}, environ={})
    assert run(fresh, "import", str(file)).stdout == "5 added, 0 replaced\n"
    assert run(fresh, "import", "-", text=piped).stdout == "0 added, 1 replaced\n"
    assert run_json(fresh, "import", str(file)) == {"added": 0, "replaced": 5}
    before = run_json(fresh, "ls", "--all")
    with pytest.raises(UsageError, match="<stdin>:1"):
        run(fresh, "import", "-", text="{}")
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not UTF-8"):
        run(fresh, "import", str(file))
    assert run_json(fresh, "ls", "--all") == before
    assert run(fresh, "import", str(tmp_path / "none")).exit_code == 2


def test_a_store_that_another_embedder_filled_is_refused(settings: Settings) -> None:
    words = WordEmbedder()
    store = EdgeStore(settings.patterns.path, words)
    store.put(pattern("abc1", condition="Sort a list"), words.embed(["Sort a list"])[0])
    with pytest.raises(StoreError, match="'words', not 'minilm'") as caught:
        run(settings, "ls")
    assert caught.value.fix.startswith("hisa --set patterns.embedder=words patterns export")


def test_rules_are_listed_with_those_that_the_advice_has_no_room_for(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("domains: calc\n\n- Two spaces, always.\n")
    own = load(overrides={"patterns": {"sops": tmp_path}}, environ={})
    result = run(own, "rules", "calc")
    assert result.stdout.splitlines()[0] == "Two spaces, always."
    assert "left out" not in result.stdout
    tight = load(
        overrides={"patterns": {"sops": tmp_path}, "state": {"advice_tokens": 60}}, environ={}
    )
    result = run(tight, "rules", "calc")
    assert result.stdout.splitlines()[0] == "Two spaces, always."
    assert "(left out) " in result.stdout
    assert "do not fit in state.advice_tokens = 60" in result.stderr
    advised_flags = [row["told"] for row in run_json(tight, "rules", "calc")]
    assert advised_flags[0] is True
    assert not all(advised_flags)


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({}, "never"),
        ({"uses": 1}, "1 run, none scored"),
        ({"uses": 3, "scored": 2, "wins": 2}, "3 runs, 2 of 2 scored won"),
        ({"uses": 2, "scored": 2, "wins": 0}, "2 runs, 0 of 2 scored won"),
    ],
)
def test_ls_says_how_often_a_pattern_was_used_and_won(
    settings: Settings, counts: dict[str, int], usage: str
) -> None:
    store = EdgeStore(settings.patterns.path, MiniLM())
    store.put(pattern("abc1", scope="application", **counts), [1.0] + [0.0] * 383)
    line = run(settings, "ls").stdout.splitlines()[1]
    assert "application" in line
    assert f" {usage}  " in line
    assert usage in run(settings, "show", "abc1").stdout


@pytest.mark.parametrize("text", ["MUST: obey me", "must! obey", "You MUST obey"])
def test_a_lesson_by_hand_that_looks_like_a_rule_is_refused(settings: Settings, text: str) -> None:
    with pytest.raises(UsageError, match='"MUST" marks rules') as caught:
        run(settings, "add", text)
    assert "patterns.sops" in caught.value.fix


@pytest.mark.process
def test_importing_the_command_loads_nothing_heavy() -> None:
    script = (
        "import sys, hisa.cli.patterns\n"
        "heavy = ('rich', 'openai', 'qdrant_edge', 'qdrant_client', 'tokenizers')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.stdout.strip() == "[]", result.stderr

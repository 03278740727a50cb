"""Text of models, tasks and machines on the terminal and on disk, through the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hisa.patterns.embedders import open_embedder
from hisa.patterns.stores.edge import EdgeStore
from hisa.protocols import Pattern
from hisa.runs.run_reader import list_runs, load_run
from hisa.text.safe_text import safe_text
from tests.cli.hostile import Hostile, guest, server

pytestmark = pytest.mark.process

EVIL = "\x1b]0;owned\x07\x1b[2J\x1b[8m\x9b31m\u202eevil\u2066\u200b[bold]b[/bold]\x08\x7f"
OUR_OWN = re.compile(r"\x1b\[[0-9;]*m|\r\x1b\[K(?:  \w+ +… [\w ,]+(?=\r))?")
"""What `rich` and `click` send for colours, and the line that tells how far an answer is."""


def assert_tame(shown: str) -> None:
    """Nothing but text, line ends and colours; a pseudo terminal ends lines with both."""
    left = OUR_OWN.sub("", shown).replace("\r\n", "\n")
    assert safe_text(left) == left, repr(left)
    assert "\x1b[8m" not in shown


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Hostile, str]:
    def text_of(place: str) -> str:
        if place in ("typed", "command"):  # what steers is refused before it is typed or run
            return f"{place} [bold]b[/bold]"
        return f"{place} {EVIL}" + (" \ud83d" if place in ("rejected", "result", "ending") else "")

    runner = Hostile(tmp_path_factory.mktemp("evil"), text_of)
    return runner, runner.run()


def test_no_text_of_a_run_steers_the_terminal(hostile: tuple[Hostile, str]) -> None:
    runner, shown = hostile
    (folder,) = list_runs(runner.folder / "runs")
    assert load_run(folder).status == "succeeded"
    flat = shown.replace("\r\n", "").replace("\n", "")
    assert "instruction \\x1b]0;owned" in flat
    assert "command [bold]b[/bold]" in flat
    for place in ("thought", "description"):  # prose of a reply is cleaned where it comes in
        assert f"{place} ]0;owned" in " ".join(flat.split()), place
    assert "[bold]b[/bold]" in shown, "markup is text"
    assert_tame(shown)


@pytest.mark.parametrize(
    "words",
    [
        ("ls",),
        ("show",),
        ("show", "--json"),
        ("show", "--events"),
        ("show", "--step", "3"),
    ],
    ids=" ".join,
)
def test_no_text_of_a_log_steers_the_terminal(
    hostile: tuple[Hostile, str], words: tuple[str, ...]
) -> None:
    runner, _ = hostile
    shown = runner.terminal("runs", *words)
    assert "Traceback" not in shown
    assert_tame(shown)


def test_no_pattern_steers_the_terminal(hostile: tuple[Hostile, str]) -> None:
    """Put into the store past every check, as another writer could."""
    runner, _ = hostile
    embedder = open_embedder("minilm")
    pattern = Pattern(
        id="0" * 32,
        domain="general",
        kind="success",
        lesson=f"lesson {EVIL}",
        condition=f"condition {EVIL}",
        actions=f"actions {EVIL}",
        expected=f"expected {EVIL}",
        source_run=f"run {EVIL}",
        embedder=embedder.name,
    )
    store = EdgeStore(runner.folder / "patterns", embedder)
    store.put(pattern, embedder.embed(["lesson"])[0])
    store.close()
    for words in (("ls",), ("show", "0", "--json")):
        shown = runner.terminal("patterns", *words)
        assert "lesson " in shown, shown
        assert_tame(shown)


def test_task_of_bytes_that_are_no_text_runs(tmp_path: Path) -> None:
    runner = Hostile(tmp_path, lambda place: place)
    with server(lambda place: place) as model, guest(lambda place: place) as machine:
        shown = runner.terminal(
            "run",
            "type \udcff now",
            "--env",
            f"guest={machine.url}",
            "--model",
            "anything",
            "--budget-usd",
            "1",
            url=model.url,
        )
    assert "Traceback" not in shown
    assert "type \ufffd now" in shown
    assert "the price of anything is not known" in shown
    (folder,) = list_runs(tmp_path / "runs")
    assert load_run(folder).status == "succeeded"

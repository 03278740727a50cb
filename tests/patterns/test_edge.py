"""The embedded store under several processes, kill -9 and damage."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hisa.errors import StoreError
from hisa.patterns.stores.edge import EdgeStore
from hisa.patterns.stores.vector_store import RESTORE
from hisa.testing.word_embedder import WordEmbedder
from tests.patterns.conformance import at, pattern

WORDS = WordEmbedder("words", 4)

WRITER = """
import sys
from pathlib import Path
from hisa.testing.word_embedder import WordEmbedder
from hisa.patterns.stores.edge import EdgeStore
from tests.patterns.conformance import at, pattern
folder, name, count = sys.argv[1:]
store = EdgeStore(Path(folder), WordEmbedder("words", 4))
for number in range(int(count)):
    store.put(pattern(f"{name}{number}"), at(number))
    print(number, flush=True)
"""

HOLDER = """
import sys
from pathlib import Path
from filelock import FileLock
with FileLock(Path(sys.argv[1]) / "lock"):
    print("held", flush=True)
    sys.stdin.read()
"""


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


@pytest.mark.process
def test_two_processes_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    writers = [start(WRITER, str(tmp_path), name, "8") for name in "ab"]
    for process in writers:
        process.communicate(timeout=120)
        assert process.returncode == 0
    ids = {entry.id for entry in EdgeStore(tmp_path, WORDS).list()}
    assert ids == {f"{name}{number}" for name in "ab" for number in range(8)}


@pytest.mark.process
def test_a_store_that_stays_in_use_is_named_with_a_way_out(tmp_path: Path) -> None:
    holder = start(HOLDER, str(tmp_path))
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(StoreError, match="in use by other processes") as caught:
        EdgeStore(tmp_path, WORDS, patience=0.1).list()
    assert "patterns.path" in caught.value.fix
    holder.communicate("", timeout=30)
    assert EdgeStore(tmp_path, WORDS).list() == []


@pytest.mark.process
def test_kill_9_while_writing_loses_at_most_the_write_in_flight(tmp_path: Path) -> None:
    writer = start(WRITER, str(tmp_path), "p", "100000")
    assert writer.stdout
    last_written = [int(writer.stdout.readline()) for _ in range(20)][-1]
    os.kill(writer.pid, signal.SIGKILL)
    rest, _ = writer.communicate(timeout=30)
    last_written = max([last_written, *(int(line) for line in rest.split())])
    store = EdgeStore(tmp_path, WORDS)
    ids = {entry.id for entry in store.list()}
    assert {f"p{number}" for number in range(last_written + 1)} <= ids
    assert len(ids) <= last_written + 2
    store.put(pattern("after"), at(0))
    assert store.get("after") is not None


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = EdgeStore(tmp_path / "file" / "store", WORDS)
    with pytest.raises(StoreError, match="Not a directory") as caught:
        store.put(pattern(), at(0))
    assert "patterns.path" in caught.value.fix


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "x"}', "\xff"])
def test_unreadable_meta_data_is_named(tmp_path: Path, text: str) -> None:
    EdgeStore(tmp_path, WORDS).put(pattern(), at(0))
    (tmp_path / "meta.json").write_text(text, encoding="latin-1")
    with pytest.raises(StoreError, match=r"meta\.json cannot be read"):
        EdgeStore(tmp_path, WORDS).list()


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    EdgeStore(tmp_path, WORDS).put(pattern(), at(0))
    path = tmp_path / "meta.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 99}))
    with pytest.raises(StoreError, match="has schema 99; this HiSA reads 1"):
        EdgeStore(tmp_path, WORDS).list()


# ---------------------------------------------------------------- damage


def fill_store(folder: Path) -> EdgeStore:
    store = EdgeStore(folder, WORDS)
    # One by one: the last write would be played back from the engine's own log.
    for number in range(8):
        store.put(pattern(f"p{number}"), at(number))
    return store


def cut_tracker(folder: Path) -> None:
    (path,) = folder.rglob("mutable_id_tracker.mappings")
    os.truncate(path, path.stat().st_size // 2)


def drop(pattern_: str) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        for path in list(folder.rglob(pattern_)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    return act


@pytest.mark.parametrize(
    "damage",
    [
        drop("segments"),
        drop("mutable_id_tracker.mappings"),
        drop("mutable_id_tracker.versions"),
        drop("version.info"),
        drop("meta.json"),
        drop("shard-1"),
        cut_tracker,
    ],
)
def test_no_damage_reads_as_fewer_patterns(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    fill_store(tmp_path)
    damage(tmp_path)
    store = EdgeStore(tmp_path, WORDS)
    for read in (
        lambda: store.list(),
        lambda: store.search(at(0), domain="calc", limit=9, threshold=0.0),
        lambda: store.get("p1"),
        lambda: store.put(pattern("new"), at(0)),
    ):
        with pytest.raises(StoreError) as caught:
            read()
        assert caught.value.fix == RESTORE

"""Export and import: everything comes back, or nothing is written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from hisa.cli.pattern_files import export_lines, import_patterns, write_atomically
from hisa.errors import ModelUnavailable, UsageError
from hisa.patterns.stores.edge import EdgeStore
from hisa.testing.word_embedder import WordEmbedder
from tests.patterns.conformance import pattern

WORDS = WordEmbedder()


class Counting(WordEmbedder):
    """Counts the texts it embeds; gives up after ``limit`` of them."""

    def __init__(self, name: str = "words", limit: int = 10**9) -> None:
        super().__init__(name)
        self.count = 0
        self.limit = limit

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        self.count += len(texts)
        if self.count > self.limit:
            raise ModelUnavailable("gone")
        return super().embed(texts)


def fill_store(folder: Path) -> EdgeStore:
    store = EdgeStore(folder, WORDS)
    rows = [
        pattern(
            "a1", lesson="save the file", created_at=1.0, embedder="words", uses=2, scored=1, wins=1
        ),
        pattern("b1", lesson="sort a list", created_at=2.0, embedder="words", domain="writer"),
        pattern("c1", created_at=3.0, embedder="words", status="superseded", superseded_by="a1"),
    ]
    store.put_all([(row, WORDS.embed([row.lesson])) for row in rows])
    return store


def test_import_restores_all_exported_patterns(tmp_path: Path) -> None:
    store = fill_store(tmp_path / "one")
    lines = list(export_lines(store))
    other = EdgeStore(tmp_path / "two", WORDS)
    assert import_patterns(other, lines, embedder=WORDS, name="f") == (3, 0)
    assert other.list(status=None) == store.list(status=None)
    vector = WORDS.embed(["save the file"])[0]
    (hit,) = other.search(vector, domain="calc", limit=1, threshold=0.99)
    assert hit.pattern.id == "a1"


def test_import_replaces_by_id_and_keeps_the_rest(tmp_path: Path) -> None:
    store = fill_store(tmp_path)
    line = json.dumps(
        {"v": 1, "pattern": {"id": "a1", "domain": "calc", "kind": "failure", "lesson": "new"}}
    )
    assert import_patterns(store, ["", line], embedder=WORDS, name="f") == (0, 1)
    assert len(store.list(status=None)) == 3
    entry = store.get("a1")
    assert entry is not None
    assert (entry.kind, entry.lesson) == ("failure", "new")


GOOD = '{"v":1,"pattern":{"id":"n1","domain":"calc","kind":"success","lesson":"x"}}'


def edit_line(v: int = 1, **fields: object) -> str:
    line = json.loads(GOOD)
    line["pattern"] |= {"id": "n2"} | fields
    return json.dumps(line | {"v": v})


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("{", "Invalid JSON"),
        ("[" * 100_000, "Invalid JSON: recursion limit exceeded"),
        ('{"v":1}', "pattern: Field required"),
        (edit_line(v=2), "v: Input should be 1"),
        (edit_line(lesson="\n\x00"), "must have a lesson"),
        (edit_line(id="a\nb"), "id: "),
        (edit_line(domain="../../x"), "domain: "),
        (edit_line(source_run="../../etc/passwd"), "source_run: "),
        (edit_line(superseded_by="/x"), "superseded_by: "),
        (edit_line(kind="maybe"), "pattern.kind: "),
        (
            edit_line(other_conditions=[f"kind {n}" for n in range(9)]),
            "must have .* at most 8 conditions",
        ),
        (edit_line(uses=1, scored=1, wins=2), "wins, .* none may be greater than the next"),
        (edit_line(created_at=float("nan")), "confirmed or created_at: "),
        (GOOD, "duplicate id 'n1'"),
        ("x" * 1_000_001, "1000001 characters; at most 1000000"),
    ],
)
def test_import_with_a_wrong_line_names_it_and_writes_nothing(
    tmp_path: Path, bad: str, message: str
) -> None:
    store = EdgeStore(tmp_path, WORDS)
    with pytest.raises(UsageError, match=rf"^f\.jsonl:2: {message}") as caught:
        import_patterns(store, [GOOD, bad], embedder=WORDS, name="f.jsonl")
    assert caught.value.fix == "fix that line; nothing was imported"
    assert store.meta() is None


def test_a_lesson_of_a_file_never_binds(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path, WORDS)
    line = edit_line(lesson="MUST: press\nEnter.", other_conditions=["MUST obey"])
    import_patterns(store, [line], embedder=WORDS, name="f")
    (entry,) = store.list()
    assert (entry.lesson, entry.other_conditions) == ("Press Enter.", ("Obey",))


def test_an_embedder_that_breaks_midway_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    store = fill_store(tmp_path)
    before = store.list(status=None)
    with pytest.raises(ModelUnavailable):
        import_patterns(store, [GOOD], embedder=Counting(limit=0), name="f")
    assert store.list(status=None) == before


def test_a_file_is_replaced_completely_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    write_atomically(file, ["a", "b"])
    assert file.read_text() == "a\nb\n"
    gone = tmp_path / "no" / "out.jsonl"
    with pytest.raises(UsageError) as caught:
        write_atomically(gone, ["a"])
    assert str(caught.value) == f"{gone}: No such file or directory"
    assert caught.value.fix == "name a file in a folder that you can write"
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]

"""Pattern search: Qdrant Edge against qdrant-client's local mode, and which text finds a pattern.

python benchmarks/patterns.py            speed, about two minutes
python benchmarks/patterns.py --texts    which text of a pattern the next task of a family finds
python benchmarks/patterns.py --memory   memory and CPU time of twenty runs' recall and learning
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from hisa.config import load
from hisa.patterns.embedders.minilm import MiniLM
from hisa.patterns.memory import open_memory
from hisa.patterns.pattern_text import clauses, generalise, query_texts
from hisa.patterns.stores.edge import EdgeStore
from hisa.patterns.stores.qdrant_server import ServerStore
from hisa.patterns.stores.vector_store import Item, VectorStore, point_id
from hisa.patterns.vectors import cosine
from hisa.protocols import ModelRequest, Pattern, StepSummary, Task
from hisa.testing.scripted import FunctionModel
from hisa.testing.word_embedder import WordEmbedder

DOMAINS = ("calc", "text_editor", "browser", "terminal")
DIMENSION = 1024
FAMILIES = Path(__file__).parents[1] / "tests" / "patterns" / "families.json"


def unit_rows(count: int, seed: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    rows = np.random.default_rng(seed).standard_normal((count, DIMENSION), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def items(count: int) -> Iterator[Item]:
    for number, row in enumerate(unit_rows(count, 0)):
        domain = DOMAINS[number % len(DOMAINS)]
        lesson = f"lesson {number} with some words that stand for a real one"
        yield Pattern(f"p{number}", domain, "success", lesson, created_at=number), [row.tolist()]


def time_action(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def median(action: Callable[[], object], times: int) -> float:
    return statistics.median(time_action(action) for _ in range(times))


def search(store: VectorStore, query: Sequence[float]) -> object:
    return store.search(query, domain="calc", limit=5, threshold=-1.0)


def measure_edge(folder: Path, count: int, queries: list[list[float]]) -> dict[str, float]:
    embedder = WordEmbedder("random", DIMENSION)
    store = EdgeStore(folder, embedder)
    patterns = list(items(count))
    turn = iter(queries * 100)
    result = {"insert_s": time_action(lambda: store.put_all(patterns))}
    result["reopen_s"] = median(lambda: EdgeStore(folder, embedder).get("p0"), 3)
    result["query_alone_ms"] = 1000 * median(lambda: search(store, next(turn)), 11)
    with store.session():
        search(store, next(turn))
        result["query_ms"] = 1000 * median(lambda: search(store, next(turn)), 31)
    return result


def measure_local(folder: Path, count: int, queries: list[list[float]]) -> dict[str, float]:
    """The client's own calls, so that nothing of HiSA counts against it."""
    from qdrant_client import QdrantClient, models

    client = QdrantClient(path=str(folder))
    client.create_collection(
        "p", vectors_config=models.VectorParams(size=DIMENSION, distance=models.Distance.COSINE)
    )
    points = [
        models.PointStruct(id=point_id(p.id), vector=rows[0], payload=asdict(p))
        for p, rows in items(count)
    ]
    insert = time_action(
        lambda: [client.upsert("p", points[i : i + 256]) for i in range(0, len(points), 256)]
    )
    query_filter = models.Filter(
        must=[
            models.FieldCondition(key="domain", match=models.MatchValue(value="calc")),
            models.FieldCondition(key="status", match=models.MatchValue(value="active")),
        ]
    )
    turn = iter(queries * 100)

    def query() -> object:
        return client.query_points(
            "p", query=next(turn), query_filter=query_filter, limit=5, with_payload=True
        )

    query()
    seconds = median(query, 11 if count < 5000 else 5)
    client.close()
    start = time.perf_counter()
    client = QdrantClient(path=str(folder))
    reopen = time.perf_counter() - start
    client.close()
    return {"insert_s": insert, "reopen_s": reopen, "query_ms": 1000 * seconds}


def same_answers(count: int) -> bool:
    """Both engines find the same patterns."""
    from qdrant_client import QdrantClient

    embedder = WordEmbedder("random", DIMENSION)
    patterns = list(items(count))
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        edge = EdgeStore(Path(folder), embedder)
        client = QdrantClient(":memory:")
        stack.callback(client.close)
        local = ServerStore(client, "p", embedder=embedder)
        for store in (edge, local):
            store.put_all(patterns)
        query = unit_rows(1, 2)[0].tolist()
        ids = [
            [h.pattern.id for h in s.search(query, domain="calc", limit=5, threshold=-1)]
            for s in (edge, local)
        ]
    return ids[0] == ids[1]


def speed(sizes: Sequence[int]) -> dict[str, Any]:
    warnings.filterwarnings("ignore", message=".*local mode.*|.*local Qdrant.*")
    queries = [row.tolist() for row in unit_rows(16, 1)]
    rows = []
    for count in sizes:
        with tempfile.TemporaryDirectory() as folder:
            edge = measure_edge(Path(folder) / "edge", count, queries)
            local = measure_local(Path(folder) / "local", count, queries)
        ratios = {name: local[name] / edge[name] for name in local}
        rows.append({"points": count, "edge": edge, "local": local, "ratio": ratios})
    return {
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
        "dimension": DIMENSION,
        "same_answers": same_answers(500),
        "sizes": rows,
    }


def print_speed(result: dict[str, Any]) -> None:
    print(f"{result['date']}, {result['machine']}, {DIMENSION}-d, {len(DOMAINS)} domains")
    print(f"same answers from both: {result['same_answers']}")
    for row in result["sizes"]:
        print(f"\n{row['points']} points       Qdrant Edge    local mode     ratio")
        for name in ("query_ms", "insert_s", "reopen_s"):
            edge, local = row["edge"][name], row["local"][name]
            print(f"  {name:<14} {edge:12.3f} {local:13.3f} {row['ratio'][name]:8.1f}x")
        alone = row["edge"]["query_alone_ms"]
        print(
            f"  {'query_alone_ms':<14} {alone:12.3f}   (opens and closes the store for one query)"
        )


# ---------------------------------------------------------------- which text


def texts() -> dict[str, Any]:
    """Cosine of the second task of each family with several texts made of the first.

    As in a run, the queries are the task's instruction, the same without its values, and its
    clauses, whichever is nearest.
    """
    families = json.loads(FAMILIES.read_text(encoding="utf-8"))
    model = MiniLM()
    kinds: dict[str, Callable[[dict[str, str]], str]] = {
        "condition": lambda f: f["condition"],
        "lesson": lambda f: f["lesson"],
        "condition + lesson": lambda f: f"{f['condition']}. {f['lesson']}",
        "instruction": lambda f: f["first"],
        "instruction, generalised": lambda f: generalise(f["first"]),
        "instruction + lesson": lambda f: f"{f['first']} {f['lesson']}",
        "clause nearest to the lesson": lambda f: nearest_clause(model, f["first"], f["lesson"]),
    }
    queries = [np.array(model.embed(query_texts(family["second"]))) for family in families]
    groups = [family["condition"] for family in families]
    same_group = np.array([[a == b for b in groups] for a in groups])
    own = np.eye(len(families), dtype=bool)
    result = {}
    for name, text in kinds.items():
        places = np.array(model.embed([text(family) for family in families])).T
        scores = np.array([(rows @ places).max(axis=0) for rows in queries])
        result[name] = {
            "same_median": float(np.median(scores[own])),
            "same_least": float(scores[own].min()),
            "same_retrieved": float((scores[own] >= 0.5).mean()),
            "other_most": float(scores[~same_group].max()),
            "other_retrieved": float((scores[~same_group] >= 0.5).mean()),
        }
    return result


def nearest_clause(model: MiniLM, instruction: str, lesson: str) -> str:
    """The skill in the instruction that the lesson is about, as `PatternMemory` finds it."""
    parts = clauses(instruction) or [generalise(instruction)]
    vector, *rest = model.embed([lesson, *parts])
    return max(zip(parts, rest, strict=True), key=lambda pair: cosine(vector, pair[1]))[0]


def print_texts(result: dict[str, Any]) -> None:
    print("text embedded for a pattern     same family: median  least  >=0.5   others: most  >=0.5")
    for name, row in result.items():
        print(
            f"{name:<31} {row['same_median']:19.2f} {row['same_least']:6.2f} "
            f"{row['same_retrieved']:6.0%} {row['other_most']:14.2f} {row['other_retrieved']:6.0%}"
        )


# ---------------------------------------------------------------- memory and CPU time


def resident() -> dict[str, float]:
    """This process's memory in MB: now, and at most so far."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    fields = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith("Vm")}
    return {name: int(fields[key]) / 1024 for name, key in (("now", "VmRSS"), ("most", "VmHWM"))}


def memory(runs: int = 20) -> dict[str, Any]:
    """Recall, learning and credit of so many runs in one process, the models' own time left out."""
    count = iter(range(1, 10**6))

    def answer(request: ModelRequest) -> str:
        if not request.text.startswith("# Pattern induction"):
            return "- [p1] Do as was learned."
        number = next(count)
        lesson = f"Lesson {number}: open the menu {number * 13} before entry {number * 7}."
        pattern = {"type": "success", "lesson": lesson, "condition": "Save a file", "steps": [1]}
        return json.dumps({"patterns": [pattern]})

    line = "Step 1: gui_action | Input: pyautogui.press('down') | Result: Succeeded."
    task = Task("t", 'Open the text editor. Type "x". Save the file as "x.txt".', "text_editor")
    rows = [{"run": 0, "cpu_s": 0.0} | resident()]

    async def run(number: int, folder: str) -> None:
        settings = load(overrides={"patterns": {"path": folder}}, environ={})
        room = open_memory(
            settings.patterns, settings.state, FunctionModel(answer), lambda event: None
        )
        ids = [hit.pattern.id for hit in (await room.recall(task)).patterns]
        await room.induct(task, f"run-{number}", lines=(line,))
        await room.credit(ids, steps=[StepSummary("As [p1] says.", line)], won=True)
        room.close()

    with tempfile.TemporaryDirectory() as folder:
        for number in range(1, runs + 1):
            begun = time.process_time()
            asyncio.run(run(number, folder))
            rows.append({"run": number, "cpu_s": time.process_time() - begun} | resident())
    model, text = MiniLM(), "Save the file under another name in the text editor."
    model.embed([text])
    begun = time.process_time()
    for _ in range(10):
        model.embed([text])
    return {"runs": rows, "embed_one_cpu_s": (time.process_time() - begun) / 10}


def print_memory(result: dict[str, Any]) -> None:
    print("runs   resident MB   most so far   CPU s of the last")
    for row in result["runs"]:
        if row["run"] in (0, 1, 2, 5, 10, 20):
            print(f"{row['run']:4} {row['now']:13.1f} {row['most']:13.1f} {row['cpu_s']:15.2f}")
    print(f"one text embedded, with the model loaded: {result['embed_one_cpu_s']:.3f} s of CPU")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--texts", action="store_true", help="which text finds a pattern")
    parser.add_argument("--memory", action="store_true", help="memory and CPU time of runs")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 20000])
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    result = memory() if chosen.memory else texts() if chosen.texts else speed(chosen.sizes)
    if chosen.json:
        print(json.dumps(result, indent=2))
    elif chosen.memory:
        print_memory(result)
    elif chosen.texts:
        print_texts(result)
    else:
        print_speed(result)


if __name__ == "__main__":
    main()

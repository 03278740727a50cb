"""Programs learned on three seeds of a page of MiniWoB++, played on fresh ones, beside a model.

    python -m benchmarks.replay_miniwob [PAGE...] [-n N] [--model NAME --steps K] [--out FOLDER]

Each page is shown on three seeds by its script (`benchmarks.miniwob_words`), or by the offline
model where that fails. The solved runs become one program, with its values as parameters, which is
proved by the page's own score. On a fresh seed a program is chosen by the page's instruction and
played; a page without one counts as not solved. The offline model, or that of --model, does the
same seeds. FOLDER gets a line an episode; the same command goes on where it stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import hisa
from benchmarks.machine import machine
from benchmarks.miniwob_words.player import play as show
from hisa.config import Settings
from hisa.errors import OperatorError
from hisa.events import ModelCalled
from hisa.plugins.benchmarks.bench.stats import wilson
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.gym.miniwob.outcome import episode_state
from hisa.plugins.replay.compiling import compile_run
from hisa.plugins.replay.fitting import fitting_program
from hisa.plugins.replay.playing import play
from hisa.plugins.replay.program_records import read_program, write_program
from hisa.plugins.replay.proving import prove
from hisa.plugins.replay.run_families import of_family
from hisa.runs.manifest import TaskRecord
from hisa.runs.read import Run, load_run
from hisa.tasks.scorer import TaskScorer
from hisa.tasks.taskfile import load_task

PAGES = (
    "click-test-2", "click-button", "click-link", "click-option", "click-tab", "click-dialog-2",
    "focus-text-2", "enter-text", "enter-password", "enter-date", "login-user-popup",
    "use-autocomplete", "read-table", "choose-list", "click-checkboxes-transfer",
    "form-sequence-2", "search-engine", "email-inbox-delete", "email-inbox-reply", "navigate-tree",
)  # fmt: skip
"""Of one act and of several; fixed before any of them was compiled. On some the acts or what is
typed follow from what the page shows, which no program can know: they count as not solved."""
SHOWN, FRESH = (101, 102, 103), 1
"""Seeds that are learned from, and the first of those that are played."""


@dataclass(frozen=True)
class Row:
    """One episode: ``end`` is solved, no program, no fit, halted, wrong, unsolved, or machine."""

    page: str
    seed: int
    arm: str
    end: str
    reason: str = ""
    steps: int = 0
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0


def settings_in(folder: Path, seed: int, model: str = "offline", steps: int = 20) -> Settings:
    tree = {
        "run": {"folder": folder, "seed": seed, "max_steps": steps},
        "models": {"planner": {"model": model}, "state": {"model": "offline"}},
        "grounder": {"kind": "elements"},
        "patterns": {"enabled": False},
    }
    return Settings.model_validate(tree)


async def shown(page: str, seed: int, folder: Path) -> tuple[Run | None, str]:
    """The solved run of a seed, by its script or else the offline model; or why there is none."""
    kept = folder / "shown" / f"{page}-{seed}"
    for file in kept.glob("*/run.json"):  # of a command that was stopped
        if (run := load_run(file.parent)).success:
            return run, ""
    async with DesktopEnvironment() as desktop:
        episode = await show(desktop, page, seed, folder=kept)
    if episode.done:
        return load_run(max(kept.glob("*/run.json")).parent), ""
    async with DesktopEnvironment() as desktop:
        task = load_task(f"miniwob:{page}", seed=seed)
        result = await hisa.run(task, settings=settings_in(kept, seed), environment=desktop)
    reason = episode.broken or episode.reason
    return load_run(result.folder) if result.success else None, f"{seed} by its script: {reason}"


async def learn(page: str, folder: Path) -> str:
    """Make the page's program of its shown runs; returns why there is none, or an empty text."""
    place, part = folder / "programs" / page, folder / "parts" / page
    tries = [await shown(page, seed, folder) for seed in SHOWN]
    runs = [run for run, _ in tries if run is not None]
    for _, failed in tries:
        print(f"{page} {failed}" if failed else "", end="\n" * bool(failed), file=sys.stderr)
    if len(runs) < 2:
        return f"{len(SHOWN) - len(runs)} of {len(SHOWN)} shown runs failed; {tries[0][1]}"
    try:
        program = of_family([compile_run(run, page, part) for run in runs])
        write_program(program, part)
        settings = settings_in(folder / "runs", SHOWN[0])
        program = await prove(program, part, settings, agree=lambda _: False, take=True)
    except OperatorError as error:
        return f"of {len(runs)} runs: {error}"
    write_program(program, part)
    place.parent.mkdir(parents=True, exist_ok=True)
    part.rename(place)
    return ""


async def by_program(page: str, seed: int, folder: Path, lacking: str) -> Row:
    if lacking:
        return Row(page, seed, "program", "no program", lacking)
    began = time.monotonic()
    async with DesktopEnvironment() as desktop:
        task = await TaskScorer().prepare(load_task(f"miniwob:{page}", seed=seed), desktop)
        fit = fitting_program(task, folder / "programs")
        if isinstance(fit, str):
            return Row(
                page, seed, "program", "no fit", task.instruction, seconds=time.monotonic() - began
            )
        place, values = fit
        record = TaskRecord.of(task).model_dump(mode="json", exclude_defaults=True)
        program = read_program(place).model_copy(update={"task": record})
        played = await play(
            program, place, settings_in(folder / "runs", seed), values=values, environment=desktop
        )
        state = await episode_state(desktop)
    over = state is not None and state.reward is not None
    wrong = over or played.outcome == "done unverified"
    end = "solved" if played.outcome == "verified" else "wrong" if wrong else "halted"
    return row_of(page, seed, "program", end, played.folder, began, played.reason)


async def by_model(page: str, seed: int, folder: Path, model: str, steps: int) -> Row:
    began = time.monotonic()
    async with DesktopEnvironment() as desktop:
        settings = settings_in(folder / "runs", seed, model, steps)
        task = load_task(f"miniwob:{page}", seed=seed)
        result = await hisa.run(task, settings=settings, environment=desktop)
    end = "solved" if result.success else "unsolved"
    return row_of(page, seed, model, end, result.folder, began, result.message)


def row_of(
    page: str, seed: int, arm: str, end: str, folder: Path, began: float, reason: str
) -> Row:
    run = load_run(folder)
    asked = [event for event in run.events if isinstance(event, ModelCalled)]
    asked = [event for event in asked if not event.model.startswith("offline")]
    return Row(
        page,
        seed,
        arm,
        end,
        reason,
        run.last_step,
        len(asked),
        sum(event.tokens_in for event in asked),
        round(time.monotonic() - began, 2),
    )


class Episodes:
    """Episodes of a folder: those that are there are not played again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._file = folder, folder / "episodes.jsonl"
        lines = self._file.read_text("utf-8").splitlines() if self._file.exists() else []
        self.rows = [Row(**json.loads(line)) for line in lines]

    def has(self, page: str, seed: int, arm: str) -> bool:
        """Whether it was played."""
        return any((row.page, row.seed, row.arm) == (page, seed, arm) for row in self.rows)

    def add(self, row: Row) -> None:
        """Write it down, and say it."""
        self.rows.append(row)
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")
        print(
            f"{row.page} {row.seed} {row.arm}: {row.end} {row.seconds} s {row.reason[:160]}",
            file=sys.stderr,
            flush=True,
        )


async def measured(pages: Sequence[str], n: int, model: str, folder: Path, steps: int) -> list[Row]:
    episodes = Episodes(folder)
    for page in pages:
        lacking = await _lacking(page, folder)
        for seed in range(FRESH, FRESH + n):
            if not episodes.has(page, seed, "program"):
                row = Row(page, seed, "program", "machine")
                with suppress(OperatorError):
                    row = await by_program(page, seed, folder, lacking)
                episodes.add(row)
            if not episodes.has(page, seed, model):
                row = Row(page, seed, model, "machine")
                with suppress(OperatorError):
                    row = await by_model(page, seed, folder, model, steps)
                episodes.add(row)
    seeds = range(FRESH, FRESH + n)
    return [
        r
        for r in episodes.rows
        if r.page in pages and r.seed in seeds and r.arm in ("program", model)
    ]


async def _lacking(page: str, folder: Path) -> str:
    if (folder / "programs" / page / "program.yaml").exists():
        return ""
    file = folder / "lacking" / f"{page}.txt"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(await learn(page, folder), "utf-8")
        print(f"{page}: {file.read_text('utf-8') or 'a program'}", file=sys.stderr, flush=True)
    return file.read_text("utf-8")


def table(rows: Sequence[Row], pages: Iterable[str]) -> None:
    arms = list(dict.fromkeys(row.arm for row in rows))
    print(f"{'page':28}" + "".join(f"{arm:>18}" for arm in arms) + "   program's ends")
    for page in pages:
        some = [row for row in rows if row.page == page]
        cells = [[row for row in some if row.arm == arm] for arm in arms]
        shares = (f"{sum(r.end == 'solved' for r in cell)}/{len(cell)}" for cell in cells)
        ends = Counter(row.end for row in some if row.arm == "program")
        print(
            f"{page:28}"
            + "".join(f"{share:>18}" for share in shares)
            + "   "
            + ", ".join(f"{count} {end}" for end, count in ends.items())
        )
    for arm in arms:
        _arm_line(arm, [row for row in rows if row.arm == arm])
    for page in pages:
        reasons = {r.reason for r in rows if r.page == page and r.end in ("no program", "wrong")}
        for reason in sorted(reasons):
            print(f"  {page}: {reason[:220]}")


def _arm_line(arm: str, rows: Sequence[Row]) -> None:
    for name, some in (("all", rows), ("played", [row for row in rows if row.steps])):
        done = sum(row.end == "solved" for row in some)
        low, high = wilson(done, len(some))
        middle = [
            statistics.median([getattr(row, what) for row in some] or [0])
            for what in ("steps", "calls", "tokens", "seconds")
        ]
        print(
            f"{arm}, {name}: {done}/{len(some)} solved, {low:.0%}-{high:.0%} (Wilson, 95%); "
            "median steps {:g}, model calls {:g}, prompt tokens {:g}, seconds {:.1f}".format(
                *middle
            )
        )
    ends = Counter(row.end for row in rows)
    wrong, played = ends["wrong"], sum(ends[end] for end in ("solved", "halted", "wrong"))
    if arm == "program":
        print(
            f"program: {wrong} of {played} played acted wrongly, at most "
            f"{wilson(wrong, played)[1]:.0%}; {ends['halted']} halted; "
            f"{ends['no fit']} did not fit; {ends['no program']} without a program"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    parser.add_argument("-n", "--seeds", type=int, default=10, help="fresh seeds of a page")
    parser.add_argument("--model", default="offline", help="as for hisa run")
    parser.add_argument("--steps", type=int, default=20, help="at most, by the model")
    parser.add_argument("--out", type=Path, help="keeps programs, runs and episodes")
    asked = parser.parse_args()
    if unknown := set(asked.pages) - set(PAGES):
        parser.error(f"not among the pages: {sorted(unknown)}; there are: {', '.join(PAGES)}")
    pages = [page for page in PAGES if not asked.pages or page in asked.pages]
    print(f"programs of three seeds on pages of MiniWoB++; {machine()}", flush=True)
    with tempfile.TemporaryDirectory(prefix="hisa-replay-") as passing:
        folder = asked.out or Path(passing)
        folder.mkdir(parents=True, exist_ok=True)
        table(asyncio.run(measured(pages, asked.seeds, asked.model, folder, asked.steps)), pages)


if __name__ == "__main__":
    main()

"""A run as the agent writes it, made with the real log: screens are drawn, texts are invented."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from hisa.events import (
    Abstracted,
    Acted,
    Evaluated,
    Failed,
    Grounded,
    GroundingFailed,
    Guidance,
    Induced,
    LoopDetected,
    ModelCalled,
    ModelFailed,
    Observed,
    PatternUse,
    PlaceFound,
    Planned,
    PlanRejected,
    Refined,
    RunFinished,
    RunStarted,
    StepFinished,
)
from hisa.protocols import Task
from hisa.runs.log import RunLog
from hisa.screen.observation import Screenshot

TASK = Task(
    id="calc-quarter-total",
    instruction=(
        "Open the spreadsheet budget.ods, write the sum of January to March in cell B5 "
        "and save the file."
    ),
    domain="libreoffice_calc",
    setup=({"type": "open", "parameters": {"path": "/home/user/budget.ods"}},),
    check={"func": "compare_table"},
)
MODELS = {"planner": "offline (rules, no LLM)", "state": "offline (rules, no LLM)"}
CELLS = [("Month", "Amount"), ("January", "1200"), ("February", "980"), ("March", "1310")]
START = 1_795_000_000.0


@dataclass
class Screen:
    """The drawn spreadsheet."""

    size: tuple[int, int] = (1280, 720)
    cells: dict[tuple[int, int], str] = field(default_factory=dict)
    selected: tuple[int, int] | None = None
    dialog: str = ""
    title: str = "budget.ods"

    def draw(self) -> Screenshot:
        image = Image.new("RGB", (1280, 720), "#3a6ea5")
        pen = ImageDraw.Draw(image)
        font, small = ImageFont.load_default(17), ImageFont.load_default(14)
        pen.rectangle((40, 30, 1240, 690), "#f6f6f6", "#222222")
        pen.rectangle((40, 30, 1240, 62), "#2d3e50")
        pen.text((54, 36), f"{self.title} - Calc", "white", font)
        for i, name in enumerate(("File", "Edit", "View", "Insert", "Format", "Sheet")):
            pen.text((54 + 80 * i, 70), name, "#222222", font)
        pen.rectangle((40, 98, 1240, 132), "#e4e7ea")
        for i in range(14):
            pen.rectangle((54 + 40 * i, 103, 80 + 40 * i, 127), "#c3cad1")
        self._grid(pen, small)
        if self.dialog:
            pen.rectangle((420, 280, 860, 430), "#fafafa", "#444444")
            pen.rectangle((420, 280, 860, 310), "#4a5a6a")
            pen.text((432, 285), self.dialog, "white", font)
            pen.text((440, 335), "Keep the current format?", "#222222", font)
            pen.rectangle((740, 385, 840, 415), "#2f7d4f")
            pen.text((768, 390), "Keep", "white", font)
        if self.size != image.size:
            image = image.resize(self.size)
        return Screenshot(image)

    def _grid(self, pen: ImageDraw.ImageDraw, font: Any) -> None:
        for column in range(9):
            x = 90 + 125 * column
            pen.text((x + 56, 140), "ABCDEFGHI"[column], "#555555", font)
            pen.line((x, 136, x, 690), "#cfcfcf")
        for row in range(20):
            y = 160 + 26 * row
            pen.text((58, y + 4), str(row + 1), "#555555", font)
            pen.line((40, y, 1240, y), "#cfcfcf")
        for (column, row), text in self.cells.items():
            pen.text((96 + 125 * column, 164 + 26 * row), text, "#111111", font)
        if self.selected is not None:
            x, y = 90 + 125 * self.selected[0], 160 + 26 * self.selected[1]
            pen.rectangle((x, y, x + 125, y + 26), None, "#1a73e8", 2)


@dataclass
class Writer:
    """Writes steps with times that are the same in each run of the tests."""

    log: RunLog
    screen: Screen
    at: float = START

    def tick(self, seconds: float = 0.2) -> float:
        self.at += seconds
        return self.at

    def look(self) -> None:
        sha = asyncio.run(self.log.save(self.screen.draw()))
        width, height = self.screen.size
        self.log.emit(
            Observed(
                at=self.tick(),
                image=sha,
                width=width,
                height=height,
                screen_width=1920,
                screen_height=1080,
                window=self.screen.title,
                windows=(self.screen.title, "Files"),
                elements=212,
                seconds=0.14,
            )
        )

    def asked(self, role: str, tokens: int, images: int = 1, usd: float | None = 0.004) -> None:
        self.log.emit(
            ModelCalled(
                at=self.tick(1.1),
                role=role,
                model=MODELS.get(role, "gta1-7b"),
                tokens_in=tokens,
                tokens_out=tokens // 14,
                images=images,
                usd=usd,
                seconds=1.05,
                finish="stop",
            )
        )

    def step(self, number: int, plan: Planned, **change: Any) -> None:
        """One whole step: plan, act, look, abstract."""
        self.log.step = number
        self.asked("planner", 1900 + 70 * ((number - 1) % 5))
        self.log.emit(plan.model_copy(update={"at": self.tick(0.01)}))
        place: tuple[float, float] | None = change.pop("place", None)
        source = str(plan.input)
        if place is not None:
            x, y = place
            source = source.replace("X_COORD", f"{x:g}").replace("Y_COORD", f"{y:g}")
            found = PlaceFound(
                description=plan.description,
                x=x,
                y=y,
                score=0.93,
                source="accessibility",
                label=f'table cell "{plan.description}"',
            )
            self.log.emit(Grounded(at=self.tick(), places=(found,), input=source, seconds=0.06))
        refined = str(change.pop("refined", ""))
        self._act(plan, source, place, change)
        if refined:
            self.asked("state", 900, images=0, usd=None)
            self.log.emit(Refined(at=self.tick(), text=refined, first=1, last=number))
        self.log.emit(
            StepFinished(
                at=self.tick(),
                seconds={
                    "plan": 1.2 + 0.1 * (number % 3),
                    "ground": 0.06 if place else 0.0,
                    "act": 0.24,
                    "observe": 0.31,
                    "abstract": 0.42,
                    "refine": 1.1 if number % 5 == 0 else 0.0,
                },
            )
        )

    def _act(
        self,
        plan: Planned,
        source: str,
        place: tuple[float, float] | None,
        change: dict[str, Any],
    ) -> None:
        ok = bool(change.pop("ok", True))
        roi = change.pop("roi", None)
        result = str(change.pop("result", "Succeeded. The screen shows the change."))
        given = [key for key in ("output", "error", "exit_code") if key in change]
        outcome = {key: change.pop(key) for key in given}
        for name, value in change.items():
            setattr(self.screen, name, value)
        self.log.emit(
            Acted(
                at=self.tick(),
                tool=plan.tool,
                input=source,
                points=() if place is None else (place,),
                ok=ok,
                seconds=0.24,
                **outcome,
            )
        )
        self.look()
        if roi is not None:
            self.asked("state", 320, images=2, usd=0.0004)
        line = f"Step {self.log.step}: {plan.tool} | Thought: {plan.thought} | Result: {result}"
        self.log.emit(
            Abstracted(
                at=self.tick(), line=line, result=result, roi=roi, asked_model=roi is not None
            )
        )


def click(thought: str, description: str) -> Planned:
    return Planned(
        thought=thought,
        tool="gui_action",
        input="pyautogui.click(X_COORD, Y_COORD)",
        description=description,
    )


def build(root: Path, *, finish: bool = True) -> Path:
    """Write the sample run; without ``finish`` it stops in the middle of step 12."""
    cells = {(c, r): text for r, row in enumerate(CELLS) for c, text in enumerate(row)}
    screen = Screen(cells=cells)
    with RunLog.create(
        root, TASK, settings={"run": {"max_steps": 50}}, models=MODELS, environment="desktop"
    ) as log:
        log.manifest.started_at = START
        writer = Writer(log, screen)
        _begin(writer)
        _first_steps(writer)
        _trouble(writer)
        _last_steps(writer)
        if finish:
            _end(writer)
        else:
            log.step = 12
            writer.asked("planner", 1970)
            log.emit(Planned(at=writer.tick(), thought="Close it.", tool="wait", input="1"))
        return log.folder


def _begin(writer: Writer) -> None:
    log = writer.log
    log.emit(
        RunStarted(
            at=writer.tick(),
            task=TASK.id,
            instruction=TASK.instruction,
            domain=TASK.domain,
            models=MODELS,
            environment="desktop",
        )
    )
    uses = (
        PatternUse(
            id="p-17c2",
            kind="success",
            lesson="Type a formula into the cell itself; the name box takes the cell's address.",
            score=0.81,
            source_run="20261119-101500-aa01",
        ),
        PatternUse(
            id="p-0b9e",
            kind="failure",
            lesson="Saving with Ctrl+S asks about the format: without an answer nothing is saved.",
            score=0.66,
            source_run="20261118-170211-51de",
        ),
    )
    writer.asked("state", 410, images=0, usd=0.0005)
    log.emit(
        Guidance(
            at=writer.tick(),
            patterns=uses,
            sops=("Save in the file's own format unless the task says otherwise.",),
            advice=(
                "- MUST: Save in the file's own format unless the task says otherwise.\n"
                "- Keep the file's own format when asked.\n"
                "- Select the cell first, then type the formula with a leading '='.\n"
                "- Press Enter to take the formula over before saving."
            ),
        )
    )
    writer.look()


def _first_steps(writer: Writer) -> None:
    total = (90, 264, 340, 290)
    writer.step(
        1,
        click("The sheet is open. I select cell A5 for the label.", "cell A5"),
        place=(152, 277),
        selected=(0, 4),
        roi=(88, 262, 217, 288),
        result="Succeeded. Cell A5 is selected.",
    )
    writer.step(
        2,
        Planned(thought="Type the label.", tool="gui_action", input="pyautogui.write('Total')"),
        cells=writer.screen.cells | {(0, 4): "Total"},
        roi=(90, 262, 160, 288),
        result="Succeeded. The text Total appeared in A5.",
    )
    writer.log.step = 3
    writer.log.emit(
        ModelFailed(
            at=writer.tick(),
            role="planner",
            model=MODELS["planner"],
            kind="rate_limit",
            status=429,
            message="slow down",
            retry_in=0.6,
        )
    )
    writer.log.emit(
        PlanRejected(
            at=writer.tick(),
            attempt=1,
            error="not a JSON object: text before the first brace",
            reply='Sure! Here is the next step: {"tool": "gui_action", "input": "click B5"}',
        )
    )
    writer.step(
        3,
        click("Now the cell for the sum, right of the label.", "cell B5"),
        place=(277, 277),
        selected=(1, 4),
        roi=total,
        result="Succeeded. Cell B5 is selected.",
    )


def _trouble(writer: Writer) -> None:
    log = writer.log
    writer.step(
        4,
        Planned(
            thought="Read the amounts to know the sum before I write it.",
            tool="bash_execution",
            input="soffice --headless --convert-to csv ~/budget.ods && cat budget.csv",
        ),
        ok=False,
        error="soffice: the file is locked by another instance",
        output="Month,Amount\nJanuary,1200",
        exit_code=1,
        result="Failed. The command ended with exit status 1.",
    )
    formula = "pyautogui.write('=SUM(B2:B4)')\npyautogui.press('enter')"
    writer.step(
        5,
        Planned(thought="A formula does it.", tool="gui_action", input=formula),
        cells=writer.screen.cells | {(1, 4): "3490"},
        selected=(1, 5),
        roi=(215, 262, 342, 316),
        result="Succeeded. B5 shows 3490, the sum of B2 to B4.",
        refined=(
            "Steps 1~5: the label Total is in A5, B5 at (277, 277) holds =SUM(B2:B4) and "
            "shows 3490. Suggestion: save the file."
        ),
    )
    log.step = 6
    log.emit(
        GroundingFailed(
            at=writer.tick(),
            description="the green tick of the formula bar",
            reason="nothing on the screen matches better than 0.41",
            candidates=("push button 'Accept'", "push button 'Function wizard'"),
        )
    )
    writer.step(
        6,
        click("The formula bar may still be open.", "the green tick of the formula bar"),
        ok=False,
        error="not found: the green tick of the formula bar",
        result="Failed. The described element is not on the screen.",
    )
    log.step = 7
    log.emit(LoopDetected(at=writer.tick(), action="pyautogui.hotkey('ctrl', 's')", times=3))
    for number in (7, 8):
        writer.step(
            number,
            Planned(
                thought="Save with the keyboard.",
                tool="gui_action",
                input="pyautogui.hotkey('ctrl', 's')",
            ),
            dialog="Keep format" if number == 8 else "",
            roi=(420, 280, 861, 431) if number == 8 else None,
            result="Succeeded. A dialog asks about the format."
            if number == 8
            else "Failed. Nothing changed on the screen.",
        )


def _last_steps(writer: Writer) -> None:
    writer.step(
        9,
        click("The advice says to keep the format.", "Keep button of the dialog"),
        place=(790, 400),
        dialog="",
        roi=(420, 280, 861, 431),
        result="Succeeded. The dialog closed.",
    )
    writer.step(
        10,
        Planned(thought="Give it a moment.", tool="wait", input="2"),
        title="budget.ods (saved)",
        roi=(40, 30, 400, 62),
        result="Succeeded. The title says that the file is saved.",
        refined="Steps 1~10: A5 and B5 are filled, the file is saved. Suggestion: finish.",
    )
    writer.step(
        11,
        Planned(thought="All parts are done.", tool="termination", input="B5 holds the sum 3490."),
        result="Succeeded. The run ends.",
    )


def _end(writer: Writer) -> None:
    log = writer.log
    writer.asked("state", 1500, images=0, usd=0.002)
    log.emit(
        Induced(
            at=writer.tick(),
            pattern="p-55aa",
            kind="success",
            lesson="After Ctrl+S answer the format dialog, then wait for the title to change.",
            superseded="p-0b9e",
        )
    )
    log.emit(
        Failed(
            at=writer.tick(),
            where="conclusion",
            kind="StoreError",
            message="the pattern store was busy; the second try worked",
            traceback='Traceback (most recent call last):\n  File "s.py", line 1\nStoreError: busy',
        )
    )
    log.emit(Evaluated(at=writer.tick(), score=1.0, detail="budget.ods: B5 = 3490"))
    log.emit(RunFinished(at=writer.tick(), exit_status="succeeded", message="done", score=1.0))

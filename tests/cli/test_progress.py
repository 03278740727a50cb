"""The progress of a run on a terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from hisa.cli.progress import Progress
from hisa.events import LoopDetected, ModelCalled, Planned

TERMINALS: list[dict[str, Any]] = [
    {},
    {"quiet": True},
    {"force_terminal": True, "color_system": "256"},
    {"force_terminal": True, "color_system": "truecolor", "width": 20},
    {"force_terminal": True, "color_system": "standard", "no_color": True},
]


@pytest.mark.parametrize("terminal", TERMINALS)
def test_progress_is_written_as_rich_prints_it(terminal: dict[str, Any]) -> None:
    shown, expected = io.StringIO(), io.StringIO()
    progress = Progress(Console(file=shown, highlight=False, soft_wrap=True, **terminal), 50)
    progress(
        Planned(step=3, thought="漢字 [bold]x[/] \x1b[31m 😀 :smile:", tool="none", input="a\tb")
    )
    progress(LoopDetected(step=3, action="click " * 20, times=3))
    rich = Console(file=expected, highlight=False, soft_wrap=True, **terminal)
    rich.print(Text())
    rich.print(Text("step 3 of at most 50", style="bold"))
    rich.print(Text("  thought  漢字 [bold]x[/] \\x1b[31m 😀 :smile:", style="dim"))
    rich.print(Text("  action   ", style="dim").append("none a b", style="bold"))
    loop = Text("  loop     ", style="dim")
    rich.print(loop.append(f"{('click ' * 20).strip()} , 3 times", style="yellow"))
    assert shown.getvalue() == expected.getvalue()


def test_cached_tokens_are_told_where_there_are_any() -> None:
    progress = Progress(Console(file=io.StringIO()), 50)
    called = ModelCalled(role="planner", model="m", tokens_in=900, tokens_out=80, usd=0.01)
    progress(called)
    assert progress.summary().startswith("900 tokens in, 80 out, $0.0100, ")
    progress(called.model_copy(update={"cached_in": 768}))
    assert progress.summary().startswith("1800 tokens in (768 cached), 160 out, $0.0200, ")

"""What a task needs is among the tools that its prompt names, in words nobody wrote them for."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from hisa.protocols import Task
from hisa.screen.observation import Window
from hisa.testing.form import FakeEnvironment
from hisa.tools.registry import ToolRegistry

CALC = {
    "Plot a bar chart of the sales by month.": {"chart"},
    "Add a new column Revenue with units times price.": {"write", "formula"},
    "new column Revenue": {"write", "formula"},
    "Draw a graph of column C.": {"chart"},
    "Sum up the costs below the table.": {"write", "formula"},
    "Order the rows by price, the highest first.": {"sort"},
    "Show only the rows where the country is Spain.": {"filter"},
    "Visualise how the temperature went over the year.": {"chart"},
    "Work out the margin of each product beside its cost.": {"write", "formula", "fill"},
    "Write the heading in bold and give it a yellow background.": {"style"},
    "Put two decimals behind every amount.": {"format_numbers"},
}
BROWSER = {
    "Open the page of the town hall and read its opening hours.": {"visit", "read"},
    "Fill in the form and send it.": {"fill", "click"},
    "Tick the box for the newsletter.": {"check"},
}


async def offer_tools(app: str, words: str) -> str:
    """What the prompt says of further tools."""
    observation = replace(
        await FakeEnvironment().observe(), windows=(Window("1", "x", app, active=True),)
    )
    return ToolRegistry().offer(Task("t", words), observation)


def find_named_tools(text: str, kit: str) -> set[str]:
    """Tools of a toolkit that a list names, with arguments or without."""
    tools = set(re.findall(rf"\b{kit}_([a-z_]+)\(", text))
    for line in text.splitlines():
        for part in line.removeprefix("By name, ").split("; "):
            head, separator, names = part.partition(f"{kit}_: ")
            if separator and not head:
                tools |= set(re.findall(r"(?:^|, )([a-z_]+)", re.sub(r"\([^)]*\)", "", names)))
    return tools


@pytest.mark.parametrize(("words", "expected"), CALC.items())
async def test_the_tools_that_a_spreadsheet_task_needs_are_named(
    words: str, expected: set[str]
) -> None:
    text = await offer_tools("libreoffice-calc", words)
    offered_names = find_named_tools(text, "calc")
    assert expected <= offered_names, (
        f"{sorted(expected - offered_names)} not among {len(offered_names)} names"
    )


@pytest.mark.parametrize(("words", "expected"), BROWSER.items())
async def test_the_tools_that_a_page_needs_are_named(words: str, expected: set[str]) -> None:
    assert expected <= find_named_tools(await offer_tools("chromium", words), "browser")


@pytest.mark.parametrize("app", ["libreoffice-calc", "libreoffice-writer", "chromium", "vlc"])
async def test_eight_tools_are_offered_with_their_arguments(app: str) -> None:
    text = await offer_tools(app, "Save a copy of what is open under another name.")
    signatures = re.findall(r"[a-z_]+\([^()]*\)", text)
    assert len(signatures) >= 8, f"{len(signatures)} with arguments:\n{text}"


async def test_the_list_says_that_others_may_be_called() -> None:
    text = await offer_tools("libreoffice-calc", "Sort it.")
    assert re.search(r"not listed", text.splitlines()[0])

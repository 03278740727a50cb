"""Parts of the page in front, in a real Chromium; the elements on the screen as XML."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from hisa.errors import EnvironmentFailed
from hisa.plugins.benchmarks.tasks.getters import GETTERS
from hisa.plugins.benchmarks.tasks.step_context import StepContext
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.protocols import CommandResult, Task
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation
from hisa.tasks.find_format import problems
from hisa.tasks.scorer import TaskScorer
from hisa.tasks.taskfile import load_task
from tests.plugins.benchmarks.tasks.machine import Machine, context

PAGE = """
<title>Flights</title><meta charset=utf-8>
<p class=date> Mon, Mar 02 </p><p class=city>Zürich<b>x</b> <i></i>Rom</p><p class=city>Oslo</p>
<div class=card><h3> One </h3>a</div><div class=card>b</div><div class=card><h3>Two</h3></div>
<ul class=list><li class=catAllProducts><span>Tea </span></li><li><span>Salt</span></li></ul>
<label id=l>Your <b>name</b> <input id=i value=" Ann "></label><script>var s = "Your";</script>
<select id=s><option>a<option selected>b</select>
<script>
 Element.prototype.matches = () => false;
 document.querySelectorAll = () => [];
 Object.defineProperty(Node.prototype, "textContent", {get: () => "forged"});
</script>
"""
CASES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"category": "class", "class_singleObject": {"date": "time", "none": "no", "a b(": "bad"},
      "class_multiObject": {"city": {"1": "second", "7": "seventh"}},
      "class_multiObject_child": {"city": {"0": "from", "1": "to"}},
      "class_multiObject_only_child": {"card": {"0": "h0", "1": "h1"}},
      "class_multiObject_search_exist": {"date": ["Mon, Mar 02", "Tue", "is_other_exist"]}},
     {"time": "Mon, Mar 02", "no": "", "bad": "", "second": "Oslo", "seventh": "", "from": "Zürich",
      "to": "Rom", "h0": "One", "h1": "Two", "Mon, Mar 02": True, "Tue": False,
      "is_other_exist": False}),
    ({"category": "label", "labelObject": {"name": "who", "Nowhere": "no"}},
     {"who": "name", "no": ""}),
    ({"category": "xpath", "xpathObject": {"/html/body/p[1]": "time", "//p[9]": "no", "][": "bad"}},
     {"time": "Mon, Mar 02", "no": "", "bad": ""}),
    ({"category": "input", "inputObject": {"//*[@id='i']": "who", "//*[@id='l']": "by label",
      "//select": "chosen", "//p": "no"}},
     {"who": "Ann", "by label": "Ann", "chosen": "b", "no": ""}),
    ({"category": "class&url", "class_multiObject": {"date": ["mon, mar 02", "Tue"]},
      "class_multiObject_li": {"list": ["tea"]}, "url_include_expected": ["Flights", "Tue", "tea"],
      "url_include_expected_multichoice": {"q=1": "Query", "q=2": "Other"}},
     {"mon, mar 02": True, "tea": True, "is_other_exist": False, "flights": True, "tue": False,
      "query": True, "other": False}),
]  # fmt: skip


async def run_getter(where: StepContext, kind: str, **config: Any) -> Any:
    known = GETTERS.get(kind)
    assert known is not None
    return await known.run(where, known.model.model_validate({"type": kind, **config}))


@pytest.mark.desktop
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium")
async def test_parts_of_a_page_that_forges_its_own_scripts(tmp_path: Path) -> None:
    url = "http://127.0.0.1:8123/flights.html?q=1"
    async with DesktopEnvironment() as desktop:
        await desktop.write_file("/home/user/flights.html", PAGE.encode())
        await desktop.execute("(setsid python3 -m http.server 8123 -d ~ >/dev/null 2>&1 &)")
        chrome = {"type": "google_chrome_browser", "parameters": {"urls": [url]}}
        await TaskScorer().prepare(Task(id="t", instruction="x", setup=(chrome,)), desktop)
        where = dataclasses.replace(context(tmp_path), environment=desktop, phase="score")
        for config, expected in CASES:
            kind = {"goto_prefix": "http://", **config}
            assert await run_getter(where, "active_tab_html_parse", **kind) == expected
        await desktop.execute("pkill chromium; sleep 1")
        assert await run_getter(where, "active_tab_html_parse", category="class") is None


async def test_a_bar_that_no_tab_has_gives_nothing_and_a_page_that_fails_no_score(
    tmp_path: Path,
) -> None:
    class Shows(Machine):
        async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
            observation = await super().observe(elements=elements, settle=settle)
            box = BoundingBox(0, 0, 9, 9, "screen")
            bar = Element("entry", "Address and search bar", box, text="a.org/%C3%BC/")
            return dataclasses.replace(observation, elements=(bar,))

    for address, expected in (("https://b.org/", {}), ("https://www.a.org/ü", None)):
        tab = {"id": "7", "type": "page", "url": address}
        tab_list = CommandResult(0, json.dumps([tab]))
        machine = Shows({"createIsolatedWorld": CommandResult(1, "", "refused"), "GET": tab_list})
        where = context(tmp_path, machine, "score")
        if expected is None:
            with pytest.raises(EnvironmentFailed, match="cannot be read: refused"):
                await run_getter(where, "active_tab_html_parse", category="class")
        else:
            assert await run_getter(where, "active_tab_html_parse", category="class") == expected


async def test_the_elements_on_the_screen_are_xml_that_rules_select_from(tmp_path: Path) -> None:
    box = BoundingBox(1, 2, 11, 22, "screen")
    shown_elements: tuple[Element, ...] | None = (
        Element("frame", "Mail", box, app="Thunderbird", window="Mail"),
        Element(
            "push button",
            'O"K\x00<',
            box,
            "text",
            states=frozenset({"focused", "a b"}),
            app="Thunderbird",
            window="Mail",
        ),
    )
    complete = True

    class Shows(Machine):
        async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
            observation = await super().observe(elements=elements, settle=settle)
            return dataclasses.replace(observation, elements=shown_elements, complete=complete)

    where = context(tmp_path, Shows(), "score")
    tree = etree.fromstring(await run_getter(where, "accessibility_tree"))
    spaces = {
        "st": "https://accessibility.ubuntu.example.org/ns/state",
        "cp": "https://accessibility.ubuntu.example.org/ns/component",
    }
    path = "//application[@name='Thunderbird']/frame[@name='Mail']/push-button[@st:focused='true']"
    (button,) = tree.xpath(path, namespaces=spaces)
    assert (button.get("name"), button.text) == ('O"K<', "text")
    assert button.get(f"{{{spaces['cp']}}}size") == "(10, 20)"
    complete = False
    with pytest.raises(EnvironmentFailed, match="not all elements on the screen are known"):
        await run_getter(where, "accessibility_tree")


@pytest.mark.parametrize(
    ("rule", "refused"),
    [
        ({"selectors": ["tool-bar[attr|id=Bar] label"]}, True),
        ({"selectors": ["application[name='a>b'] label", "label>entry"]}, True),
        ({"selectors": ["label[name=To]~label"]}, True),
        ({"selectors": ["application[name=Mail] label[name~='a/b']:first-of-type"]}, False),
        ({"xpath": "//application[@name='Mail']//*[contains(@name, 'x/y')]"}, False),
        ({"xpath": "//label/entry"}, True),
        ({"xpath": "//label/following-sibling::entry"}, True),
    ],
)
def test_a_rule_that_asks_for_more_than_there_is_is_refused(rule: Any, refused: bool) -> None:
    check = {
        "func": "check_accessibility_tree",
        "result": {"type": "accessibility_tree"},
        "expected": {"type": "rule", "rules": [rule]},
    }
    task = Task(id="t", instruction="x", check=check, format="osworld")
    assert any("gives no tree" in problem for problem in problems(task)) is refused


def test_a_file_with_the_newer_keys_of_osworld_is_read_and_lacks_nothing(tmp_path: Path) -> None:
    address = {
        "type": "active_tab_url_parse",
        "goto_prefix": "https://www.",
        "parse_keys": ["a"],
        "replace": {"a": "time"},
    }
    dated = {
        "relativeTime": {"from": "next week Friday", "to": "next week Sunday"},
        "expected": {"from": "{Year}-{MonthD}", "to": "{DayD}"},
    }
    file = {
        "id": "t",
        "snapshot": "chrome",
        "instruction": "x",
        "config": [],
        "proxy": False,
        "fixed_ip": False,
        "possibility_of_env_change": "medium",
        "related_apps": ["chrome"],
        "evaluator": {
            "func": ["exact_match", "exact_match"],
            "conj": "or",
            "result": [address, {"type": "active_tab_html_parse", "category": "class"}],
            "expected": [
                {"type": "rule_relativeTime", "rules": dated},
                {"type": "rule", "rules": {"expected": {"a": ["b"]}}},
            ],
            "options": [{}, {}],
        },
    }
    path = tmp_path / "evaluation_examples" / "examples" / "chrome" / "t.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(file))
    assert problems(load_task(path)) == []

"""Pages for training: composed from a seed, and described as they are drawn."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from PIL import Image

from hisa.plugins.eyes.training.composing import Catalogue, Composer
from hisa.plugins.eyes.training.page_screens import describe_page, open_browser, render_screens

needs_chromium = pytest.mark.skipif(not shutil.which("chromedriver"), reason="needs chromedriver")

PAGE = """<!doctype html><meta charset="utf-8"><style>body { margin: 0 }
body > * { position: absolute; box-sizing: border-box; margin: 0; overflow: hidden }</style>
<button style="left: 20px; top: 10px; width: 100px; height: 40px">Save</button>
<button style="left: 20px; top: 60px; width: 100px; height: 40px">Covered</button>
<div style="left: 40px; top: 55px; width: 60px; height: 50px; background: white"></div>
<button style="left: 20px; top: 110px; width: 100px; height: 40px; opacity: 0">Unseen</button>
<div style="left: 200px; top: 10px; width: 50px; height: 30px">
<button style="width: 60px; height: 40px; border: 1px solid" disabled>Cut off</button></div>
<label style="left: 20px; top: 170px" data-whole="check box"><input type="checkbox" checked
style="opacity: 0"><i data-drawn style="position: absolute; left: 0; top: 0;
width: 18px; height: 18px; border: 1px solid"></i> Agree</label>
<a href="#" style="left: 20px; top: 220px; width: 200px; height: 30px"><svg width="20" height="20"
style="position: absolute; left: 5px; top: 4px"><path d="M0 0h20v20H0z"/></svg></a>
"""


@pytest.mark.parametrize("name", ["drawn", "bootstrap5", "element"])
def test_a_page_depends_on_its_seed_alone(name: str, tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path, [name])
    pages = [Composer(catalogue, "", seed).compose_page() for seed in ("a", "a", "b")]
    assert pages[0] == pages[1] != pages[2]


def test_nothing_of_a_framework_that_is_kept_out_is_trained_on(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path)
    packages: dict[str, set[str]] = {"train": set(), "kept": set()}
    for framework in catalogue.frameworks.values():
        packages[framework["split"]].add(framework["sheets"].rpartition("@")[0] or "ours")
    assert min(len(names) for names in packages.values()) >= 5
    assert not packages["train"] & packages["kept"]
    assert {Composer(catalogue, "kept", str(n)).framework["split"] for n in range(9)} == {"kept"}


def test_every_part_of_every_framework_is_composed(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path)
    values = {"content": "", "style": "", "least": 1, "most": 2, "width": 9, "height": 9, "name": 1}
    values |= {"kind": "check", "type": "checkbox"}
    for name, framework in catalogue.frameworks.items():
        composer = Composer(Catalogue(tmp_path, [name]), "", "1")
        assert all(composer.part(part, **values).strip() for part in framework["parts"]), name


@needs_chromium
@pytest.mark.browser
def test_what_can_be_seen_is_described_as_it_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    with open_browser() as browser:
        browser.get((tmp_path / "page.html").as_uri())
        things = describe_page(browser)
    assert [(thing["role"], thing["box"], thing["states"]) for thing in things] == [
        ("button", [20, 10, 120, 50], []),
        ("button", [200, 10, 250, 40], ["disabled"]),
        ("check box", [20, 170, 40, 190], ["checked"]),
        ("icon", [25, 224, 45, 244], []),
    ]


@needs_chromium
@pytest.mark.browser
def test_rendering_goes_on_where_it_ended_with_boxes_in_the_picture(tmp_path: Path) -> None:
    for count in (1, 3):
        render_screens(Catalogue(tmp_path, ["plain"]), tmp_path, count=count, seed="1")
        lines = (tmp_path / "screens.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(lines) == count
    for screen in map(json.loads, lines):
        with Image.open(tmp_path / screen["file"]) as picture:
            size = picture.size
        assert size == (screen["width"], screen["height"])
        for left, top, right, bottom in (thing["box"] for thing in screen["boxes"]):
            assert 0 <= left < right <= size[0]
            assert 0 <= top < bottom <= size[1]

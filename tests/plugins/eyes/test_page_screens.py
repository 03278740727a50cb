"""Pages for training: composed from a seed, and described as they are drawn."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any

import jinja2
import pytest
from PIL import Image

from hisa.plugins.eyes.training.catalogue import Catalogue
from hisa.plugins.eyes.training.chromium import Chromium
from hisa.plugins.eyes.training.composing import Composer
from hisa.plugins.eyes.training.page_screens import describe_page, render_page, render_screens

needs_chromium = pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium")

PAGE = """<!doctype html><meta charset="utf-8"><style>body { margin: 0 }
body > * { position: absolute; box-sizing: border-box; margin: 0; overflow: hidden }</style>
<button style="left: 20px; top: 10px; width: 100px; height: 40px">Save</button>
<button style="left: 20px; top: 60px; width: 100px; height: 40px">Covered</button>
<div style="left: 0; top: 55px; width: 300px; height: 50px; background: white"></div>
<button style="left: 20px; top: 110px; width: 100px; height: 40px; opacity: 0">Unseen</button>
<div style="left: 200px; top: 10px; width: 50px; height: 30px">
<button style="width: 90px; height: 90px" disabled>Cut off</button></div>
<label style="left: 20px; top: 170px"><input type="checkbox" data-role="none" checked
style="opacity: 0"><i data-role="check box" style="position: absolute; left: 0; top: 0;
width: 18px; height: 18px; border: 1px solid"></i> Agree</label>
"""


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    """The catalogue without any package of npm."""
    return Catalogue(tmp_path)


@pytest.fixture
def browser() -> Any:
    chromium = Chromium()
    yield chromium
    chromium.close()


def test_a_page_depends_on_its_seed_alone(catalogue: Catalogue) -> None:
    pages = [Composer(catalogue, "drawn", seed).compose_page() for seed in ("a", "a", "b")]
    assert pages[0] == pages[1] != pages[2]


def test_every_framework_has_a_split_and_both_splits_have_several(catalogue: Catalogue) -> None:
    splits = [framework.split for framework in catalogue.frameworks.values()]
    assert set(splits) == {"train", "kept"}
    assert splits.count("kept") >= 5


def test_no_package_is_in_both_splits(catalogue: Catalogue) -> None:
    packages: dict[str, set[str]] = {"train": set(), "kept": set()}
    for framework in catalogue.frameworks.values():
        packages[framework.split].add(framework.package.rpartition("@")[0])
    assert not packages["train"] & packages["kept"]


def test_every_template_parses_and_replaces_a_part_that_exists(catalogue: Catalogue) -> None:
    frameworks = catalogue.frameworks.values()
    shared = [catalogue.parts, catalogue.sections, catalogue.layouts, catalogue.styles]
    for templates in [*shared, *(framework.parts for framework in frameworks)]:
        for template in templates.values():
            jinja2.Environment().parse(template)
    for framework in frameworks:
        assert set(framework.parts) <= set(catalogue.parts), framework.name


@pytest.mark.parametrize("split", ["train", "kept"])
def test_every_part_of_every_framework_is_composed(catalogue: Catalogue, split: str) -> None:
    values = {"control": "", "content": "", "style": "above"}
    for name, framework in catalogue.frameworks.items():
        if framework.split == split:
            composer = Composer(catalogue, name, "1")
            assert all(composer.part(part, **values).strip() for part in catalogue.parts), name


@needs_chromium
@pytest.mark.browser
def test_what_can_be_seen_is_described_as_it_is_drawn(browser: Chromium, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    browser.show((tmp_path / "page.html").as_uri())
    things = [
        {**thing, "box": [round(edge) for edge in thing["box"]]} for thing in describe_page(browser)
    ]
    assert things == [
        {"role": "button", "box": [20, 10, 120, 50], "states": [], "name": "Save"},
        {"role": "button", "box": [200, 10, 250, 40], "states": ["disabled"], "name": "Cut off"},
        {"role": "check box", "box": [20, 170, 40, 190], "states": ["checked"], "name": "Agree"},
    ]


@needs_chromium
@pytest.mark.browser
def test_boxes_lie_in_the_picture_at_any_zoom(browser: Chromium, catalogue: Catalogue) -> None:
    for seed in "abc":
        screen = render_page(browser, Composer(catalogue, "plain", seed))
        size = Image.open(io.BytesIO(screen["picture"])).size
        assert size == (screen["width"], screen["height"])
        assert screen["boxes"]
        for thing in screen["boxes"]:
            left, top, right, bottom = thing["box"]
            assert 0 <= left < right <= size[0]
            assert 0 <= top < bottom <= size[1]


@needs_chromium
@pytest.mark.browser
def test_rendering_goes_on_where_it_ended(catalogue: Catalogue, tmp_path: Path) -> None:
    for count in (1, 2):
        render_screens(catalogue, ["plain"], tmp_path, count=count, seed="1")
        lines = (tmp_path / "screens.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(lines) == count
        assert all((tmp_path / json.loads(line)["file"]).exists() for line in lines)

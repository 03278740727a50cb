"""Lists and rankers keep their promises, and without any the scores set by hand decide."""

from __future__ import annotations

from pathlib import Path

import pytest

from hisa.errors import NotFound, PluginFailed
from hisa.grounder.announced_parts import load_parts
from hisa.grounder.base import TextReader, ThingList
from hisa.machine import plugins
from hisa.plugins.matching.base import Ranker
from hisa.plugins.matching.description import read_description
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.plugins.matching.ranking import chances, choose_thing
from hisa.plugins.matching.scene import Scene
from hisa.screen import ocr
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Observation
from hisa.screen.ocr import Line, Word
from tests.grounder.scenes import call, element, load_saved, scene

FORM = scene(
    element("label", "Host:", (40, 60, 60, 24)),
    element("text", "", (120, 60, 200, 24)),
    element("label", "Port:", (40, 100, 60, 24)),
    element("text", "", (120, 100, 200, 24)),
    element("slider", "Volume", (40, 140, 200, 20)),
    element("push button", "Apply", (40, 200, 80, 30)),
    element("push button", "Cancel", (140, 200, 80, 30)),
)
QUERIES = read_description("the Apply button")


def reads(text: str, at: tuple[int, int]) -> Line:
    left, top = at
    return Line((Word(text, BoundingBox(left, top, left + 60, top + 20), 0.9),))


@pytest.fixture(params=["announced", "none"])
def with_packages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param == "none":
        monkeypatch.setattr(plugins, "points", lambda _group: ())
    return bool(request.param == "announced")


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No package announces anything."""
    monkeypatch.setattr(plugins, "points", lambda _group: ())
    assert load_parts() == []


async def find_point(
    description: str, observation: Observation = FORM, *lines: Line, min_score: float = 0.86
) -> Point:
    grounder = ElementsGrounder(
        emit=lambda _: None, min_score=min_score, read=lambda _picture, _box: lines
    )
    return (await grounder.resolve(call(description), observation)).places[0].point


# ---------------------------------------------------------------- what is announced


@pytest.mark.usefixtures("outside")
def test_lists_keep_all_things_and_add_only_drawn_ones() -> None:
    observation = load_saved("calc_sheet")
    things = Scene(observation).things
    lists = [part for _, part in load_parts() if isinstance(part, ThingList)]
    assert len(lists) >= 2
    for part in lists:
        for parts in (False, True):
            plain = part.list_things(things, observation, parts=parts, drawn=False)
            assert {t.element for t in things} <= {t.element for t in plain}
            assert all(t.drawn is None for t in plain)
            more = part.list_things(things, observation, parts=parts, drawn=True)
            assert len(more) >= len(things)
            assert {t.box.space for t in more} == {"screen"}
        assert part.list_things((), scene(), parts=True, drawn=True) == []


@pytest.mark.parametrize("observation", [FORM, scene()], ids=["form", "nothing"])
def test_a_ranker_gives_each_thing_a_chance(observation: Observation, with_packages: bool) -> None:
    screen = Scene(observation)
    rankers = [part for _, part in load_parts() if isinstance(part, Ranker)]
    assert len(rankers) == int(with_packages)
    ranked = chances(QUERIES, screen)
    assert len(ranked) == len(screen.things)
    assert all(0 <= chance <= 1 for chance in ranked)
    assert sum(ranked) < 1
    choice = choose_thing(QUERIES, screen, 0.86)
    if observation is FORM:
        assert screen.things[list(ranked).index(max(ranked))].element.name == "Apply"
        assert choice.chosen is not None
        assert choice.chosen.element.name == "Apply"
    else:
        assert choice.chosen is None
        assert choice.reason


def test_a_packages_ranker_goes_before_hisas_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = tmp_path / "hisa_last_thing-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: hisa-last-thing\n")
    (metadata / "entry_points.txt").write_text("[hisa.lists]\nlast = hisa_last_thing:LAST\n")
    (tmp_path / "hisa_last_thing.py").write_text(
        "from hisa.plugins.matching.pick import Candidate, Choice\n"
        "class Last:\n"
        "    def choose(self, queries, scene, min_score):\n"
        "        return Choice(Candidate(scene.things[-1], 1.0))\n"
        "    def chances(self, queries, scene):\n"
        "        return 1 / 0\n"
        "LAST = Last()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    chosen = choose_thing(QUERIES, Scene(FORM), 0.86).chosen
    assert chosen is not None
    assert chosen.element.name == "Cancel"
    with pytest.raises(PluginFailed, match="'last' of package 'hisa-last-thing': ZeroDivision"):
        chances(QUERIES, Scene(FORM))


def test_a_packages_reader_of_text_goes_before_hisas_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = tmp_path / "hisa_licences-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: hisa-licences\n")
    (metadata / "entry_points.txt").write_text(
        "[hisa.lists]\nlicences = hisa_licences:READER\ntext = hisa_licences:absent\n"
    )
    (tmp_path / "hisa_licences.py").write_text(
        "from hisa.screen.geometry import BoundingBox\n"
        "from hisa.screen.ocr import Line, Word\n"
        "class Reader:\n"
        "    needs = True\n"
        "    def available(self):\n"
        "        return 1 / self.needs > 0\n"
        "    def read_text(self, screenshot, box, *, least):\n"
        "        at = box or BoundingBox(400, 300, 460, 320)\n"
        "        return (Line((Word(f'Licence {least}', at, 1 / self.needs),)),)\n"
        "READER = Reader()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert ocr.available()
    part = BoundingBox(9, 9, 60, 30)
    (line,) = ocr.read_text(FORM.screenshot, part, least=0.0)
    assert (line.text, line.box) == ("Licence 0.0", part)
    assert ocr.read_text(FORM.screenshot)[0].text == "Licence 0.3"
    (*_, reader) = [part for _, part in load_parts() if isinstance(part, TextReader)]
    monkeypatch.setattr(reader, "needs", 0)
    assert not ocr.available()
    with pytest.raises(ocr.OcrUnavailable, match="'licences' of package 'hisa-licences': ZeroDiv"):
        ocr.read_text(FORM.screenshot)


# ---------------------------------------------------------------- without any


@pytest.mark.usefixtures("alone")
async def test_without_packages_things_are_found_by_the_scores_set_by_hand() -> None:
    assert await find_point("the Apply button") == Point(80, 215)
    assert await find_point("the Port field") == Point(220, 112)
    assert await find_point("the button right of Apply", min_score=0.64) == Point(180, 215)
    assert await find_point("the Volume slider") == Point(140, 150), "no handle is looked for"
    assert await find_point("'Licence'", FORM, reads("Licence", (400, 300))) == Point(430, 310)


@pytest.mark.usefixtures("alone")
async def test_without_packages_nothing_is_read_and_the_reason_says_so() -> None:
    assert not ocr.available()
    with pytest.raises(ocr.OcrUnavailable, match=r"announces a reader of text in hisa\.lists"):
        ocr.read_text(FORM.screenshot)
    grounder = ElementsGrounder(emit=lambda _: None)
    with pytest.raises(NotFound, match=r"cannot be read .no installed package announces a reader"):
        await grounder.resolve(call("'Licence'"), FORM)
    assert (await grounder.resolve(call("the Apply button"), FORM)).places[0].score == 1.0

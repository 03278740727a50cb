"""What the ranker goes by, on small made screens, and the file of what it learned."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pytest
from PIL import Image, ImageDraw

from hisa.errors import NotFound
from hisa.plugins.matching.description import read_description
from hisa.plugins.matching.elements import ElementsGrounder
from hisa.plugins.matching.scene import Scene
from hisa.plugins.reading.ranker import build_columns, load_judge, load_trees, rank
from hisa.plugins.reading.scene_table import Floats, Table
from hisa.plugins.reading.sureness import build_evidence, rank_places
from hisa.screen.observation import Element, Observation
from hisa.screen.sight import SEEN
from tests.grounder.scenes import element, scene


def build_features(description: str, observation: Observation) -> dict[str, Floats]:
    return build_columns(read_description(description), Table(Scene(observation)))


def find_best(description: str, observation: Observation, *features: str) -> Element:
    """What a feature, or the sum of some, speaks for most."""
    by_name = build_features(description, observation)
    total = np.sum([by_name[name] for name in features], axis=0)
    things = Scene(observation).things
    assert np.sum(total == total.max()) == 1, [t.element.name for t in things]
    return things[int(total.argmax())].element


SHEET = scene(
    *(
        element("table cell", f"{column}{row + 1}", (100 * at, 40 + 20 * row, 100, 20), text=text)
        for row, texts in enumerate(
            [("Article", "Stock", "Price"), ("Oak chair", "14", "129"), ("Lamp", "3", "14")]
        )
        for at, (column, text) in enumerate(zip("ABC", texts, strict=True))
    )
)
MAILS = scene(
    *(
        part
        for row, name in enumerate(["Stephenie", "Othilie", "Sarette"])
        for part in (
            element("static", name, (10, 100 + 60 * row, 90, 24)),
            element("image", "", (200, 100 + 60 * row, 24, 24)),
            element("push button", "Reply", (240, 100 + 60 * row, 60, 24)),
        )
    )
)


def test_ranker_reads_colours_and_highlights_from_the_picture() -> None:
    picture = Image.new("RGB", (1280, 720), "white")
    paint = ImageDraw.Draw(picture)
    paint.rectangle((104, 104, 120, 120), fill="#c02020")
    paint.rectangle((200, 140, 299, 159), fill="#3070d0")
    swatches = [element("radio button", "", (100 + 40 * at, 100, 24, 24)) for at in range(3)]
    entries = [
        element("list item", name, (200, 140 + 20 * row, 100, 20))
        for row, name in enumerate(["Draft", "Good", "Best"])
    ]
    observation = scene(*swatches, *entries, picture=picture)
    assert find_best("the red circle", observation, "colour").box.left == 100
    assert find_best("the highlighted entry", observation, "stands_out").name == "Draft"
    assert not build_features("the entry", observation)["stands_out"].any()


# ---------------------------------------------------------------- what was learned


def test_the_learned_trees_fit_the_features_that_are_worked_out() -> None:
    known = build_features("the Reply button", MAILS)
    own, at = np.array([0.6, 0.2]), np.array([[5.0, 5.0], [50.0, 5.0]])
    ranked_places = rank_places(own, at, np.array([[0.0, 0, 10, 10], [40, 0, 60, 10]]))
    outcomes = build_evidence(known, np.array([1.0, 0.5]), own, ranked_places)
    for name, features, trees in (
        ("ranker.json", known.keys(), load_trees()),
        ("sureness.json", outcomes.keys(), load_judge()),
        ("ranker_seen.json", known.keys(), load_trees(seen=True)),
        ("sureness_seen.json", outcomes.keys(), load_judge(seen=True)),
    ):
        content = json.loads((files("hisa.plugins.reading") / name).read_text("utf-8"))
        assert set(content) == {"features", "start", "depth", "trees"}
        assert set(content["features"]) <= features
        for tree in content["trees"]:
            size = len(tree["value"])
            assert set(tree) == {"feature", "threshold", "left", "right", "value"}
            assert all(len(tree[key]) == size for key in tree)
            assert all(0 <= at < size for at in tree["left"] + tree["right"])
            assert all(0 <= at < len(content["features"]) for at in tree["feature"])
        assert len(trees.names) == len(content["features"])


def test_chances_sum_to_less_than_one_and_nothing_has_none() -> None:
    ranked = rank(read_description("the second Reply button"), Table(Scene(MAILS)))
    assert 0 < sum(entry.own for entry in ranked) <= 1
    assert all(entry.own <= entry.chance + 1e-9 for entry in ranked)
    assert rank(read_description("the Reply button"), Table(Scene(scene()))) == ()


def test_button_chance_includes_the_cell_that_holds_it() -> None:
    observation = scene(
        element("table cell", "Details", (100, 100, 200, 40)),
        element("push button", "Details", (140, 108, 80, 24)),
        element("push button", "Help", (10, 10, 60, 24)),
    )
    ranked = rank(read_description("'Details'"), Table(Scene(observation)))
    both = sum(entry.own for entry in ranked if entry.thing.element.name == "Details")
    assert ranked[0].chance == pytest.approx(both)


def test_a_click_on_an_icon_in_a_field_does_not_mean_the_field() -> None:
    observation = scene(
        element("entry", "Search", (100, 100, 200, 30)),
        element("push button", "Search", (270, 104, 22, 22)),
    )
    ranked = rank(read_description("the Search field"), Table(Scene(observation)))
    by_role = {entry.thing.role: entry for entry in ranked}
    assert by_role["push button"].chance == pytest.approx(by_role["push button"].own)


def test_the_likeliest_place_is_surer_without_a_rival() -> None:
    def sure(*names: str) -> float:
        buttons = [
            element("push button", name, (20 + 100 * at, 20, 80, 30))
            for at, name in enumerate(names)
        ]
        ranked = rank(read_description("the 'Export' button"), Table(Scene(scene(*buttons))))
        assert all(entry.sure == 0 for entry in ranked[1:])
        return ranked[0].sure

    assert sure("Export", "Close", "Help") > sure("Export", "Export", "Help")
    assert sure("Export", "Close", "Help") > sure("Import", "Close", "Help")


def test_the_arrow_of_a_field_is_not_clicked_for_the_field_that_holds_it() -> None:
    observation = scene(
        element("label", "Leading zeroes:", (20, 140, 120, 34)),
        element("spin button", "", (150, 140, 118, 34), text="1"),
    )
    query = read_description("the number field next to 'Leading zeroes:'")
    ranked = rank(query, Table(Scene(observation, parts=True)))
    assert ranked[0].thing.role == "spin button"
    assert any(thing.role == "arrow part" for thing in Scene(observation, parts=True).things)


@pytest.mark.parametrize("seen", [False, True])
async def test_seen_elements_need_a_sureness_of_their_own(seen: bool) -> None:
    states = frozenset({"showing", "enabled", SEEN} if seen else {"showing", "enabled"})
    observation = scene(
        element("push button", "Save", (700, 500, 80, 30), states=states),
        element("push button", "Cancel", (600, 500, 80, 30), states=states),
        element("entry", "", (100, 100, 300, 30), states=states),
    )
    description = "button in the lower right corner, beside Cancel"
    for own, other in ((0.0, 1.0), (1.0, 0.0)):
        reported, on_picture = (other, own) if seen else (own, other)
        grounder = ElementsGrounder(
            emit=lambda _: None,
            read=lambda *_: (),
            min_score=reported,
            min_score_seen=on_picture,
        )
        answer = await grounder.answer(description, observation)
        assert isinstance(answer, NotFound) == (own == 1.0)

"""What is believed of a place once elements and models have spoken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hisa.errors import NotFound
from hisa.grounder.thing import Thing
from hisa.grounder.trust import PICKS_RIGHT
from hisa.plugins.matching.belief import MIN_CHANCE, Belief
from hisa.plugins.matching.rating import RatedThing, Rating
from hisa.screen.geometry import BoundingBox, Point
from tests.grounder.scenes import element

PLACES = [Point(100 * (n + 1), 50) for n in range(4)]
NOTHING = Point(1000, 600)


def rating(*chances: float, blocked: int | None = None) -> Rating:
    """Buttons beside one another, and how likely each is."""
    things = []
    for number, (at, chance) in enumerate(zip(PLACES, chances, strict=False)):
        button = element("push button", f"b{number}", (int(at.x) - 20, 40, 40, 20))
        box, thing = BoundingBox(at.x - 20, 40, at.x + 20, 60), Thing(button, button.box)
        things.append(RatedThing(box, chance, f"b{number}", thing, blocked=number == blocked))
    return Rating(None, NotFound("unsure"), tuple(things), complete=True)


def test_point_on_an_unlikely_thing_is_not_believed() -> None:
    belief = Belief(rating(0.6, 0.0001))
    belief.hear_point(PLACES[1])
    assert belief.chance_at(PLACES[1]) < MIN_CHANCE
    belief.hear_point(PLACES[1])  # it may only repeat itself
    assert belief.chance_at(PLACES[1]) < MIN_CHANCE


def test_unlisted_place_is_believed_when_pointed_at_twice() -> None:
    belief = Belief(rating(0.05, 0.05))
    belief.hear_point(NOTHING)
    assert belief.chance_at(NOTHING) < MIN_CHANCE
    belief.hear_point(Point(NOTHING.x + 1, NOTHING.y))
    assert belief.best_point is not None
    assert belief.chance_at(belief.best_point) >= MIN_CHANCE


def test_control_behind_a_modal_dialog_is_never_believed() -> None:
    belief = Belief(rating(0.3, 0.0, blocked=1))
    for _ in range(5):
        belief.hear_point(PLACES[1])
    assert belief.chance_at(PLACES[1]) == 0.0


@given(
    st.lists(st.floats(0, 0.25), max_size=4),
    st.lists(st.one_of(st.integers(0, 4), st.tuples(st.integers(0, 4))), max_size=4),
)
def test_chances_stay_chances(chances: list[float], heard: list[int | tuple[int]]) -> None:
    screen_rating = rating(*chances)
    belief = Belief(screen_rating)
    for answer in heard:
        if isinstance(answer, int):
            belief.hear_point([*PLACES, NOTHING][answer])
        else:
            (number,) = answer
            picked = screen_rating.things[number] if number < len(screen_rating.things) else None
            belief.hear_pick(list(screen_rating.things), picked, PICKS_RIGHT)
    of = [belief.chance_of(thing) for thing in screen_rating.things]
    assert all(0 <= chance <= 1 for chance in of)
    assert belief.best_point is None or 0 <= belief.chance_at(belief.best_point) <= 1


@pytest.mark.parametrize("size", [1, 2, 22])
def test_overlapping_elements_share_the_belief_of_a_pick(size: int) -> None:
    """Pages nest parts without words, a pixel apart; a click on one of them is one on all."""
    things = []
    for number in range(10):
        left = 300 + (number == 0)
        part = element("section", "", (left, 104, size, size))
        box = BoundingBox(left, 104, left + size, 104 + size)
        things.append(RatedThing(box, 0.05, f"part {number}", Thing(part, part.box)))
    away = element("push button", "Resize", (700, 300, 160, 30))
    box = BoundingBox(700, 300, 860, 330)
    other = RatedThing(box, 0.3, "Resize", Thing(away, away.box))
    everything = (*things, other)
    belief = Belief(Rating(None, NotFound("unsure"), everything, complete=True))
    belief.hear_pick([things[1], other], things[1], right=0.8)
    assert belief.chance_of(things[0]) == pytest.approx(belief.chance_of(things[1]))
    assert belief.chance_of(things[1]) > 0.75

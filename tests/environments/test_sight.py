"""A machine without a tree offers the elements that are seen on its pictures, and says so."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint

import pytest
from PIL import Image

from hisa.config import EnvironmentSettings
from hisa.environments.guest_environment import GuestEnvironment
from hisa.environments.transport.base import RawObservation
from hisa.machine import plugins
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Element, Observation, Screenshot
from hisa.screen.sight import SEEN, see_elements

PICTURE = Screenshot(Image.new("RGB", (800, 600), "white"))
OK = Element("push button", "OK", BoundingBox(10, 10, 60, 30, "screen"))
SEEN_OK = replace(OK, name="0K", states=frozenset({SEEN}))


class Sight:
    """Sees the same button on every picture."""

    def __init__(self, *, usable: bool = True) -> None:
        self.usable = usable
        self.examined: list[Observation] = []

    def available(self) -> bool:
        return self.usable

    def see_elements(self, observation: Observation) -> tuple[Element, ...]:
        self.examined.append(observation)
        return (SEEN_OK,)


@dataclass
class Link:
    """A guest's transport; without a tree it reports no elements."""

    has_tree: bool

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset({"elements", "hidden", "lies_at", "execute"} if self.has_tree else ())

    async def look(self, *, elements: bool, settle: float, longer: float = 1.0) -> RawObservation:
        read = (OK,) if elements and self.has_tree else None
        return RawObservation(PICTURE, Size(800, 600), elements=read)


class Machine(GuestEnvironment):
    def __init__(self, *, has_tree: bool) -> None:
        super().__init__()
        self._open = Link(has_tree)  # type: ignore[assignment]

    async def _start(self) -> None: ...

    async def _end(self) -> None: ...

    async def reset(self) -> None: ...


@pytest.fixture
def eyes(monkeypatch: pytest.MonkeyPatch) -> Sight:
    part = Sight()
    announce(monkeypatch, part)
    return part


def announce(monkeypatch: pytest.MonkeyPatch, *parts: Sight) -> None:
    """Announce nothing but these parts in ``hisa.lists``."""
    points = [EntryPoint(f"sight{n}", f"package{n}:SIGHT", "hisa.lists") for n in range(len(parts))]
    by_name = {point.name: (point, part) for point, part in zip(points, parts, strict=True)}
    monkeypatch.setattr(plugins, "points", lambda _group: tuple(points))
    monkeypatch.setattr(plugins, "find", lambda _group, name: by_name[name][0])
    monkeypatch.setattr(plugins, "load", lambda _group, point: by_name[point.name][1])


async def test_machine_without_a_tree_gives_seen_elements_that_are_never_complete(
    eyes: Sight,
) -> None:
    machine = Machine(has_tree=False)

    look = await machine.observe(elements=True)

    assert look.elements == (SEEN_OK,)
    assert not look.complete
    assert look.all_elements is None
    assert "elements" in machine.capabilities
    assert len(eyes.examined) == 1


async def test_pictures_are_not_examined_where_nobody_needs_elements(eyes: Sight) -> None:
    assert (await Machine(has_tree=False).observe()).elements is None
    assert (await Machine(has_tree=True).observe(elements=True)).elements == (OK,)
    assert eyes.examined == []


async def test_tree_can_be_withheld_with_everything_that_rests_on_it(eyes: Sight) -> None:
    machine = Machine(has_tree=True).with_settings(EnvironmentSettings(elements=False))

    look = await machine.observe(elements=True)

    assert look.elements == (SEEN_OK,)
    assert machine.capabilities == {"elements", "execute"}


async def test_machine_has_no_elements_if_nothing_sees_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    announce(monkeypatch, Sight(usable=False))
    machine = Machine(has_tree=False)

    assert (await machine.observe(elements=True)).elements is None
    assert "elements" not in machine.capabilities


def test_usable_sight_is_chosen_whatever_else_is_announced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = Sight(), Sight(usable=False)
    announce(monkeypatch, first, second)

    seen = see_elements(Observation(PICTURE, Size(800, 600)))

    assert seen.elements == (SEEN_OK,)
    assert first.examined
    assert not second.examined

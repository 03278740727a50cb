"""How well a model picks is found by `hisa doctor --grounder`, and a run goes by what is kept."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hisa.cli import cli
from hisa.cli.findings import Finding
from hisa.config import Settings
from hisa.errors import NotFound
from hisa.events import Event, GroundingTried, Noted
from hisa.grounder.choice import LIST_TOKENS
from hisa.grounder.trust import Key, key_of
from hisa.models.budget import Budget
from hisa.models.open_models import open_models
from hisa.models.profiles import find
from hisa.models.spending import Ledger
from hisa.models.tokens import estimate_tokens
from hisa.plugins.matching.checked_choice import ChoiceGrounder
from hisa.plugins.reading.grounder_test import grounder
from hisa.plugins.reading.known_picks import Counts, known_lists, recall_counts, store_counts
from hisa.protocols import GroundedCall
from hisa.screen.observation import Observation
from hisa.testing.model_server import FakeServer, Fault, ReceivedRequest

from ...grounder.scenes import call, element, open_grounder, scene

pytestmark = pytest.mark.usefixtures("own_cache")

SMALL = "qwen2.5-coder-1.5b-instruct"
LISTS = {known.description: known for known in known_lists()}
Answer = Callable[[ReceivedRequest], str | Fault]


def two_buttons() -> Observation:
    """Two buttons "Save", of which the elements cannot tell which is meant."""
    upper, lower = (600, 400, 80, 30), (600, 500, 80, 30)
    return scene(element("push button", "Save", upper), element("push button", "Save", lower))


def read_description(received: ReceivedRequest) -> str:
    return received.text.partition("Description: ")[2].partition("\n")[0]


def build_picker(right: int = 20, refused: int = 10) -> Answer:
    """A model that is wrong in the last of the known lists, and picks the second in others."""
    present = [known.description for known in known_lists() if known.answer]
    absent = [known.description for known in known_lists() if not known.answer]
    wrong = {*present[right:], *absent[refused:]}

    def answer(received: ReceivedRequest) -> str:
        known = LISTS.get(read_description(received))
        if known is None:
            return "2"
        return str(
            known.answer % len(known.things) + 1
            if read_description(received) in wrong
            else known.answer
        )

    return answer


def settings_of(server: FakeServer) -> Settings:
    """A planner's model and no other."""
    return Settings.model_validate(
        {"models": {"planner": {"model": SMALL, "base_url": server.url, "max_retries": 0}}}
    )


def measure(server: FakeServer) -> Finding:
    """What `hisa doctor --grounder` says of the planner's picks."""
    (finding,) = grounder(settings_of(server))
    assert finding.name == "grounder's picks"
    return finding


def build_counts(right: int = 20, refused: int = 10) -> Counts:
    """Figures of all thirty lists."""
    return Counts(there=20, right=right, absent=10, refused=refused, enough=True)


def remember_picks(server: FakeServer, counts: Counts) -> None:
    store_counts("picks", key(server), counts)


def key(server: FakeServer) -> Key:
    return key_of(SMALL, settings_of(server).models.planner, find(SMALL))


async def search_in_run(
    server: FakeServer,
    events: list[Event],
    *,
    before: Sequence[Event] = (),
    searches: int = 1,
    **model: Any,
) -> list[GroundedCall | BaseException]:
    """What comes of searches at one time, by the grounder that a run opens."""
    chosen = {"model": SMALL, "base_url": server.url, "timeout": 2, "max_retries": 0, **model}
    async with open_grounder({"planner": chosen}, events, before=before) as opened:
        assert isinstance(opened, ChoiceGrounder)
        searches_begun = (
            opened.resolve(call("the Save button"), two_buttons()) for _ in range(searches)
        )
        return await asyncio.gather(*searches_begun, return_exceptions=True)


def figures(events: Sequence[Event]) -> list[tuple[str, float | None]]:
    tried = (event for event in events if isinstance(event, GroundingTried))
    return [(e.verdict, e.score) for e in tried if e.verdict in ("trusted", "distrusted")]


def notes(events: Sequence[Event]) -> list[str]:
    return [
        event.text for event in events if isinstance(event, Noted) and event.where == "grounder"
    ]


def read_point(result: GroundedCall | BaseException) -> tuple[int, int]:
    assert isinstance(result, GroundedCall)
    return result.places[0].point.to_pixels()


def test_known_lists_are_as_long_as_in_a_run_and_a_third_lack_the_target() -> None:
    lists = known_lists()
    assert [known.answer == 0 for known in lists] == [False, True, False] * 10
    assert len(LISTS) == 30
    for known in lists:
        assert 0 <= known.answer <= len(known.things) <= 24
        lines = [f"{number} {words}" for number, words in enumerate(known.things, 1)]
        assert estimate_tokens("\n".join(lines)) <= LIST_TOKENS
        assert not any("\n" in words for words in known.things)


async def test_a_run_asks_no_known_lists_and_says_once_how_a_model_is_measured() -> None:
    events: list[Event] = []
    with FakeServer(then=build_picker()) as server:
        results = await search_in_run(server, events, searches=3)
        assert server.requests == []
    for result in results:
        assert isinstance(result, NotFound)
        assert "2 elements fit equally well" in str(result)
    assert figures(events) == [("distrusted", None)]
    (note,) = notes(events)
    assert "30 short requests, once" in note


@pytest.mark.process
@pytest.mark.parametrize("model", [SMALL, "a model's name"])
def test_the_command_of_the_note_measures_the_model_once_for_all_runs(model: str) -> None:
    events: list[Event] = []
    with FakeServer(then=build_picker()) as server:
        asyncio.run(search_in_run(server, events, model=model))
        (note,) = notes(events)
        program, *options = shlex.split(note[note.index("hisa ") :])
        assert (program, options[-2:]) == ("hisa", ["doctor", "--grounder"])
        ran = CliRunner().invoke(cli, options, standalone_mode=False)
        assert "ok  grounder's picks" in ran.output
        assert len(server.requests) == 30
        for request_count in (31, 32):
            again: list[Event] = []
            (result,) = asyncio.run(search_in_run(server, again, model=model))
            assert read_point(result) == (640, 515)
            assert len(server.requests) == request_count
            assert (figures(again), notes(again)) == ([("trusted", 0.9)], [])
    with FakeServer(then=build_picker()) as other:
        asyncio.run(search_in_run(other, [], model=model))
    assert other.requests == [], "another server may have another model of that name"


@pytest.mark.parametrize(("right", "refused"), [(15, 10), (20, 6), (0, 0)])
def test_model_below_the_bar_is_not_queried_and_the_run_notes_it_once(
    right: int, refused: int
) -> None:
    events: list[Event] = []
    with FakeServer(then=build_picker(right, refused)) as server:
        finding = measure(server)
        assert (finding.ok, finding.needed) == (False, False)
        count = len(server.requests)
        assert count <= 30
        results = asyncio.run(search_in_run(server, events, searches=2))
        assert len(server.requests) == count
    for result in results:
        assert isinstance(result, NotFound)
        assert "2 elements fit equally well" in str(result)
    assert figures(events) == [("distrusted", None)]
    (note,) = notes(events)
    assert "known picks right" in note


async def test_a_run_that_goes_on_decides_by_its_log() -> None:
    """Whatever the cache says by now."""
    unknown: list[Event] = []
    good: list[Event] = []
    bad: list[Event] = []
    with FakeServer(then=build_picker()) as server:
        await search_in_run(server, unknown)
        remember_picks(server, build_counts())
        await search_in_run(server, good)
        remember_picks(server, Counts(there=5, absent=2))
        await search_in_run(server, bad)
        count = len(server.requests)
        (result,) = await search_in_run(server, [], before=good)
        assert read_point(result) == (640, 515)
        assert len(server.requests) == count + 1
        remember_picks(server, build_counts())
        for before in (bad, unknown):
            again: list[Event] = []
            (result,) = await search_in_run(server, again, before=before)
            assert isinstance(result, NotFound)
            assert notes(again) == []
        assert len(server.requests) == count + 1


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"there": -1}', b'{"right": 1e9}', b"\xff" * 9_000]
)
async def test_a_broken_cache_is_as_none(content: bytes, tmp_path: Path) -> None:
    events: list[Event] = []
    with FakeServer(then=build_picker()) as server:
        remember_picks(server, build_counts())
        (file,) = (tmp_path / "cache" / "hisa" / "trust").iterdir()
        file.write_bytes(content)
        await search_in_run(server, events)
        assert server.requests == []
        assert "it is not known how well it picks" in notes(events)[0]
        remember_picks(server, build_counts())
        assert recall_counts("picks", key(server)) == build_counts()


def test_stored_counts_are_bounded_and_hold_no_address(tmp_path: Path) -> None:
    for number in range(220):
        store_counts(
            "picks", (SMALL, f"http://me:hunter2@host-{number}/v1", "small"), Counts(right=1)
        )
    files = list((tmp_path / "cache" / "hisa" / "trust").iterdir())
    assert len(files) == 200
    assert not any("hunter2" in file.name or b"hunter2" in file.read_bytes() for file in files)
    assert recall_counts("picks", (SMALL, "http://me:hunter2@host-219/v1", "small")) == Counts(
        right=1
    )


@pytest.mark.parametrize(
    ("address", "picks"), [("http://127.0.0.1:1/v1", None), ("https://models.example/v1", 0.9)]
)
async def test_an_unknown_model_at_home_is_not_taken_for_a_strong_one(
    address: str, picks: float | None
) -> None:
    chosen = {"planner": {"model": "mine", "base_url": address}}
    settings = Settings.model_validate({"models": chosen})
    environ = {"OPENAI_API_KEY": "x"}
    async with open_models(
        settings.models, settings.planner, lambda _: None, Budget(), Ledger(), environ=environ
    ) as models:
        assert models.profiles["planner"].picks == picks


@pytest.mark.parametrize(("hits", "is_queried"), [(8, True), (5, False)])
async def test_model_that_points_badly_is_not_queried(hits: int, is_queried: bool) -> None:
    """As `hisa doctor --grounder` found it; nothing is asked of it to know that."""
    events: list[Event] = []
    with FakeServer(then=lambda received: "(640, 515)") as server:
        chosen = {"model": "gta1-7b", "base_url": server.url, "timeout": 2, "max_retries": 0}
        settings = Settings.model_validate({"models": {"grounder": chosen}})
        assert settings.models.grounder is not None
        key = key_of("gta1-7b", settings.models.grounder, find("gta1-7b"))
        store_counts("points", key, Counts(there=8, right=hits, enough=hits >= 6))
        async with open_grounder({"grounder": chosen}, events) as opened:
            (result,) = await asyncio.gather(
                opened.resolve(call("the Save button"), two_buttons()), return_exceptions=True
            )
    assert bool(server.requests) == is_queried
    assert isinstance(result, GroundedCall if is_queried else NotFound)
    assert figures(events) == [("trusted", 0.85) if is_queried else ("distrusted", None)]

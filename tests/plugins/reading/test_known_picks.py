"""A model whose picks nobody knows is measured on known lists before it is asked in earnest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import hisa
from hisa.cli import cli
from hisa.config import Settings
from hisa.errors import NotFound
from hisa.events import Event, GroundingTried, ModelCalled, Noted
from hisa.grounder.choice import LIST_TOKENS, ChoiceGrounder
from hisa.grounder.trust import key_of
from hisa.models.budget import Budget
from hisa.models.open_models import open_models
from hisa.models.profile import Profile
from hisa.models.profiles import find
from hisa.models.spending import Ledger
from hisa.models.tokens import estimate_tokens
from hisa.plugins.reading.known_picks import Counts, known_lists, recalled, remember
from hisa.protocols import GroundedCall, Grounder
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Observation, Screenshot
from hisa.screen.ocr import Line
from hisa.testing.form import FakeEnvironment
from hisa.testing.model_server import FakeServer, Fault, Received
from hisa.testing.scripted import tool_call
from hisa.wiring import build_grounder

from ...grounder.scenes import call, element, scene

pytestmark = pytest.mark.usefixtures("own_cache")

SMALL = "qwen2.5-coder-1.5b-instruct"
LISTS = {known.description: known for known in known_lists()}
Answer = Callable[[Received], str | Fault]


def nothing_to_read(screenshot: Screenshot, box: BoundingBox | None) -> tuple[Line, ...]:
    return ()


def two() -> Observation:
    """Two buttons "Save", of which the elements cannot tell which is meant."""
    upper, lower = (600, 400, 80, 30), (600, 500, 80, 30)
    return scene(element("push button", "Save", upper), element("push button", "Save", lower))


def described(received: Received) -> str:
    return received.text.partition("Description: ")[2].partition("\n")[0]


def picking(right: int = 20, refused: int = 10) -> Answer:
    """A model that is wrong in the last of the known lists, and picks the second in others."""
    there = [known.description for known in known_lists() if known.answer]
    absent = [known.description for known in known_lists() if not known.answer]
    wrong = {*there[right:], *absent[refused:]}

    def answer(received: Received) -> str:
        known = LISTS.get(described(received))
        if known is None:
            return "2"
        return str(
            known.answer % len(known.things) + 1 if described(received) in wrong else known.answer
        )

    return answer


async def in_a_run(
    server: FakeServer,
    events: list[Event],
    *,
    before: Sequence[Event] = (),
    searches: int = 1,
    **model: Any,
) -> list[GroundedCall | BaseException]:
    """What comes of searches at one time, by the grounder that a run opens."""
    chosen = {"model": SMALL, "base_url": server.url, "timeout": 2, "max_retries": 0, **model}
    settings = Settings.model_validate({"models": {"planner": chosen}})
    async with open_models(settings, events.append, Budget(), Ledger(), environ={}) as models:
        grounder: Grounder = build_grounder(
            settings, models, events.append, seer=models.profiles["grounder"],
            read=nothing_to_read, events=before,
        )  # fmt: skip
        assert isinstance(grounder, ChoiceGrounder)
        asked = (grounder.resolve(call("the Save button"), two()) for _ in range(searches))
        return await asyncio.gather(*asked, return_exceptions=True)


def figures(events: Sequence[Event]) -> list[tuple[str, float | None]]:
    tried = (event for event in events if isinstance(event, GroundingTried))
    return [(e.verdict, e.score) for e in tried if e.verdict in ("trusted", "distrusted")]


def notes(events: Sequence[Event]) -> list[str]:
    return [
        event.text for event in events if isinstance(event, Noted) and event.where == "grounder"
    ]


def found(result: GroundedCall | BaseException) -> tuple[int, int]:
    assert isinstance(result, GroundedCall)
    return result.places[0].point.rounded()


def test_the_lists_are_as_long_as_those_of_a_run_and_a_third_hold_nothing_that_is_meant() -> None:
    lists = known_lists()
    assert [known.answer == 0 for known in lists] == [False, True, False] * 10
    assert len(LISTS) == 30
    for known in lists:
        assert 0 <= known.answer <= len(known.things) <= 24
        lines = [f"{number} {words}" for number, words in enumerate(known.things, 1)]
        assert estimate_tokens("\n".join(lines)) <= LIST_TOKENS
        assert not any("\n" in words for words in known.things)


async def test_a_model_that_picks_well_is_measured_once_for_all_runs() -> None:
    events: list[Event] = []
    with FakeServer(then=picking()) as server:
        (first,) = await in_a_run(server, events)
        assert found(first) == (640, 515)
        assert len(server.requests) == 31
        assert len([e for e in events if isinstance(e, ModelCalled)]) == 31
        again: list[Event] = []
        (second,) = await in_a_run(server, again)
        assert found(second) == (640, 515)
        assert len(server.requests) == 32
    assert figures(events) == figures(again) == [("trusted", 0.9)]
    assert "30 short requests, once" in notes(events)[0]
    assert "20 of 20 known picks right, 10 of 10 refused" in notes(again)[0]
    with FakeServer(then=picking()) as other:
        await in_a_run(other, [])
    assert len(other.requests) == 31, "another server may have another model of that name"


@pytest.mark.parametrize(("right", "refused"), [(15, 10), (20, 6), (0, 0)])
async def test_a_model_below_the_bar_is_not_asked_and_the_run_says_so_once(
    right: int, refused: int
) -> None:
    events: list[Event] = []
    with FakeServer(then=picking(right, refused)) as server:
        results = await in_a_run(server, events, searches=2)
        count = len(server.requests)
        assert count <= 30
        results += await in_a_run(server, events)
    assert len(server.requests) == count
    assert not any("the Save button" in described(request) for request in server.requests)
    for result in results:
        assert isinstance(result, NotFound)
        assert "2 elements fit equally well" in str(result)
    assert figures(events) == [("distrusted", None)] * 2, "once a run"
    assert "the elements decide alone" in notes(events)[-1]


async def test_a_hopeless_model_is_left_alone_early() -> None:
    with FakeServer(then=lambda received: "1") as server:
        await in_a_run(server, [])
    assert len(server.requests) == 7, "after five wrong picks of things that are there"


async def test_a_model_that_just_passes_moves_the_belief_less() -> None:
    """Two things as likely: what a strong model's pick decides, a middling one's does not."""
    events: list[Event] = []
    with FakeServer(then=picking(16, 7)) as server:
        (result,) = await in_a_run(server, events)
    assert figures(events) == [("trusted", 0.75)]
    doubted = [e for e in events if isinstance(e, GroundingTried) and e.verdict == "doubted"]
    assert len(doubted) == int(isinstance(result, NotFound))


async def test_searches_at_one_time_share_the_test() -> None:
    with FakeServer(then=picking()) as server:
        results = await in_a_run(server, [], searches=4)
    assert {found(result) for result in results} == {(640, 515)}
    assert len(server.requests) == 34


async def test_a_server_that_is_down_is_tried_again_in_the_next_run_only() -> None:
    events: list[Event] = []
    with FakeServer(then=lambda received: Fault("status")) as server:
        await in_a_run(server, events, searches=3)
    assert len(server.requests) == 1
    assert figures(events) == [("distrusted", None)]
    assert "did not answer" in notes(events)[-1]
    with FakeServer(then=picking()) as server:
        assert found((await in_a_run(server, []))[0]) == (640, 515)


async def test_a_run_that_goes_on_decides_by_its_log() -> None:
    """Whatever the cache says by now, or the server."""
    good: list[Event] = []
    bad: list[Event] = []
    with FakeServer(then=picking()) as server:
        await in_a_run(server, good)
    with FakeServer(then=picking(0, 0)) as server:
        await in_a_run(server, bad)
        count = len(server.requests)
        (result,) = await in_a_run(server, [], before=good)
        assert found(result) == (640, 515)
        assert len(server.requests) == count + 1
    with FakeServer(then=picking()) as server:
        (result,) = await in_a_run(server, [], before=bad)
        assert isinstance(result, NotFound)
        assert server.requests == []


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"there": -1}', b'{"right": 1e9}', b"\xff" * 9_000]
)
async def test_a_broken_cache_is_as_none(content: bytes, own_cache: Path, tmp_path: Path) -> None:
    with FakeServer(then=picking()) as server:
        await in_a_run(server, [])
        (file,) = (tmp_path / "cache" / "hisa" / "trust").iterdir()
        file.write_bytes(content)
        await in_a_run(server, [])
        assert len(server.requests) == 62
        assert Counts.model_validate_json(file.read_bytes()).right == 20


def test_what_is_kept_is_bounded_and_holds_no_address(tmp_path: Path) -> None:
    for number in range(220):
        remember("picks", (SMALL, f"http://me:hunter2@host-{number}/v1", "small"), Counts(right=1))
    files = list((tmp_path / "cache" / "hisa" / "trust").iterdir())
    assert len(files) == 200
    assert not any("hunter2" in file.name or b"hunter2" in file.read_bytes() for file in files)
    assert recalled("picks", (SMALL, "http://me:hunter2@host-219/v1", "small")) == Counts(right=1)


def test_a_folder_that_cannot_be_written_is_no_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    remember("picks", (SMALL, "", ""), Counts())
    assert recalled("picks", (SMALL, "", "")) is None


@pytest.mark.parametrize("name", ["gpt-4.1", "claude-sonnet-4-5", "qwen2.5-72b-instruct"])
def test_capable_families_are_taken_at_their_profiles_word(name: str) -> None:
    assert find(name).picks == 0.9


def test_a_profile_that_says_nothing_is_measured() -> None:
    assert Profile(name="of another package").picks is None


@pytest.mark.parametrize(
    ("address", "picks"), [("http://127.0.0.1:1/v1", None), ("https://models.example/v1", 0.9)]
)
async def test_an_unknown_model_is_measured_at_home_only(address: str, picks: float | None) -> None:
    chosen = {"planner": {"model": "mine", "base_url": address}}
    settings = Settings.model_validate({"models": chosen})
    environ = {"OPENAI_API_KEY": "x"}
    async with open_models(settings, lambda _: None, Budget(), Ledger(), environ=environ) as models:
        assert models.profiles["planner"].picks == picks


@pytest.mark.parametrize(("hits", "asked"), [(8, True), (5, False)])
async def test_a_model_that_points_badly_is_not_asked(hits: int, asked: bool) -> None:
    """As `hisa doctor --grounder` found it; nothing is asked of it to know that."""
    events: list[Event] = []
    with FakeServer(then=lambda received: "(640, 515)") as server:
        chosen = {"model": "gta1-7b", "base_url": server.url, "timeout": 2, "max_retries": 0}
        settings = Settings.model_validate({"models": {"grounder": chosen}})
        assert settings.models.grounder is not None
        key = key_of("gta1-7b", settings.models.grounder, find("gta1-7b"))
        remember("points", key, Counts(there=8, right=hits, enough=hits >= 6))
        async with open_models(settings, events.append, Budget(), Ledger(), environ={}) as models:
            grounder = build_grounder(
                settings, models, events.append, seer=models.profiles["grounder"],
                read=nothing_to_read,
            )  # fmt: skip
            (result,) = await asyncio.gather(
                grounder.resolve(call("the Save button"), two()), return_exceptions=True
            )
    assert bool(server.requests) == asked
    assert isinstance(result, GroundedCall if asked else NotFound)
    assert figures(events) == [("trusted", 0.85) if asked else ("distrusted", None)]


@pytest.mark.process
def test_doctor_measures_anew_and_tells_the_runs(tmp_path: Path) -> None:
    def doctor(server: FakeServer) -> str:
        chosen = ("--set", f"models.planner.model={SMALL}")
        where = ("--set", f"models.planner.base_url={server.url}")
        ran = CliRunner().invoke(
            cli, [*chosen, *where, "doctor", "--grounder"], standalone_mode=False
        )
        (line,) = (line for line in ran.output.splitlines() if "grounder's picks" in line)
        return line

    with FakeServer(then=picking(18, 9)) as server:
        assert "ok  grounder's picks" in (line := doctor(server))
        assert "18 of 20 known picks right, 9 of 10 refused" in line
        assert len([r for r in server.requests if described(r)]) == 30
        key = key_of(SMALL, Settings().models.planner.model_copy(update={"base_url": server.url}),
                     find(SMALL))  # fmt: skip
        assert recalled("picks", key) == Counts(
            there=20, right=18, absent=10, refused=9, enough=True
        )
    with FakeServer(then=picking(3, 0)) as server:
        assert "--  grounder's picks" in (line := doctor(server))
        assert "it is not asked, the elements decide" in line


async def test_a_model_is_measured_before_the_set_up_of_a_task_and_not_within_an_act(
    tmp_path: Path,
) -> None:
    happened: list[str] = []

    class Watched(FakeEnvironment):
        """A form that notes when it is set up and looked at."""

        async def reset(self) -> None:
            happened.append("set-up")
            await super().reset()

    picks = picking()

    def answer(received: Received) -> str | Fault:
        if described(received):
            happened.append("known list")
            return picks(received)
        return tool_call("termination", "It is done.")

    with FakeServer(then=answer) as server:
        model = {"base_url": server.url, "model": SMALL}
        tree = {
            "models": {"planner": model},
            "run": {"folder": tmp_path},
            "patterns": {"enabled": False},
        }
        await hisa.run(
            "Press the button.", settings=Settings.model_validate(tree), environment=Watched()
        )
    assert happened.count("known list") == 30
    assert happened.index("set-up") >= 30

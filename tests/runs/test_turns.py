"""Model calls of the log against what a server saw, as JSON; and what the log has of them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hisa.agent import run_sync
from hisa.config import Settings
from hisa.errors import UsageError
from hisa.events import Grounded, Observed
from hisa.protocols import ModelReply, TurnTokens
from hisa.runs.element_files import read_elements
from hisa.runs.export import select_turns
from hisa.runs.run_reader import ELEMENTS, Run, load_run
from hisa.runs.turns import Turn, find_turn, turns
from hisa.testing import (
    FakeEnvironment,
    FakeServer,
    Fault,
    Line,
    tool_call,
)
from hisa.testing.model_server import ReceivedRequest

CLICK = tool_call("gui_action", "pyautogui.click(X_COORD, Y_COORD)", "the Save button")
DONE = tool_call("termination", "done")
Answer = Callable[[ReceivedRequest], str]


def answer(planned: list[str]) -> Answer:
    """Each role in turn: what a model of that role says."""
    left = {"planner": list(planned)}

    def reply(request: ReceivedRequest) -> str:
        match request.role:
            case "planner":
                return left["planner"].pop(0) if left["planner"] else DONE
            case "judge":
                return '{"explaining": "as good", "index": 1}'
            case "grounder":
                return "0"
        return "Succeeded. Something changed."

    return reply


def run_with_server(folder: Path, server: FakeServer, **tree: Any) -> Run:
    roles = {
        role: {"model": f"{role}-model", "base_url": server.url}
        for role in ("planner", "state", "grounder", "judge")
    }
    more = tree.pop("models", {})
    models = {role: {**known, **more.get(role, {})} for role, known in roles.items()}
    settings = Settings.model_validate(
        {
            "patterns": {"enabled": False},
            "run": {"folder": folder, "confirm": "never", "max_steps": 4},
            "grounder": {"kind": "choice"},
            **tree,
            "models": models,
        }
    )
    result = run_sync("Save the form.", settings=settings, environment=FakeEnvironment())
    return load_run(result.folder)


def restore_pictures(value: Any, run: Run) -> Any:
    """A body with its pictures as they went over the wire."""
    match value:
        case {"$image": str(name)}:
            path = run.image(name)
            assert path is not None
            return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
        case dict():
            return {key: restore_pictures(item, run) for key, item in value.items()}
        case list():
            return [restore_pictures(item, run) for item in value]
    return value


def assert_same(run: Run, server: FakeServer) -> list[Turn]:
    """What the log has of each call is what the server got, whatever the order."""
    logged_turns = list(turns(run))
    logged = sorted(json.dumps(restore_pictures(turn.request, run)) for turn in logged_turns)
    assert logged == sorted(json.dumps(request.body) for request in server.requests)
    assert len({turn.id for turn in logged_turns}) == len(logged_turns)
    assert not any(turn.cut or turn.redacted for turn in logged_turns)
    return logged_turns


@pytest.mark.parametrize(
    ("tree", "roles"),
    [
        ({}, {"planner", "state"}),
        ({"planner": {"samples": 3, "scaling": "constant"}}, {"planner", "state", "judge"}),
        ({"planner": {"sequence": 3}}, {"planner", "state"}),
        ({"grounder": {"kind": "vision"}}, {"planner", "grounder"}),
    ],
)
def test_a_turn_is_the_request_sent_and_its_reply(
    tmp_path: Path, tree: dict[str, Any], roles: set[str]
) -> None:
    other = tool_call("gui_action", "pyautogui.press('tab')")
    planned = [CLICK, other] * 8  # no three in a row agree, in whatever order they are asked for
    with FakeServer(then=answer(planned)) as server:
        run = run_with_server(tmp_path, server, **tree)
        logged_turns = assert_same(run, server)
    assert roles <= {turn.role for turn in logged_turns}
    assert all(turn.reply is not None and turn.usage for turn in logged_turns)
    assert {turn.api for turn in logged_turns} == {"chat"}
    assert find_turn(run, logged_turns[0].id) == logged_turns[0]


def test_a_refused_reply_is_a_turn_with_its_reason_and_its_correction_another(
    tmp_path: Path,
) -> None:
    with FakeServer(then=answer(["no JSON", CLICK])) as server:
        logged_turns = assert_same(run_with_server(tmp_path, server), server)
    first, second, *_ = (turn for turn in logged_turns if turn.role == "planner")
    assert (first.reply, second.corrects) == ("no JSON", first.id)
    assert "JSON" in first.refused
    assert (second.refused, second.step) == ("", first.step)


def test_the_tries_at_a_request_are_turns_of_their_own(tmp_path: Path) -> None:
    script = [Line(Fault("status", status=429, retry_after="0"), "planner")]
    with FakeServer(script, then=answer([CLICK])) as server:
        logged_turns = assert_same(run_with_server(tmp_path, server), server)
    failed, again, *_ = logged_turns
    assert failed.failure.startswith("rate_limit")
    assert (failed.reply, failed.attempt, again.attempt) == (None, 1, 2)
    assert list(select_turns([load_run(tmp_path / logged_turns[0].run)], complete_only=True)) == [
        turn for turn in logged_turns if turn.reply is not None
    ]


def test_tokens_are_stored_beside_the_log_as_the_server_gave_them(tmp_path: Path) -> None:
    tokens = TurnTokens((1, 2, 3), (7, 8), (-0.5, -0.25))

    def reply(request: ReceivedRequest) -> Any:
        text = answer([DONE])(request)
        return ModelReply(text, tokens=tokens) if request.role == "planner" else text

    tree = {"models": {"planner": {"tokens": True, "profile": "vllm"}}}
    with FakeServer(then=reply) as server:
        run = run_with_server(tmp_path, server, **tree)
        logged_turns = assert_same(run, server)
        body = server.requests[0].body
    assert (body["logprobs"], body["return_token_ids"]) == (True, True)
    assert (body["top_k"], body["min_p"]) == (0, 0), "or the server cuts the distribution"
    planner = next(turn for turn in logged_turns if turn.role == "planner")
    assert planner.tokens == tokens == planner.require_trainable()
    state = next((turn for turn in logged_turns if turn.role != "planner"), None)
    if state is not None:
        with pytest.raises(UsageError, match=rf"turn {state.id} .* no prompt_ids.*fit for cloning"):
            state.require_trainable()


def test_a_part_of_a_look_is_stored_as_a_part_and_cut_out_as_it_was(tmp_path: Path) -> None:
    with FakeServer(then=answer([CLICK])) as server:
        run = run_with_server(tmp_path, server)
        parts = list((run.folder / "images").glob("*.json"))
        assert parts, "what the state manager shows its model is cut out of looks"
        assert not any(path.with_suffix(".png").exists() for path in parts)
        assert_same(run, server)
    assert all(path.with_suffix(".png").exists() for path in parts)
    path = parts[0]
    path.with_suffix(".png").unlink()
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "boxes": [[0, 0, 1e6, 1e6]]}))
    assert run.image(path.stem) is None
    path.write_text(json.dumps({**record, "part_of": "../../etc/passwd"}))
    assert run.image(path.stem) is None


def test_elements_of_a_look_and_the_chosen_target_are_stored(tmp_path: Path) -> None:
    with FakeServer(then=answer([CLICK])) as server:
        run = run_with_server(tmp_path, server)
    (place,) = next(event for event in run.events if isinstance(event, Grounded)).places
    assert place.chosen
    assert place.element is not None
    assert (place.element.role, place.element.name) == ("push button", "Save")
    assert place.element.box[0] <= place.x < place.element.box[2]
    assert 1 <= len(place.element.neighbours) <= 3
    look = next(event for event in run.events if isinstance(event, Observed))
    elements = read_elements(run.folder / ELEMENTS / f"{look.elements_sha256}.json")
    assert len(elements) == look.elements
    assert any(element.name == "Save" for element in elements)

"""The comparison of agents with a small model: split, order, proxy, records, statistics, labels."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from benchmarks.small_model import __main__ as command
from benchmarks.small_model import episodes, pages
from benchmarks.small_model.arm_report import bootstrap, report
from benchmarks.small_model.episodes import Conditions, Episode, Slot
from benchmarks.small_model.history_loop import call_of
from benchmarks.small_model.labelled_sheets import failures, label_tables, lines
from benchmarks.small_model.recording_proxy import Asking, RecordingProxy, append_line
from hisa.testing.model_server import FakeServer, Fault, Received

_AGENT = "tests.plugins.benchmarks.page_agent"


def _episode(arm: str, page: str, *, success: bool, tokens: int = 100, **more: Any) -> Episode:
    return Episode(
        page=page,
        seed=1,
        arm=arm,
        cache=True,
        success=success,
        steps=2,
        prompt_tokens=tokens,
        reply_tokens=0,
        cached_tokens=0,
        requests=2,
        seconds=10.0,
        model_seconds=8.0,
        first_token_seconds=1.0,
        ended="steps",
        **more,
    )


def test_the_split_is_what_the_rule_and_the_seed_draw() -> None:
    working, reported = pages.draw(pages.kinds())
    assert set(working) < set(pages.WORKING)
    assert reported == pages.REPORTED
    assert (len(pages.WORKING), len(pages.REPORTED)) == (20, 20)
    assert not set(pages.WORKING) & set(pages.REPORTED)


@pytest.mark.parametrize(
    ("page", "source", "kind"),
    [
        ("click-color", "", "colour"),
        ("use-slider", "$('#s').slider({", "dragged"),
        ("count-shape", '<script src="../common/shapes.js">', "drawn"),
        ("flight.AA", "", "other ground"),
        ("click-link", "d3.select('#area').append('a')", ""),
    ],
)
def test_a_page_is_left_out_by_its_kind(page: str, source: str, kind: str) -> None:
    assert pages.kind(page, source) == kind


def test_a_stop_leaves_every_arm_the_same_pages() -> None:
    slots = episodes.schedule(["a", "b", "c"], 2, ["x", "y", "z"], [True, False])
    assert len(set(slots)) == len(slots) == 36
    for stop in range(0, 36, 6):
        assert len(set(Counter(slot.arm for slot in slots[:stop]).values())) <= 1
    assert slots == episodes.schedule(["a", "b", "c"], 2, ["x", "y", "z"], [True, False])


def test_a_line_cut_off_by_a_kill_is_no_episode(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    episodes.write(path, _episode("x", "a", success=True))
    path.write_bytes(path.read_bytes() + b'{"page": "b", "se')
    episodes.write(path, _episode("x", "c", success=False))
    assert [episode.page for episode in episodes.read(path)] == ["a", "c"]


@pytest.mark.parametrize(
    ("steps", "longest"),
    [
        ([], 0),
        ([("a", True), ("a", True), ("b", True), ("b", True), ("b", True)], 3),
        ([("a", True), ("a", False), ("a", True)], 1),
    ],
)
def test_repeats_are_identical_failures_in_a_row(
    steps: Sequence[tuple[str, bool]], longest: int
) -> None:
    lines = [{"action": action, "failed": failed} for action, failed in steps]
    assert episodes.longest_repeat(lines) == longest


def _ask(url: str, **body: Any) -> dict[str, Any]:
    data = json.dumps({"messages": [{"role": "user", "content": "hi"}], **body}).encode()
    request = urllib.request.Request(f"{url}/chat/completions", data)
    with urllib.request.urlopen(request) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def test_the_proxy_fixes_how_every_arm_asks_and_counts(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    with FakeServer(["yes"]) as server, RecordingProxy(server.url) as proxy:
        proxy.begin(trace, Asking("one-model", 64, cache=False))
        _ask(proxy.url, model="other", temperature=1.0, max_completion_tokens=900)
    (received,) = server.requests
    fixed = {"model": "one-model", "temperature": 0, "max_tokens": 64, "cache_prompt": False}
    assert {name: received.body[name] for name in fixed} == fixed
    assert "max_completion_tokens" not in received.body
    (line,) = episodes.lines_of(trace)
    assert (line["reply"], line["shown"], line["status"]) == ("yes", "user: hi", 200)
    assert line["prompt_tokens"] > 0


class _Streaming(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        usage = {"prompt_tokens": 7, "completion_tokens": 2}
        for part in (
            {"choices": [{"delta": {"content": "ye"}}]},
            {"choices": [{"delta": {"content": "s"}}]},
            {"choices": [], "usage": usage, "timings": {"prompt_ms": 1500}},
        ):
            self.wfile.write(f"data: {json.dumps(part)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *args: Any) -> None:
        pass


def test_a_stream_is_handed_on_and_counted(tmp_path: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Streaming)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    with RecordingProxy(f"http://127.0.0.1:{server.server_address[1]}/v1") as proxy:
        proxy.begin(tmp_path / "trace.jsonl", Asking("m"))
        body = json.dumps({"messages": [], "stream": True}).encode()
        with urllib.request.urlopen(f"{proxy.url}/chat/completions", body) as answer:
            assert answer.read().count(b"data: ") == 4
    server.shutdown()
    server.server_close()
    (line,) = episodes.lines_of(tmp_path / "trace.jsonl")
    counted = line["reply"], line["prompt_tokens"], line["reply_tokens"], line["first_seconds"]
    assert counted == ("yes", 7, 2, 1.5)


def test_no_arm_finds_the_prompt_of_another_in_the_cache(tmp_path: Path) -> None:
    with FakeServer(["yes", "yes"]) as server, RecordingProxy(server.url) as proxy:
        proxy.begin(tmp_path / "trace.jsonl", Asking("m", session="Session 2."))
        _ask(proxy.url)
        _ask(proxy.url, messages=[{"role": "user", "content": [{"type": "text", "text": "hi"}]}])
    assert [received.text for received in server.requests] == ["Session 2.\nhi"] * 2


def test_a_text_answer_is_taken_out_of_the_schema_it_was_held_to(tmp_path: Path) -> None:
    held = "\"<action>\nclick('1')\n</action>\""
    with FakeServer([held]) as server, RecordingProxy(server.url) as proxy:
        proxy.begin(tmp_path / "trace.jsonl", Asking("m", schema={"type": "string"}))
        answer = _ask(proxy.url)
    assert answer["choices"][0]["message"]["content"] == "<action>\nclick('1')\n</action>"
    assert server.requests[0].body["response_format"]["type"] == "json_schema"


def test_a_request_under_way_ends_with_its_episode(tmp_path: Path) -> None:
    with FakeServer([Fault("hang")]) as server, RecordingProxy(server.url) as proxy:
        proxy.begin(tmp_path / "trace.jsonl", Asking("m"))
        failures: list[Exception] = []

        def ask() -> None:
            try:
                _ask(proxy.url)
            except (OSError, http.client.HTTPException) as error:
                failures.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        while not server.requests:
            time.sleep(0.01)
        proxy.end()
        asking.join(30)
        assert failures
        with pytest.raises(urllib.error.HTTPError):
            _ask(proxy.url)


def _arguments(folder: Path, url: str) -> list[str]:
    for kind in ("gym", "agentlab"):
        python = folder / "pythons" / kind / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.symlink_to(sys.executable)
    chosen = ["run", "click-test", "click-link", "--arms", "hisa-one", "other", "--steps", "3"]
    places = ["--base-url", url, "--pythons", str(folder / "pythons"), "--out", str(folder)]
    return [*chosen, *places]


@pytest.mark.process
def test_a_run_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    def answer(received: Received) -> str | Fault:
        if len(server.requests) == 5:
            return Fault("hang")
        return "right" if "link" in received.text else "wrong"

    code = (
        "import sys; from benchmarks.small_model import episodes as e; "
        f"e.ARMS = dict.fromkeys(('hisa-one', 'other'), e.Arm({_AGENT!r}, False)); "
        "from benchmarks.small_model.__main__ import main; sys.exit(main())"
    )
    path = tmp_path / "episodes.jsonl"
    with FakeServer(then=answer) as server:
        line = [sys.executable, "-c", code, *_arguments(tmp_path, server.url)]
        environment = {**os.environ, "PYTHONPATH": os.getcwd()}
        first = subprocess.Popen(line, env=environment, start_new_session=True)
        while len(server.requests) < 5:
            assert first.poll() is None
            time.sleep(0.05)
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        before = path.read_bytes() if path.exists() else b""
        subprocess.run(line, env=environment, check=True)
    assert path.read_bytes().startswith(before)
    found = episodes.read(path)
    assert len({episode.slot for episode in found}) == len(found) == 8
    assert {episode.page for episode in found if episode.success} == {"click-link"}
    failed = next(episode for episode in found if not episode.success)
    assert (failed.steps, failed.longest_repeat, failed.ended) == (3, 3, "steps")
    assert failed.prompt_tokens > 0


def test_reported_pages_are_not_run_by_the_way(tmp_path: Path) -> None:
    given = command._parser().parse_args(["run", pages.REPORTED[0], "--out", str(tmp_path)])
    with pytest.raises(SystemExit, match="not working pages"):
        command._pages(given)


def test_the_report_pairs_the_same_pages_and_tells_goals_that_differ(tmp_path: Path) -> None:
    found = [_episode("hisa-short", f"p{n}", success=True, tokens=50, goal="g") for n in range(8)]
    found += [_episode("history", f"p{n}", success=n < 4, goal="g") for n in range(7)]
    found.append(_episode("history", "p7", success=False, goal="another"))
    text = report(found, tmp_path)
    assert "| hisa-short | 8 of 8: 100% (68% to 100%)" in text
    assert "| hisa-short − history | 8 | +50 points (+12 to +88), 2.00 | 0.50 (0.50 to 0.50) |" in (
        text
    )
    assert "NOT THE SAME TASK in every arm: p7 seed 1" in text
    assert "hisa-short" in (tmp_path / "arms.svg").read_text("utf-8")


def test_a_bootstrap_draws_pages_and_not_seeds() -> None:
    pair = (_episode("x", "a", success=True), _episode("y", "a", success=False))
    same = (_episode("x", "b", success=True), _episode("y", "b", success=True))

    def gap(pairs: Sequence[tuple[Episode, Episode]]) -> float:
        return sum(first.success - second.success for first, second in pairs) / len(pairs)

    assert bootstrap([[pair, pair], [same, same]], gap) == (0.0, 1.0)


def _labelled(folder: Path, name: str, group: str, label: str) -> None:
    key = json.loads((folder / f"{name}-key.json").read_text("utf-8"))
    number = next(number for number, entry in key.items() if entry == group)
    (folder / f"{name}.csv").write_text(f"number,label,by,note\n{number},{label},me,\n", "utf-8")


def test_who_labels_failures_does_not_see_the_arm(tmp_path: Path) -> None:
    found = [_episode(arm, "p", success=False) for arm in ("hisa-short", "history")]
    for episode in found:
        trace = tmp_path / "traces" / f"{episode.slot.name}.jsonl"
        trace.parent.mkdir(exist_ok=True)
        append_line(trace, kind="request", shown="a page", reply="an answer")
        append_line(trace, kind="step", action="click", happened="nothing changed", failed=True)
    failures(found, tmp_path)
    sheet = (tmp_path / "failures.jsonl").read_text("utf-8")
    assert "an answer" in sheet
    assert not any(episode.arm in sheet for episode in found)
    _labelled(tmp_path, "failures", "history", "prompt")
    assert "| history | 1 | 0 | 1 | 0 | 0 | 0 | 0 | 100% |" in label_tables(found, tmp_path)
    assert "move it away" in failures(found, tmp_path)
    _labelled(tmp_path, "failures", "history", "luck")
    with pytest.raises(SystemExit, match="'luck' is none of"):
        label_tables(found, tmp_path)


def test_what_a_model_wrote_is_labelled_with_its_evidence(tmp_path: Path) -> None:
    episode = _episode("hisa-short", "p", success=True)
    log = tmp_path / "traces" / episode.slot.name / "run" / "events.jsonl"
    log.parent.mkdir(parents=True)
    append_line(log, type="planned", tool="gui_action", input="click(1)", description="OK")
    append_line(log, type="model_asked", messages=[{"role": "user", "text": "before, after"}])
    append_line(log, type="abstracted", line="succeeded: it is saved", asked_model=True)
    append_line(log, type="abstracted", line="by rule", asked_model=False)
    append_line(log, type="grounding_tried", description="OK", verdict="sure", by="elements")
    lines([episode], tmp_path)
    (entry,) = episodes.lines_of(tmp_path / "lines.jsonl")
    assert entry["written"] == {"line": "succeeded: it is saved"}
    assert "before, after" in entry["shown"]
    assert "OK" in entry["call"]
    _labelled(tmp_path, "lines", "abstracted", "false")
    assert "| abstracted | 1 of 1 | 1 (21% to 100%) | 0 |" in label_tables([episode], tmp_path)


@pytest.mark.parametrize(
    ("reply", "call"),
    [
        ('{"action": "click", "element": "12"}', "click('12')"),
        (
            'so: {"action": "fill", "element": "[3]", "text": "a\') or x"}',
            "fill('3', \"a') or x\")",
        ),
        ('{"action": "done"}', ""),
    ],
)
def test_the_loop_reads_one_json_action(reply: str, call: str) -> None:
    assert call_of(reply) == call


@pytest.mark.parametrize("reply", ["", "{}", "[1]", '{"action": "__import__"}', '{"action": 1'])
def test_the_loop_refuses_what_is_no_action(reply: str) -> None:
    with pytest.raises(ValueError, match=r"action|JSON"):
        call_of(reply)


def test_the_arms_are_what_the_documentation_says() -> None:
    assert set(episodes.ARMS) == {
        f"{arm}{schema}"
        for arm in ("hisa-short", "hisa-long", "history", "genericagent")
        for schema in ("", "+schema")
    }
    assert Conditions("m") == Conditions("m", 8, 600.0, 8192, 512)
    assert len(episodes.desktop_tasks()) == 10
    assert Slot("p", 1, "x", False).name == "p-1-x-no_cache"

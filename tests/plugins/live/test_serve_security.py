"""Who is let in to the live page, and what of a hostile run or request does nothing."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import websocket

from tests.plugins.live.serving import SCRIPT, Served, finished_run, serving

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path, str]]:
    folder = tmp_path_factory.mktemp("live")
    run = finished_run(folder / "runs", SCRIPT)
    with serving(folder) as served:
        yield served, folder, run


def ask(served: Served, path: str, method: str = "GET", **headers: str) -> tuple[int, Any, bytes]:
    """A request as it is written, with a path that no client makes tidy."""
    host = served.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=60)
    sent = {"Host": host, "Authorization": f"Bearer {served.token}", **headers}
    connection.putrequest(method, path, skip_host=True)
    for name, value in sent.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    reply = answer.status, answer.headers, answer.read()
    connection.close()
    return reply


def test_request_without_the_token_gets_nothing_but_the_page(
    page: tuple[Served, Path, str],
) -> None:
    served, _, run = page
    paths = [
        "/api/runs",
        f"/api/runs/{run}",
        f"/api/runs/{run}/view",
        f"/api/runs/{run}/events",
        "/api/nothing",
        "/nothing",
        "//api/runs",
        "/API/runs",
    ]
    wrong = [
        "",
        "Bearer",
        "Bearer ",
        "Bearer x",
        served.token,
        f"Bearer {served.token}x",
        f"Bearer {served.token[:-1]}",
        f"Basic {served.token}",
    ]
    for path in paths:
        for shown in wrong:
            status, headers, body = ask(served, path, Authorization=shown)
            assert status == 401, (path, shown)
            assert headers["Cache-Control"] == "no-store"
            assert b"Ada" not in body
    assert ask(served, f"/api/runs?token={served.token}", Authorization="")[0] == 401
    assert ask(served, "/static/report.css", Authorization="")[0] == 200
    assert ask(served, "/api/runs")[0] == 200


def test_foreign_hosts_and_origins_are_refused(page: tuple[Served, Path, str]) -> None:
    served, _, _ = page
    own = served.url.removeprefix("http://")
    port = own.rpartition(":")[2]
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1.evil.example",
        "",
        "0.0.0.0",
        "localhost@evil.example",
        "[::1].evil",
        f"{own}, evil.example",
    ):
        for path in ("/", "/static/report.css", "/api/runs"):
            assert ask(served, path, Host=host)[0] in (400, 421), host
    for origin in (
        "http://evil.example",
        "null",
        f"https://{own}",
        "http://127.0.0.1",
        f"http://{own}.evil.example",
        f"http://localhost:{port}",
    ):
        for path in ("/", "/api/runs"):
            assert ask(served, path, Origin=origin)[0] == 403, origin
    assert ask(served, "/api/runs", Origin=f"http://{own}")[0] == 200
    assert ask(served, "/api/runs", Host=f"LOCALHOST:{port}")[0] == 200


def test_every_answer_has_the_strict_policy(page: tuple[Served, Path, str]) -> None:
    served, _, run = page
    for path in ("/", "/static/report.css", "/api/runs", f"/api/runs/{run}/view", "/api/nothing"):
        for more in ({}, {"Host": "evil.example"}, {"Authorization": "x"}):
            headers = ask(served, path, **more)[1]
            policy = headers["Content-Security-Policy"]
            assert "default-src 'none'; script-src 'self'; style-src 'self';" in policy
            assert "unsafe" not in policy
            assert "http:" not in policy
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["Referrer-Policy"] == "no-referrer"
            assert headers.get_all("Cache-Control") == ["no-store"]


def test_a_body_has_a_megabyte_whatever_its_length_says(page: tuple[Served, Path, str]) -> None:
    served, _, run = page
    large = json.dumps({"task": "x" * (1 << 20)}).encode()
    with served.http as client:
        path = f"/api/runs/{run}/answer"
        assert client.post(path, content=large).status_code == 413
        parts = (large[at : at + 65536] for at in range(0, len(large), 65536))
        assert client.post(path, content=parts).status_code == 411
        for body in (b"", b"[]", b"{", b'{"text": 1}', b"[" * 90_000):
            assert client.post(path, content=body).status_code == 400


def test_no_path_escapes_the_folders(page: tuple[Served, Path, str]) -> None:
    served, folder, run = page
    secret = folder / "secret"
    (secret / "images").mkdir(parents=True)
    for name in ("run.json", "events.jsonl"):
        (secret / name).write_bytes((folder / "runs" / run / name).read_bytes())
    (folder / "runs" / "linked").symlink_to(secret)
    inside = folder / "runs" / "20990101-000000-abcd"
    inside.mkdir()
    (inside / "run.json").symlink_to(secret / "run.json")
    names = [
        ".",
        "..",
        "%2e%2e",
        "..%2fsecret",
        "%2e%2e%2fsecret",
        "linked",
        inside.name,
        "%00",
        "secret",
        f"{run}%2f..%2f..%2fsecret",
        f"{run}%0a",
        "latest",
        run[:8],
    ]
    for name in names:
        for rest in ("", "/view", "/events", "/picture/" + "a" * 64):
            assert ask(served, f"/api/runs/{name}{rest}")[0] in (404, 405), name + rest
    for name in (
        "../security.py",
        "..%2fsecurity.py",
        "%2e%2e/security.py",
        "security.py",
        "",
        "%2fetc%2fpasswd",
        "page",
        "report.html.j2",
        "a.css%00",
    ):
        assert ask(served, f"/static/{name}")[0] == 404, name
    assert run in [record["id"] for record in served.get("/runs")["runs"]]
    assert {"linked", inside.name}.isdisjoint(e["id"] for e in served.get("/runs")["runs"])


def test_pictures_are_had_by_their_hash_alone(page: tuple[Served, Path, str]) -> None:
    served, folder, run = page
    images = folder / "runs" / run / "images"
    sha = next(images.glob("*.png")).stem
    (images / f"{'b' * 64}.png").symlink_to("/etc/passwd")
    base = f"/api/runs/{run}/picture/"
    assert ask(served, base + sha)[2] == (images / f"{sha}.png").read_bytes()
    for name in ("b" * 64, "d" * 64, "..%2frun", sha.upper(), f"{sha}.png"):
        assert ask(served, base + name)[0] == 404, name


def test_script_in_a_run_is_text_on_the_page(page: tuple[Served, Path, str]) -> None:
    served, _, run = page
    with served.http as client:
        text = client.get(f"/api/runs/{run}/view").text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<script" not in text
    assert "<img" not in text
    assert "onerror=alert" in text
    assert served.get(f"/runs/{run}")["instruction"].count(SCRIPT) == 1


def test_a_socket_wants_origin_and_token(page: tuple[Served, Path, str]) -> None:
    served, _, run = page
    path = f"/runs/{run}/input"
    own = served.url.removeprefix("http://")
    for origin, host in (("http://evil.example", own), ("null", own), ("", "evil.example")):
        headers = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
        headers |= {"Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Host": host}
        assert (
            ask(served, f"/api{path}", **headers, **({"Origin": origin} if origin else {}))[0]
            == 403
        )
    for first in ("", "x", served.token[:-1]):
        assert read_close_code(served.socket(path, first)) == 4401
    for message in ("", "[]", "{", "1", '{"token": 1}', "x" * 100_000, '{"take": "me"}'):
        late = websocket.create_connection(f"ws{served.url[4:]}/api{path}", timeout=60)
        late.send(message)
        assert read_close_code(late) == 4401
    assert read_close_code(served.socket("/runs/nothing/input")) == 4404
    silent = websocket.create_connection(f"ws{served.url[4:]}/api{path}", timeout=60)
    assert read_close_code(silent) == 4401


def read_close_code(socket: websocket.WebSocket) -> int:
    """The code with which the server closes."""
    code, data = socket.recv_data()
    socket.shutdown()  # type: ignore[no-untyped-call]
    assert code == websocket.ABNF.OPCODE_CLOSE, data
    return int.from_bytes(data[:2], "big")


def test_no_request_is_logged(page: tuple[Served, Path, str]) -> None:
    served, folder, run = page
    before = set(folder.rglob("*"))
    httpx.get(f"{served.url}/api/runs?x=planted-word", trust_env=False)
    served.post(f"/runs/{run}/answer", {"question": "q", "text": "planted-word"}, code=409)
    assert set(folder.rglob("*")) == before

"""Secrets planted wherever a run keeps or shows text, and looked for in every byte of it."""

from __future__ import annotations

import base64
import json
import random
import stat
import string
from collections.abc import Callable
from pathlib import Path

import pytest

from hisa.events import Acted, ModelAsked
from hisa.runs.export import export_turns, select_turns
from hisa.runs.run_reader import list_runs, load_run
from tests.cli.hostile import PLACES, Hostile

pytestmark = pytest.mark.process

ALPHABET = string.ascii_letters + string.digits


def letters(tag: str, count: int) -> str:
    """So many letters and digits, others for each tag."""
    drawn = random.Random(tag)  # the same text for the same tag
    return "aB3" + "".join(drawn.choices(ALPHABET, k=count - 3))


def upper(tag: str, count: int) -> str:
    return letters(tag, count).upper()


Kind = Callable[[str], tuple[str, str]]
"""A text with a secret in it, and the secret, for a tag."""


def plain(make: Callable[[str], str]) -> Kind:
    return lambda tag: (make(tag), make(tag))


def within(frame: str, make: Callable[[str], str]) -> Kind:
    return lambda tag: (frame.replace("@@", make(tag)), make(tag))


def basic(tag: str) -> str:
    return base64.b64encode(f"aladdin:{letters(tag, 14)}".encode()).decode()


def pem(tag: str) -> str:
    return "MII" + letters(tag, 61)


KINDS: dict[str, Kind] = {
    "aws id": plain(lambda tag: "AKIA" + upper(tag, 16)),
    "gcp": within(
        '{"private_key": "-----BEGIN PRIVATE KEY-----\\n@@\\n-----END PRIVATE KEY-----\\n"}', pem
    ),
    "github": plain(lambda tag: "ghp_" + letters(tag, 36)),
    "slack": plain(lambda tag: f"xoxb-1234567890-{letters(tag, 24)}"),
    "openai": plain(lambda tag: "sk-proj-" + letters(tag, 40)),
    "hugging face": plain(lambda tag: "hf_" + letters(tag, 34)),
    "pypi": plain(lambda tag: "pypi-" + letters(tag, 60)),
    "jwt": plain(
        lambda tag: f"eyJ{letters(tag, 20)}.eyJ{letters(tag + 'b', 30)}.{letters(tag + 'c', 43)}"
    ),
    "pem": within("-----BEGIN RSA PRIVATE KEY-----\n@@\nab==\n-----END RSA PRIVATE KEY-----", pem),
    "basic": within("Authorization: Basic @@", basic),
    "address": within("postgres://bob:@@@db.example/app", lambda tag: letters(tag, 12)),
    "bearer": within("Authorization: Bearer @@", lambda tag: letters(tag, 24)),
    "pass": within("DB_PASS=@@ make", lambda tag: letters(tag, 12)),
    "password": within('{"password": "@@"}', lambda tag: letters(tag, 12)),
    "token": within("tool --access-token @@ -v", lambda tag: letters(tag, 12)),
    "api key": within("x-api-key: @@", lambda tag: letters(tag, 12)),
    "sentence": within('and the password is "@@".', lambda tag: letters(tag, 12)),
    "value of a variable": plain(lambda _: VALUE),
}
VALUE = "what the house's own variable holds"
SINGLE_LINE = [kind for kind in KINDS if kind != "pem"]


def plant_secrets(place: str) -> dict[str, str]:
    """Secrets by kind."""
    return {kind: make(f"{place}{kind}")[1] for kind, make in KINDS.items()}


def build_text(place: str) -> str:
    kinds = SINGLE_LINE if place in ("typed", "description") else list(KINDS)
    return f"{place}:\n" + "\n".join(KINDS[kind](f"{place}{kind}")[0] for kind in kinds)


@pytest.fixture(scope="module")
def secret_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a run in which every place holds a secret of every kind, and its output."""
    folder = tmp_path_factory.mktemp("plants")
    shown = Hostile(folder, build_text, HOUSE_SECRET=VALUE).run()
    (run,) = list_runs(folder / "runs")
    return run, shown


def found_in(text: bytes) -> list[str]:
    return [
        f"{kind} from {place}"
        for place in PLACES
        for kind, secret in plant_secrets(place).items()
        if secret.encode() in text or json.dumps(secret)[1:-1].encode() in text
    ]


def test_no_byte_of_a_run_folder_holds_a_secret(secret_run: tuple[Path, str]) -> None:
    folder, _ = secret_run
    run = load_run(folder)
    assert run.status == "succeeded", run.message
    commands = [e for e in run.events if isinstance(e, Acted) and e.tool == "bash_execution"]
    assert commands[0].output.count("[redacted]") >= len(KINDS) - 2, "the plants went through"
    assert any(isinstance(event, ModelAsked) for event in run.events)
    export_turns(select_turns([run]), folder / "trajectory.jsonl")
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {"run.json", "events.jsonl", "report.html", "trajectory.jsonl"} <= {
        path.name for path in files
    }
    matches_by_file = {str(path): found_in(path.read_bytes()) for path in files}
    assert not {name: matches for name, matches in matches_by_file.items() if matches}


def test_the_terminal_shows_no_secret(secret_run: tuple[Path, str]) -> None:
    assert not found_in(secret_run[1].encode("utf-8", "surrogateescape"))
    assert "[redacted]" in secret_run[1]


def test_a_run_is_its_owners_alone(secret_run: tuple[Path, str]) -> None:
    folder, _ = secret_run
    written = ("run.json", "events.jsonl", "lock", "report.html")
    paths = [folder / name for name in written] + list((folder / "images").iterdir())
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in paths}
    assert set(modes.values()) == {0o600}, modes
    assert {stat.S_IMODE(p.stat().st_mode) for p in (folder, folder / "images")} == {0o700}

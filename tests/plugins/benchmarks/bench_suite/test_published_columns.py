"""The published grounding suites by the columns of GTA1's tables 1 to 3, through the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from hisa.testing.model_server import FakeServer, ReceivedRequest
from tests.cli.command import Command

RIGHT, WRONG, LOST = "(150,60)", "(5,5)", "nothing there"
"""What the model answers by the first word of a description; the thing is in (100, 40, 100, 40)."""
ANSWERS = {"right": RIGHT, "wrong": WRONG, "lost": LOST}


def answer(request: ReceivedRequest) -> str:
    return ANSWERS[request.text_by("user").split()[0]]


def run_command(home: Path, suite: Path) -> tuple[str, list[dict[str, Any]]]:
    """What the command prints, and the cells that it writes."""
    data = home / "answers.json"
    with FakeServer(then=answer) as server:
        printed = Command(home, url=server.url).run(
            "--set",
            "models.grounder.model=gta1-7b",
            "bench",
            "grounding",
            str(suite),
            "--grounder",
            "vision",
            "--full-size",
            "--json",
            str(data),
        )
    (part,) = json.loads(data.read_text())["parts"]
    return printed, part["columns"]


def cells(columns: list[dict[str, Any]]) -> dict[tuple[str, str], tuple[int, int]]:
    return {
        (column["domain"], column["type"]): (column["right"]["count"], column["right"]["of"])
        for column in columns
    }


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def draw(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (336, 224), "white").save(path)


def pro_row(number: int, group: str, kind: str, instruction: str) -> dict[str, Any]:
    return {
        "img_filename": "app/1.png",
        "bbox": [100, 40, 200, 80],
        "instruction": instruction,
        "instruction_cn": "某物",
        "id": f"app_{number}",
        "application": "app",
        "platform": "linux",
        "img_size": [336, 224],
        "ui_type": kind,
        "group": group,
    }


@pytest.mark.process
def test_screenspot_pro_has_six_domains_by_text_and_icon(tmp_path: Path) -> None:
    groups = ("Dev", "Creative", "CAD", "Scientific", "Office", "OS")
    rows = [
        *(pro_row(n, group, "text", f"right text {n}") for n, group in enumerate(groups)),
        *(pro_row(9 + n, group, "icon", f"wrong icon {n}") for n, group in enumerate(groups)),
        pro_row(20, "CAD", "icon", "right icon of CAD"),
        pro_row(21, "CAD", "text", "lost text of CAD"),
    ]
    write(tmp_path / "pro" / "annotations" / "app_linux.json", rows)
    draw(tmp_path / "pro" / "images" / "app" / "1.png")
    printed, columns = run_command(tmp_path, tmp_path / "pro")
    domains = ["CAD", "Creative", "Development", "OS", "Office", "Scientific", ""]
    assert list(dict.fromkeys(column["domain"] for column in columns)) == domains
    counts = cells(columns)
    assert counts["Development", "text"] == (1, 1)
    assert counts["Development", "icon"] == (0, 1)
    assert counts["Development", ""] == (1, 2)
    assert counts["CAD", "text"] == (1, 2)  # a refusal of what is there is a miss
    assert counts["CAD", "icon"] == (1, 2)
    assert (counts["", "text"], counts["", "icon"], counts["", ""]) == ((6, 7), (1, 7), (7, 14))
    assert "all: as published" in printed
    (row,) = (line for line in printed.splitlines() if line.strip().startswith("Development"))
    assert "100.0 [20.7, 100.0] of 1" in row
    assert "50.0 [9.5, 90.5] of 2" in row


@pytest.mark.process
def test_screenspot_v2_has_three_domains_by_the_names_of_its_lists(tmp_path: Path) -> None:
    def row(picture: str, kind: str, words: str) -> dict[str, Any]:
        return {
            "img_filename": picture,
            "bbox": [100, 40, 100, 40],
            "instruction": words,
            "data_type": kind,
            "data_source": "ios",
        }

    for name, answers in {"mobile": "right", "desktop": "wrong", "web": "right"}.items():
        picture = f"{name}_1.png"
        draw(tmp_path / "v2" / "screenspotv2_image" / picture)
        rows = [row(picture, "text", f"{answers} text"), row(picture, "icon", "wrong icon")]
        write(tmp_path / "v2" / f"screenspot_{name}_v2.json", rows)
    _, columns = run_command(tmp_path, tmp_path / "v2")
    counts = cells(columns)
    assert list(dict.fromkeys(domain for domain, _ in counts)) == ["Desktop", "Mobile", "Web", ""]
    texts = [counts[domain, "text"] for domain in ("Mobile", "Desktop", "Web", "")]
    assert texts == [(1, 1), (0, 1), (1, 1), (2, 3)]
    assert counts["", "icon"] == (0, 3)
    assert counts["", ""] == (2, 6)


def osworld_g(home: Path) -> Path:
    def row(ident: str, kind: str, words: str) -> dict[str, Any]:
        return {
            "id": ident,
            "image_path": "1.png",
            "image_size": [336, 224],
            "instruction": words,
            "box_type": kind,
            "box_coordinates": [100, 40, 100, 40],
            "GUI_types": ["Button"],
        }

    rows = [
        row("a-0", "bbox", "right in two of them"),
        row("a-1", "bbox", "wrong of layout"),
        row("a-2", "bbox", "right of a handle"),
        row("a-3", "refusal", "lost as it should be"),
        row("a-4", "refusal", "wrong since it is absent"),
    ]
    write(home / "OSWorld-G.json", rows)
    draw(home / "images" / "1.png")
    names = {
        "text_matching": ["a-0"],
        "element_recognition": ["a-0"],
        "layout_understanding": ["a-1"],
        "fine_grained_manipulation": ["a-2"],
        "refusal": ["a-3", "a-4"],
    }
    classified = {name: [{"id": ident} for ident in idents] for name, idents in names.items()}
    write(home / "classification_result.json", {"classified": classified, "unclassified": []})
    return home


@pytest.mark.process
def test_osworld_g_has_five_capabilities_and_a_thing_may_be_in_two(tmp_path: Path) -> None:
    _, columns = run_command(tmp_path, osworld_g(tmp_path / "g"))
    assert cells(columns) == {
        ("Text matching", ""): (1, 1),
        ("Element recognition", ""): (1, 1),
        ("Layout understanding", ""): (0, 1),
        ("Fine-grained manipulation", ""): (1, 1),
        ("Refusal", ""): (1, 2),
        ("", ""): (3, 5),
    }

"""What random desktop windows are composed of, and which of their widgets count as seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hisa.plugins.eyes.training.galleries import stages
from hisa.plugins.eyes.training.galleries.composed_windows import Vocabulary, compose_window
from hisa.plugins.eyes.training.galleries.gtk_truth import role_of
from hisa.plugins.eyes.training.galleries.layers import Layer, list_visible, shrink_to_ink
from hisa.plugins.eyes.training.galleries.rectangles import cut

WORDS = Vocabulary(
    labels=("Open", "Save As", "Paper size", "Печать"),
    sentences=("The file could not be opened because it is in use.",),
    icons=("document-save", "edit-cut"),
)


def _row(role: str, *box: int, states: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"role": role, "box": box, "states": list(states), "name": ""}


def _noise(height: int, width: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)


@pytest.mark.parametrize(
    ("classes", "node", "has_text", "role"),
    [
        (["CheckButton", "ToggleButton", "Button"], "", True, "check box"),
        (["RadioButton", "CheckButton", "ToggleButton", "Button"], "", True, "radio"),
        (["CheckButton", "Widget"], "radiobutton", True, "radio"),
        (["MenuButton", "ToggleButton", "Button"], "", False, "icon"),
        (["Button", "Widget"], "", True, "button"),
        (["LinkButton", "Button"], "", True, "link"),
        (["SpinButton", "Entry"], "", True, "field"),
        (["SeparatorMenuItem", "MenuItem"], "", False, ""),
        (["Widget"], "modelbutton", True, "menu item"),
        (["Box", "Container"], "", True, ""),
    ],
)
def test_classes_have_one_role(classes: list[str], node: str, has_text: bool, role: str) -> None:
    assert role_of(classes, node, [], has_text) == role


def test_a_label_of_the_style_heading_is_a_heading() -> None:
    assert role_of(["Label"], "label", ["heading"], True) == "heading"


def test_the_same_seed_composes_the_same_window() -> None:
    first = compose_window(7, WORDS, 900, 700)
    assert compose_window(7, WORDS, 900, 700) == first
    assert any(compose_window(seed, WORDS, 900, 700) != first for seed in (8, 9))


def test_windows_fit_their_size() -> None:
    for seed in range(50):
        window = compose_window(seed, WORDS, 900, 700)
        assert 0 < window["width"] <= 900
        assert 0 < window["height"] <= 700


def test_a_covered_widget_is_left_out() -> None:
    below = Layer(
        (0, 0, 100, 100), [_row("button", 10, 10, 50, 30), _row("button", 60, 60, 95, 80)]
    )
    above = Layer((0, 0, 55, 100), [_row("field", 5, 50, 45, 70)])
    seen = list_visible([below, above], _noise(100, 100))
    assert [(row["role"], row["box"]) for row in seen] == [
        ("button", [60, 60, 95, 80]),
        ("field", [5, 50, 45, 70]),
    ]


def test_a_widget_is_clipped_to_what_is_seen_of_it() -> None:
    below = Layer((0, 0, 100, 100), [_row("button", 10, 10, 90, 30)])
    above = Layer((70, 0, 100, 100))
    [row] = list_visible([below, above], _noise(100, 100))
    assert row["box"] == [10, 10, 70, 30]


def test_a_widget_beyond_the_screen_is_left_out() -> None:
    layer = Layer(
        (50, 0, 150, 100), [_row("button", 110, 10, 140, 30), _row("button", 60, 9, 90, 30)]
    )
    assert len(list_visible([layer], _noise(100, 100))) == 1


def test_a_widget_of_one_colour_is_left_out() -> None:
    pixels = np.full((100, 100, 3), 240, np.uint8)
    pixels[60:70, 60:70] = 0
    rows = [_row("icon", 10, 10, 40, 40), _row("icon", 50, 50, 90, 90)]
    assert len(list_visible([Layer((0, 0, 100, 100), rows)], pixels)) == 1


def test_a_flat_icon_shrinks_to_its_picture() -> None:
    pixels = np.full((100, 100, 3), 240, np.uint8)
    pixels[40:60, 40:60] = 0
    assert shrink_to_ink(pixels, (20, 20, 80, 80)) == (39, 39, 61, 61)


def test_a_painted_button_does_not_shrink() -> None:
    pixels = np.full((100, 100, 3), 240, np.uint8)
    pixels[20:80, 20:80] = 90
    pixels[40:60, 40:60] = 0
    assert shrink_to_ink(pixels, (20, 20, 80, 80)) == (20, 20, 80, 80)


def test_a_row_scrolled_half_out_of_sight_is_left_out() -> None:
    view = (0.0, 0.0, 100.0, 50.0)
    assert cut((0, 30, 100, 50), view) == (0, 30, 100, 50)
    assert cut((0, 42, 100, 62), view) is None
    assert cut((0, 60, 100, 80), view) is None


@pytest.fixture
def themes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a few themes, whichever this one has."""
    for theme in ("Yaru", "Arc-Dark", "Materia-dark", "Orchis"):
        for part in ("gtk-3.0/gtk.css", "openbox-3/themerc", "xfwm4/themerc"):
            path = tmp_path / theme / part
            path.parent.mkdir(parents=True)
            path.touch()
    (tmp_path / "metal").mkdir()
    (tmp_path / "metal/default.theme").touch()
    (tmp_path / "kvantum/KvArc").mkdir(parents=True)
    monkeypatch.setattr(stages, "_THEMES", tmp_path)
    monkeypatch.setattr(stages, "_ICEWM_THEMES", tmp_path)
    monkeypatch.setattr(stages, "_KVANTUM_THEMES", tmp_path / "kvantum")
    monkeypatch.setattr(stages, "_legible_languages", lambda: ["de"])


@pytest.mark.usefixtures("themes")
def test_what_is_kept_out_is_in_no_training_stage() -> None:
    kept = ("gtk4", "Materia", "Orchis", "oxygen")
    for seed in range(60):
        source = stages.plan_stage(str(seed), "train").source
        assert not any(word in source for word in kept)
        for look in stages.plan_stage(str(seed), "kept").looks:
            assert any(word in look.source for word in kept)

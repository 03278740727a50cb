"""What the detector reads from its net's maps, and what it does without ONNX Runtime."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from hisa.errors import OperatorError
from hisa.plugins.eyes import detector
from hisa.plugins.eyes.detector import (
    ROLES,
    STATES,
    WEIGHTS,
    Calibration,
    Control,
    Detector,
    detect_controls,
    pad_pixels,
    read_maps,
)
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Screenshot

_PLAIN = Calibration()


def _draw_maps(rows: int = 20, columns: int = 30) -> NDArray[np.float32]:
    """Maps on which nothing is."""
    maps = np.full((len(ROLES) + 1 + 8 + len(STATES), rows, columns), -8, np.float32)
    maps[len(ROLES) + 1 : len(ROLES) + 9] = np.log(4)
    return maps


def _put(
    maps: NDArray[np.float32],
    role: str,
    cell: tuple[int, int],
    *,
    sides: tuple[float, float, float, float] = (10, 6, 10, 6),
    score: float = 2.0,
    states: tuple[str, ...] = (),
) -> None:
    """Puts a control at the cell ``(row, column)``; ``sides`` in pixels from its middle."""
    maps[(ROLES.index(role), *cell)] = score
    first = len(ROLES) + 1 + 4 * (role in detector.OUTER_ROLES)
    maps[(slice(first, first + 4), *cell)] = np.log(sides)
    for state in states:
        maps[(len(maps) - len(STATES) + STATES.index(state), *cell)] = 3


def test_a_peak_becomes_a_control_with_its_box_in_pixels() -> None:
    maps = _draw_maps()
    _put(maps, "check box", (5, 7), sides=(10, 6, 12, 8), states=("checked", "focused"))
    (control,) = read_maps(maps, _PLAIN)
    assert control.role == "check box"
    assert control.states == {"checked", "focused"}
    assert control.chance == pytest.approx(1 / (1 + np.exp(-2)))
    box = control.box
    assert (box.left, box.top, box.right, box.bottom) == pytest.approx((20, 16, 42, 30))


def test_nothing_is_read_from_maps_without_peaks() -> None:
    assert read_maps(_draw_maps(), _PLAIN) == []


def test_only_the_highest_of_neighbouring_cells_counts() -> None:
    maps = _draw_maps()
    _put(maps, "button", (5, 7), score=1.0)
    _put(maps, "button", (5, 8), score=2.0)
    _put(maps, "button", (6, 9), score=1.5)
    (control,) = read_maps(maps, _PLAIN)
    assert control.box.centre.x == pytest.approx(34)


def test_boxes_of_a_role_that_overlap_by_half_are_the_same_thing() -> None:
    maps = _draw_maps()
    _put(maps, "field", (5, 7), sides=(24, 8, 24, 8), score=3)
    _put(maps, "field", (5, 9), sides=(24, 8, 24, 8))
    _put(maps, "field", (12, 9), sides=(24, 8, 24, 8))
    assert [control.box.centre.y for control in read_maps(maps, _PLAIN)] == [22, 50]


def test_between_roles_nested_things_stay_and_equal_ones_do_not() -> None:
    maps = _draw_maps()
    _put(maps, "list item", (5, 14), sides=(50, 8, 50, 8), score=1)
    _put(maps, "link", (5, 14), sides=(20, 6, 20, 6), score=2)
    _put(maps, "menu item", (5, 16), sides=(50, 8, 50, 8), score=0.5)
    assert [control.role for control in read_maps(maps, _PLAIN)] == ["link", "list item"]


def test_a_thing_of_no_sure_role_has_the_likeliest() -> None:
    maps = _draw_maps()
    _put(maps, "button", (5, 7), score=-2)
    _put(maps, "link", (5, 7), score=-1.8)
    maps[len(ROLES), 5, 7] = 2
    (control,) = read_maps(maps, _PLAIN)
    assert control.role == "link"
    assert control.chance > 0.8


def test_the_calibration_decides_what_is_too_unlikely() -> None:
    maps = _draw_maps()
    _put(maps, "button", (5, 7), score=0.0)
    assert read_maps(maps, Calibration(slope=2, offset=-3, least=0.05)) == []
    (control,) = read_maps(maps, Calibration(slope=2, offset=-2, least=0.05))
    assert control.chance == pytest.approx(0.1192, abs=1e-4)


def test_there_are_at_most_300_controls_the_most_likely_first() -> None:
    maps = _draw_maps(80, 80)
    for row in range(0, 80, 4):
        for column in range(0, 80, 4):
            _put(maps, "icon", (row, column), sides=(3, 3, 3, 3), score=row / 40)
    controls = read_maps(maps, _PLAIN)
    assert len(controls) == 300
    chances = [control.chance for control in controls]
    assert chances == sorted(chances, reverse=True)


def test_boxes_are_clipped_to_the_picture_and_dropped_beyond_it() -> None:
    size = Size(200, 100)
    cut = Control("image", BoundingBox(80, 40, 110, 60), 0.5)
    placed = detector._place_control(cut, 0.5, size)
    assert placed is not None
    assert placed.box == BoundingBox(160, 80, 200, 100)
    beyond = Control("image", BoundingBox(80, 51, 110, 60), 0.5)
    assert detector._place_control(beyond, 0.5, size) is None


def test_pictures_are_padded_to_what_the_net_needs() -> None:
    padded = pad_pixels(np.zeros((720, 100, 3), np.uint8))
    assert padded.shape == (736, 128, 3)
    assert not padded[:720, :100].any()


def test_without_onnx_runtime_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(OperatorError, match="onnxruntime") as raised:
        Detector()
    assert raised.value.fix == "hisa install eyes"


def _draw_form(width: int, height: int) -> Screenshot:
    picture = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(picture)
    draw.rounded_rectangle((60, 40, 180, 76), 6, fill="#0d6efd")
    draw.text((95, 50), "Save", "white")
    draw.rectangle((60, 120, 360, 154), outline="#888888")
    return Screenshot(picture)


@pytest.mark.parametrize("size", [(640, 360), (333, 97), (3840, 2160), (20, 20)])
def test_the_packaged_weights_give_boxes_inside_the_picture(size: tuple[int, int]) -> None:
    pytest.importorskip("onnxruntime", reason="needs hisa install eyes")
    controls = detect_controls(_draw_form(*size))
    assert len(controls) <= 300
    for control in controls:
        assert control.role in ROLES
        assert control.states <= set(STATES)
        assert 0 <= control.box.left < control.box.right <= size[0]
        assert 0 <= control.box.top < control.box.bottom <= size[1]
        assert 0 < control.chance < 1


def test_a_drawn_button_is_detected_as_a_control() -> None:
    pytest.importorskip("onnxruntime", reason="needs hisa install eyes")
    controls = detect_controls(_draw_form(640, 360))
    button = BoundingBox(60, 40, 181, 77)
    assert any(button.contains(control.box.centre) for control in controls)


def test_threads_share_a_net() -> None:
    pytest.importorskip("onnxruntime", reason="needs hisa install eyes")
    screenshot = _draw_form(320, 192)
    with ThreadPoolExecutor(4) as pool:
        looks = list(pool.map(detect_controls, [screenshot] * 8))
    assert looks == [looks[0]] * 8
    assert len(detector._packaged) == 1


def test_the_packaged_weights_are_small() -> None:
    assert WEIGHTS.stat().st_size < 6_000_000

"""The training of the icon reader: names, meanings, drawn crops, and a step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image, ImageDraw

from hisa.plugins.eyes.icon_reader import SIDE, prepare_crop
from hisa.plugins.eyes.training.export_icons import Exam, choose_least_chance, group_confused
from hisa.plugins.eyes.training.icon_crops import draw_clutter, draw_icon
from hisa.plugins.eyes.training.icon_meanings import join_names, name_key
from hisa.plugins.eyes.training.icon_sets import (
    Icon,
    drop_variants,
    list_sets,
    normalise_name,
)

Ink = npt.NDArray[np.uint8]


def draw_ring(shift: int = 0) -> Ink:
    picture = Image.new("L", (64, 64))
    ImageDraw.Draw(picture).ellipse((8 + shift, 8, 52 + shift, 52), outline=255, width=6)
    return np.asarray(picture)


def draw_bar(shift: int = 0) -> Ink:
    picture = Image.new("L", (64, 64))
    ImageDraw.Draw(picture).rectangle((6, 26 + shift, 56, 34 + shift), fill=255)
    return np.asarray(picture)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("trash-outline", "trash"),
        ("TrashFilled", "trash"),
        ("arrow_back_24", "arrow back"),
        ("format-bold", "format bold"),
        ("chevron-down-outline-sharp", "chevron down"),
        ("trash-2", "trash 2"),
        ("outline", "outline"),
    ],
)
def test_names_lose_style_and_size(name: str, expected: str) -> None:
    assert normalise_name(name) == expected


def test_a_variant_has_the_name_of_the_plain_icon() -> None:
    names = drop_variants({"trash", "trash 2", "dice 1"})
    assert names == {"trash": "trash", "trash 2": "trash", "dice 1": "dice 1"}


def test_the_order_of_words_does_not_matter() -> None:
    assert name_key("plus circle") == name_key("circle plus")


def test_names_that_are_drawn_alike_are_one_meaning() -> None:
    names = {"a": "ring", "b": "ring", "c": "ring", "d": "circle", "e": "circle", "f": "circle"}
    icons = [Icon(title, name, draw_ring(at % 3)) for at, (title, name) in enumerate(names.items())]
    icons += [Icon(title, "bar", draw_bar(at % 3)) for at, title in enumerate(names)]
    meanings = join_names(icons, [])
    assert {meaning.keys for meaning in meanings} == {
        frozenset({"bar"}),
        frozenset({"circle", "ring"}),
    }
    (ring,) = (meaning for meaning in meanings if "ring" in meaning.keys)
    assert set(ring.words) == {"circle", "ring"}


def test_sets_for_figures_are_apart() -> None:
    titles = [
        icon_set.title for use in ("train", "calibrate", "held out") for icon_set in list_sets(use)
    ]
    assert len(titles) == len(set(titles))
    assert {icon_set.title for icon_set in list_sets("held out")} == {"@carbon/icons", "heroicons"}
    assert len(list_sets("calibrate")) == 1


def test_a_drawn_icon_can_be_seen_and_is_drawn_again_from_its_seed() -> None:
    for seed in range(40):
        crop = prepare_crop(*draw_icon(draw_ring(), np.random.default_rng(seed)))
        assert crop[0].max() > 128
        assert np.array_equal(
            crop, prepare_crop(*draw_icon(draw_ring(), np.random.default_rng(seed)))
        )
        assert (
            prepare_crop(*draw_clutter(draw_ring(), np.random.default_rng(seed))).shape
            == crop.shape
        )


def test_a_step_lowers_the_loss() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch: make test-train")
    from hisa.plugins.eyes.training.train_icons import Lesson, draw_batch, make_net, take_step

    torch.manual_seed(0)
    lesson = Lesson(
        known=(((draw_ring(),),), ((draw_bar(),),)),
        rare=(draw_ring(),),
        fonts=tuple(Path("/usr/share/fonts").rglob("DejaVuSans.ttf")),
    )
    if not lesson.fonts:
        pytest.skip("needs the font DejaVu Sans")
    batch = draw_batch(lesson, 32, np.random.default_rng(0))
    assert batch[0].shape == (32, 2, SIDE, SIDE)
    assert set(batch[1]) == {0, 1, 2}
    net = make_net(3)
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
    losses = [take_step(net, optimizer, batch) for _ in range(8)]
    assert losses[-1] < losses[0]


def test_meanings_that_are_confused_are_joined_unless_sets_draw_both() -> None:
    confusions = np.array([[0.4, 0.4, 0.0], [0.3, 0.3, 0.0], [0.1, 0.0, 0.9]])
    apart = [frozenset("ab"), frozenset("cd"), frozenset("ab")]
    assert group_confused(confusions, apart) == [[0, 1], [2]]
    together = [frozenset("ab"), frozenset("ab"), frozenset("ab")]
    assert group_confused(confusions, together) == [[0], [1], [2]]


def test_the_least_chance_keeps_wrong_answers_out() -> None:
    tops = np.concatenate([np.linspace(0.6, 0.99, 100), np.linspace(0.51, 0.59, 20)])
    chances = np.stack([np.zeros(120), tops, 1 - tops], axis=1).astype(np.float32)
    answers = np.repeat([1, 2], [100, 20])
    exam = Exam(
        crops=np.zeros((120, 2, SIDE, SIDE), np.uint8),
        answers=answers,
        kinds=np.full(120, "known"),
        fits=answers[:, None] == np.arange(3),
    )
    least = choose_least_chance(chances, exam)
    assert 0.55 < least < 0.6

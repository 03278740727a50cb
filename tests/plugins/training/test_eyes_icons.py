"""The training of the icon reader: names, rendered and drawn icons, and the net."""

from __future__ import annotations

import tomllib
from pathlib import Path
from random import Random

import numpy as np
import pytest
from PIL import Image, ImageDraw

from hisa.plugins.eyes.icon_reader import SIDE, prepare_crop
from hisa.plugins.eyes.training import icon_crops, icon_sets


def save_icon(file: Path, mode: str = "L", *, fill: str | None = None, shift: int = 0) -> Path:
    picture = Image.new(mode, (64, 64))
    pen, ink = ImageDraw.Draw(picture), 255 if mode == "L" else "navy"
    pen.ellipse((8 + shift, 8, 52 + shift, 52), fill=fill, outline=ink, width=6)
    picture.save(file)
    return file


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("trash-outline", "trash"),
        ("TrashFilled", "trash"),
        ("arrow_back_24", "arrow back"),
        ("edit-copy-symbolic", "edit copy"),
        ("chevron-down-outline-sharp", "chevron down"),
        ("trash-2", "trash 2"),
        ("outline", "outline"),
    ],
)
def test_names_lose_style_and_size(name: str, expected: str) -> None:
    assert icon_sets.normalise_name(name) == expected


def test_sets_say_their_licence_or_version_and_some_are_apart() -> None:
    kinds = tomllib.loads(Path(icon_sets.__file__).with_suffix(".toml").read_text("utf-8"))
    assert all("version" in facts for facts in kinds["npm"].values())
    assert all("AGPL" not in facts["licence"] for facts in kinds["debian"].values())
    for kind in kinds.values():
        uses = [facts.get("use", "train") for facts in kind.values()]
        assert set(uses) == {"train", "calibrate", "held out"}


def test_icons_in_one_colour_are_stored_without_it(tmp_path: Path) -> None:
    plain = icon_sets.render_icon(save_icon(tmp_path / "plain.png", "RGBA"))
    coloured = icon_sets.render_icon(save_icon(tmp_path / "b.png", "RGBA", fill="gold"))
    Image.new("RGBA", (16, 16)).save(tmp_path / "blank.png")
    assert plain is not None
    assert plain.mode == "L"
    assert coloured is not None
    assert coloured.mode == "RGBA"
    assert icon_sets.render_icon(tmp_path / "blank.png") is None


@pytest.mark.parametrize("mode", ["L", "RGBA"])
def test_an_icon_can_be_seen_and_is_drawn_again_from_its_seed(tmp_path: Path, mode: str) -> None:
    file = save_icon(tmp_path / "icon.png", mode)
    for seed in range(30):
        scenes = [icon_crops.draw_icon(file, Random(seed)) for _ in range(2)]
        crops = [prepare_crop(*scene) for scene in scenes]
        assert crops[0][0].max() > 128
        assert np.array_equal(crops[0], crops[1])


def test_the_net_learns_and_answers_by_its_least_chance(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch: make test-train")
    from hisa.plugins.eyes.training import train_icons

    files = [save_icon(tmp_path / f"{shift}.png", shift=shift) for shift in (0, 9)]
    lesson = {"": {"": files}, "ring": {"a": files[:1]}, "disc": {"a": files[1:]}}
    crops, answers = train_icons.draw_batch(lesson, Random(0))
    assert crops.shape[1:] == (2, SIDE, SIDE)
    assert set(answers) == {0, 1, 2}
    net, losses = train_icons.make_net(3), []
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
    for _ in range(8):
        scores, right = net(torch.from_numpy(crops)), torch.from_numpy(answers)
        loss = torch.nn.functional.cross_entropy(scores, right)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    confusion = np.array([[0.4, 0.4, 0.0], [0.3, 0.3, 0.0], [0.1, 0.0, 0.9]], np.float32)
    assert train_icons.join_confused(confusion, ["ab", "cd", "ab"]) == [[0, 1], [2]]
    assert train_icons.join_confused(confusion, ["ab", "ab", "ab"]) == [[0], [1], [2]]
    tops = np.concatenate([np.linspace(0.6, 0.99, 100), np.linspace(0.51, 0.59, 20)])
    chances = np.stack([np.zeros(120), tops, 1 - tops], axis=1).astype(np.float32)
    assert 0.55 < train_icons.choose_least_chance(chances, np.repeat([1, 2], [100, 20])) < 0.6

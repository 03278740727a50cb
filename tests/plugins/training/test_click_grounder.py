"""The small grounder: pages, rewards, training, cleaning, detectors, and the model it becomes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from hisa.config import ModelSettings
from hisa.errors import ConfigError, NotFound, UsageError
from hisa.grounder.formats import open_format
from hisa.plugins.training import widget_pages as pages
from hisa.plugins.training.box_cleaning import (
    clean,
    contact_sheet,
    drawn,
    omniparser,
)
from hisa.plugins.training.click_rewards import click_reward, iou
from hisa.plugins.training.widget_pages import Box, Target
from hisa.protocols import ModelRequest
from hisa.screen.observation import Screenshot

torch = pytest.importorskip("torch")

from hisa.plugins.training.click_training import (  # noqa: E402
    REWARDS,
    ClickSettings,
    ClickTrainer,
    Pool,
    reply_rewards,
)
from hisa.plugins.training.pixel_grounder import PixelModel  # noqa: E402
from hisa.plugins.training.pixel_network import BOX_SIZES, PixelNetwork, parts_of, points  # noqa: E402

torch.set_num_threads(1)
FEW = list(pages.targets(range(60)))


def test_a_page_is_a_function_of_its_seed_and_no_two_of_its_widgets_are_alike_or_touch() -> None:
    for style in pages.STYLES:
        for seed in range(30):
            picture, boxes = pages.draw_page(seed, style)
            again, same = pages.draw_page(seed, style)
            assert picture.tobytes() == again.tobytes()
            assert boxes == same
            assert 2 <= len(boxes) <= 5
            for name, box in boxes.items():
                assert 0 <= box.left < box.right < pages.WIDTH
                assert 0 <= box.top < box.bottom < pages.HEIGHT
                assert not any(pages.overlap(box, boxes[o], 3) for o in boxes if o != name)


def test_every_widget_holds_the_centre_of_a_cell() -> None:
    x, y = points(torch.arange(80))
    centres = list(zip(x.tolist(), y.tolist(), strict=True))
    for target in FEW:
        assert any(click_reward(centre, target.box) for centre in centres), target.place


def test_rewards_of_replies_are_those_of_the_paper_s_rewards() -> None:
    torch.manual_seed(0)
    pool = Pool(FEW)
    replies = torch.randint(80 * len(BOX_SIZES) * 2, (len(pool), 8))
    parts = torch.stack(parts_of(replies, REWARDS["all"]), 2)
    click, total = reply_rewards(replies, pool.boxes, REWARDS["all"])
    clicks = 0.0
    for row, target in enumerate(FEW):
        for column in range(8):
            cell, kind, formed = parts[row, column].tolist()
            x, y = (float(side) for side in points(torch.tensor(cell)))
            width, height = BOX_SIZES[kind]
            own = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
            right = click_reward((x, y), target.box) * formed
            expected = formed * (right + iou(own, target.box) + 1)
            assert float(click[row, column]) == right
            assert float(total[row, column]) == pytest.approx(expected)
            clicks += right
    assert clicks


@pytest.mark.parametrize("reward", list(REWARDS))
def test_log_probabilities_are_of_the_whole_reply(reward: str) -> None:
    torch.manual_seed(1)
    pool, parts = Pool(FEW[:3]), REWARDS[reward]
    logs = PixelNetwork()(pool.pixels[pool.pages], pool.letters, parts)
    kinds = range(len(BOX_SIZES)) if "size" in parts else [0]
    tokens = [0, 1] if "formed" in parts else [1]
    every = [(cell, kind, token) for cell in range(80) for kind in kinds for token in tokens]
    assert logs.exp().sum(1).tolist() == pytest.approx([1, 1, 1], abs=1e-4)
    numbered = torch.stack(parts_of(torch.arange(logs.shape[1]), parts), 1)
    assert [tuple(reply) for reply in numbered.tolist()] == every


@pytest.mark.parametrize("reward", list(REWARDS))
def test_the_answers_of_a_cold_start_click_into_their_boxes(reward: str) -> None:
    pool, trainer = Pool(FEW), ClickTrainer(ClickSettings(reward=reward))
    click, total = reply_rewards(trainer._answers(pool.boxes), pool.boxes, trainer.parts)
    assert click.mean() > 0.9
    assert total.mean() > {"click": 0.9, "click+iou": 1.4, "click+format": 1.9, "all": 2.4}[reward]


def test_a_cold_start_and_grpo_raise_the_share_of_right_clicks() -> None:
    train, tuning = Pool(FEW), Pool(FEW)
    trainer = ClickTrainer(ClickSettings(cold_start=60, rate=1e-3, batch=32))
    before = trainer.hits(tuning) / len(tuning)
    rows = [trainer.step(train) for _ in range(120)]
    assert {row["phase"] for row in rows[:60]} == {"sft"}
    first, last = (sum(row["reward"] for row in rows[i : i + 20]) / 20 for i in (60, 100))
    assert last > first + 0.03
    assert trainer.hits(tuning) / len(tuning) > before + 0.2
    assert all(0 <= row["dropped_groups"] <= row["groups"] == 32 for row in rows[60:])


def test_draws_follow_from_seed_and_count_and_not_from_what_went_before() -> None:
    pool, settings = Pool(FEW), ClickSettings(cold_start=1, batch=8)
    first, second = ClickTrainer(settings), ClickTrainer(settings)
    rows = [first.step(pool) for _ in range(3)]
    torch.rand(100)
    again = [second.step(pool) for _ in range(3)]
    assert [row["loss"] for row in rows] == [row["loss"] for row in again]


def test_cleaning_drops_what_is_strictly_below_the_threshold() -> None:
    picture = Image.new("RGB", (80, 64))
    boxes = [Box(0, 0, 10, 10)]
    third, less = Box(0, 0, 30, 10), Box(0, 0, 34, 10)
    sample = [Target(picture, "a", box, "") for box in (third, less)]
    result = clean(sample, lambda _: boxes, 1 / 3)
    assert [target.box for target in result.kept] == [third]
    assert [(drop.target.box, drop.overlap) for drop in result.dropped] == [(less, 10 / 34)]
    nothing = clean(sample, lambda _: [])
    assert (nothing.kept, nothing.not_judged) == (sample, 2)
    assert contact_sheet(result.dropped).width > 240
    assert contact_sheet([]).height > 0


@pytest.mark.parametrize("style", list(pages.STYLES))
def test_drawn_shapes_are_found_on_every_page(style: str) -> None:
    sample = list(pages.targets(range(40), style))
    assert not clean(sample, drawn()).dropped
    moved = [Target(t.picture, t.description, Box(0, 0, 3, 3), t.place) for t in sample]
    assert len(clean(moved, drawn()).dropped) == len(moved)


class _Parser(BaseHTTPRequestHandler):
    answer = b""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert self.path == "/parse/"
        assert asked["base64_image"].startswith("iVBOR")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def parser() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Parser) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_an_endpoint_shaped_as_omniparser_s_detects(parser: str) -> None:
    answer = {"parsed_content_list": [{"type": "icon", "bbox": [0.1, 0.25, 0.5, 0.5]}]}
    _Parser.answer = json.dumps({"som_image_base64": "x" * 1000, **answer}).encode()
    assert omniparser(parser)(FEW[0]) == [Box(8, 16, 40, 32)]
    with pytest.raises(UsageError, match="more than 500 bytes"):
        omniparser(parser, most_bytes=500)(FEW[0])


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"[]",
        b'{"parsed_content_list": 3}',
        b'{"parsed_content_list": [{"bbox": [0, 1]}]}',
        b'{"parsed_content_list": [{"bbox": [0, 0, NaN, 1]}]}',
        b'{"parsed_content_list": [{"bbox": [0, 0, 1, 1e9]}]}',
    ],
)
def test_any_other_answer_is_refused_and_drops_nothing(parser: str, answer: bytes) -> None:
    _Parser.answer = answer
    with pytest.raises(UsageError, match="no answer of OmniParser's"):
        clean(FEW, omniparser(parser))


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="allowed are drawn, looks"):
        omniparser("shapes")
    with pytest.raises(UsageError, match="ConnectError"):
        omniparser("http://127.0.0.1:9")(FEW[0])


async def test_a_checkpoint_serves_as_the_model_of_a_grounder(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    trainer = ClickTrainer(ClickSettings(seed=3))
    trainer.save(path)
    assert torch.equal(PixelNetwork.load(path).cell.weight, trainer.network.cell.weight)
    model = PixelModel(ModelSettings(model=f"pixels:{path}"))
    form = open_format("auto", PixelModel.profile.coordinates)
    shot = Screenshot(FEW[0].picture.resize((320, 256)))
    shown, messages = form.prepare(shot, FEW[0].description)
    answer = await model.complete(ModelRequest("grounder", messages))
    point = form.parse(answer.text, shown)
    reply = trainer._log_probs(Pool(FEW[:1]), torch.tensor([0])).argmax()
    expected = [float(side) * 4 for side in points(reply)]
    assert [point.x, point.y] == pytest.approx(expected, abs=0.1)
    with pytest.raises(ConfigError, match="cannot serve as planner"):
        await model.complete(ModelRequest("planner", messages))
    with pytest.raises(NotFound):
        form.parse("nowhere", shown)


def test_a_checkpoint_with_other_weights_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    network = PixelNetwork(8)
    network.channels = 16
    network.save(path, 0)
    with pytest.raises(UsageError, match="other weights"):
        PixelNetwork.load(path)

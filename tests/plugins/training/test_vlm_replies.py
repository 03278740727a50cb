"""A vision-language grounder's replies, their rewards, and the pictures that it is asked about."""

from __future__ import annotations

import io
import math
from pathlib import Path

import click
import pytest
from PIL import Image

from hisa.errors import UsageError
from hisa.plugins.training.box_cleaning import clean, iou
from hisa.plugins.training.vlm_command import fill_defaults, train_vision_model
from hisa.plugins.training.vlm_questions import SeenControls, ask_about, open_targets
from hisa.plugins.training.vlm_replies import FORMS
from hisa.plugins.training.vlm_settings import VisionSettings
from hisa.plugins.training.widget_pages import Box, Target

TARGET = Box(10, 20, 30, 40)
RIGHT = {
    "click": "(10,40)",
    "click+iou": "<bbox>[10,20,20,40]</bbox>\n<answer>(10, 40)</answer>",
    "click+format": "<think>It is\non the left.</think><answer>(10,40)</answer>\n",
    "all": "<think>a</think>\n<bbox>[10,20,20,40]</bbox>\n<answer>(10.0,40)</answer>",
}


@pytest.mark.parametrize(
    ("arm", "total"), [("click", 1), ("click+iou", 1.5), ("click+format", 2), ("all", 2.5)]
)
def test_rewards_of_an_arm_add_up(arm: str, total: float) -> None:
    form = FORMS[arm]
    assert form.reward(RIGHT[arm], TARGET) == (1, total, True)
    missed = RIGHT[arm].replace("40)", "41)")
    assert form.reward(missed, TARGET) == (0, total - 1, True)
    written = form.write(TARGET, "the red button")
    exact = iou(TARGET, TARGET) if form.draws else 0
    assert form.reward(written, TARGET) == (1, 1 + exact + form.thinks, True)


@pytest.mark.parametrize("arm", FORMS)
@pytest.mark.parametrize(
    "change",
    [
        lambda _: "",
        lambda reply: reply + " Done.",
        lambda reply: "The answer: " + reply,
        lambda reply: reply.replace("(", ""),
        lambda reply: reply.replace("40)", "40,1)"),
        lambda reply: reply.replace("(10", "(-10"),
        lambda reply: reply.replace("(10", "(nan"),
        lambda reply: reply.replace("(10", "(" + "9" * 400),
        lambda reply: reply + reply,
        lambda reply: reply[:-4],
    ],
)
def test_a_malformed_reply_has_reward_0_in_every_part(arm: str, change: object) -> None:
    assert callable(change)
    assert FORMS[arm].reward(change(RIGHT[arm]), TARGET) == (0, 0, False)


def test_no_arm_reads_the_replies_of_another() -> None:
    read = {(a, b) for a in FORMS for b, reply in RIGHT.items() if FORMS[a].read(reply)}
    assert read == {(arm, arm) for arm in FORMS}


def test_a_long_hostile_thought_is_read_in_little_time() -> None:
    text = "<think>" + "</thin" * 20_000
    assert FORMS["all"].reward(text, TARGET) == (0, 0, False)


def test_pictures_have_the_size_that_the_model_s_processor_chooses() -> None:
    pytest.importorskip("transformers", reason="needs transformers: hisa install train-lm")
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize

    for width, height in [(80, 64), (1280, 720), (300, 20), (4000, 3000), (41, 43), (29, 1400)]:
        box = Box(0, 0, width / 2, height)
        target = Target(Image.new("RGB", (width, height)), "a", box, "p")
        (question,) = ask_about([target], min_pixels=3136, max_pixels=1_000_000)
        size = (question.size.height, question.size.width)
        assert size == smart_resize(height, width, min_pixels=3136, max_pixels=1_000_000)
        assert Image.open(io.BytesIO(question.png)).size == size[::-1]
        assert tuple(question.box) == pytest.approx((0, 0, size[1] / 2, size[0]))


def test_targets_that_cannot_be_shown_are_refused_by_name() -> None:
    def ask(picture: Image.Image, box: Box) -> None:
        ask_about([Target(picture, "a", box, "page 7")], min_pixels=784, max_pixels=10**6)

    small = Image.new("RGB", (100, 50))
    for box in [Box(0, 0, 101, 5), Box(5, 5, 5, 9), Box(-1, 0, 5, 5), Box(math.nan, 0, 5, 5)]:
        with pytest.raises(UsageError, match=r"page 7: the box .* is not on its picture of 100x50"):
            ask(small, box)
    with pytest.raises(UsageError, match=r"page 7: .*sides may differ 200 times at most"):
        ask(Image.new("RGB", (4000, 10)), Box(0, 0, 5, 5))
    with pytest.raises(UsageError, match="page 7: a picture of 20000x20000"):
        ask(Image.new("1", (20_000, 20_000)), Box(0, 0, 5, 5))


def test_the_detector_judges_boxes_by_pixels_alone(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="needs ONNX Runtime: hisa install eyes")
    logs = (Path(__file__).parents[2] / "data" / "looks_of_examples").rglob("events.jsonl")
    run = min(logs).parent
    targets, _ = open_targets(str(run), None, 0, tmp_path)
    picture = targets[0].picture
    own = [target for target in targets if target.picture is picture]
    width = picture.width
    wrong = [
        Target(picture, t.description, Box(width - 9, 300, width, 700), "moved", (t.box,), t.tree)
        for t in own
    ]
    right_result, wrong_result = clean(own, SeenControls()), clean(wrong, SeenControls())
    print(f"right: {right_result}; misplaced: {wrong_result}")
    assert len(wrong_result.dropped) == len(wrong)
    assert len(right_result.remaining) > len(own) / 2
    with pytest.raises(UsageError, match=r"--clean 1.0 drops every target"):
        open_targets(str(run), 1.0, 0, tmp_path)
    assert (tmp_path / "dropped.png").exists()


def stated(**values: object) -> tuple[click.Context, dict[str, object]]:
    """Returns a command's context and its values, of which some were stated."""
    plain = {"reward": "click", "cold_start": 100, "updates": 1400, "seed": 0, "resume": False}
    options = dict.fromkeys(("model", "lr", "targets", "lora", "max_reply"))
    context = click.Context(click.Command("grounder"))
    for name in values:
        context.set_parameter_source(name, click.core.ParameterSource.COMMANDLINE)
    every = plain | options | {"max_pixels": None, "rows_at_once": None, "save_every": None}
    every |= values
    return context, every


def test_defaults_are_those_of_table_7() -> None:
    context, small = stated(model="hf:a")
    fill_defaults(context, small)
    table = {"lr": 1e-6, "max_reply": 32, "max_pixels": 12_356_789, "updates": 250}
    assert small.items() >= (table | {"cold_start": 0, "lora": 0, "targets": 32}).items()
    assert (VisionSettings().members, VisionSettings().clip, VisionSettings().norm) == (8, 0.2, 1)


def test_options_of_a_vision_language_model_need_one(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs PyTorch: make test-train")
    context, values = stated(updates=7)
    assert not train_vision_model(context, tmp_path, values)
    assert "lora" not in values
    context, values = stated(lr=0.1, max_reply=3)
    with pytest.raises(UsageError, match=r"--lr, --max-reply: only with"):
        train_vision_model(context, tmp_path, values)

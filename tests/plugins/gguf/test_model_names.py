"""Names, heads of files, and what a model's profile says by them; nothing is started."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from hisa.errors import ConfigError
from hisa.models.announced_model import find_announced
from hisa.models.profiles import find
from hisa.plugins.gguf.gguf_header import read_header
from hisa.plugins.gguf.model_names import fetched_names, find_files, place_of
from tests.plugins.gguf.random_gguf import CONTEXT, WIDTH, write_eyes, write_random_model

HEAD = b"GGUF" + struct.pack("<IQQ", 3, 0, 5)


def test_a_small_models_profile(random_model: Path) -> None:
    profile = find(f"gguf:{random_model}")
    assert profile == find_announced(f"gguf:{random_model}").profile  # type: ignore[union-attr]
    assert (profile.small, profile.constrains, profile.structured) == (
        True,
        True,
        "json_schema",
    )
    assert profile.context == CONTEXT
    assert not profile.sees_pictures
    assert profile.price is not None
    assert profile.price.usd(1000, 1000) == 0


@pytest.mark.parametrize(("label", "small"), [("4B", True), ("8x7B", False), ("14.2B", False)])
def test_whether_it_is_small_follows_the_number_of_weights(
    tmp_path: Path, label: str, small: bool
) -> None:
    path = write_random_model(tmp_path / "a.gguf", label=label)
    assert find(f"gguf:{path}").small == small


def test_without_a_label_the_size_of_the_file_counts(tmp_path: Path) -> None:
    header = read_header(write_random_model(tmp_path / "a.gguf", label="large"))
    assert header.weights == pytest.approx(header.size / 0.65)


def test_eyes_beside_a_model_are_its_own_where_they_fit(tmp_path: Path) -> None:
    model = write_random_model(tmp_path / "a.gguf")
    write_eyes(tmp_path / "mmproj-a.gguf", 99)
    assert find_files(f"gguf:{model}").eyes is None
    (tmp_path / "mmproj-b.gguf").write_bytes(b"no eyes")
    fitting = write_eyes(tmp_path / "mmproj-c.gguf", WIDTH)
    assert find_files(f"gguf:{model}").eyes == fitting
    assert find(f"gguf:{model}").sees_pictures
    named = find_files(f"gguf:{model},mmproj={tmp_path / 'mmproj-a.gguf'}")
    assert named.eyes == tmp_path / "mmproj-a.gguf"
    with pytest.raises(ConfigError, match="the eyes of a model"):
        find_files(f"gguf:{fitting}")


def test_names_of_fetched_models(own_weights: Path) -> None:
    with pytest.raises(ConfigError, match="not fetched yet") as caught:
        find_files("gguf:coder-1.5b")
    assert caught.value.fix == "hisa models fetch coder-1.5b"
    place_of("coder-0.5b").parent.mkdir(parents=True)
    write_random_model(place_of("coder-0.5b"))
    assert find_files("gguf:coder-0.5b").weights.is_relative_to(own_weights)
    assert fetched_names() == ("coder-0.5b",)


def test_a_name_that_nobody_knows() -> None:
    with pytest.raises(ConfigError, match=r"known are coder-1\.5b, coder-0\.5b"):
        find("gguf:coder-9b")
    with pytest.raises(ConfigError, match="No such file"):
        find("gguf:nowhere/model.gguf")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"PK\x03\x04 a wheel", "begins with b'PK"),
        (b"GGUF" + struct.pack("<IQQ", 9, 0, 0), "version 9"),
        (HEAD + struct.pack("<Q", 1 << 60), f"a text of {1 << 60} bytes"),
        (HEAD + struct.pack("<Q", 100) + b"ab", "ends within its header"),
        (HEAD + struct.pack("<Q", 1) + b"a" + struct.pack("<I", 77), "unknown type 77"),
        (HEAD + struct.pack("<Q", 1) + b"a" + struct.pack("<IIQ", 9, 4, 1 << 40), "a list of"),
    ],
)
def test_a_file_that_is_none_is_an_error_in_words(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="not a GGUF file") as caught:
        read_header(path)
    assert reason in str(caught.value)
    with pytest.raises(ConfigError, match="directory"):
        read_header(tmp_path)

